"""Put links into the entries of a bibliography in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from reflink.entities import Reference
from reflink.errors import NotAPaper
from reflink.formats.content import Content
from reflink.formats.format import Decision, Options
from reflink.formats.s2orc import annotated
from reflink.formats.s2orc.documents import documents, listed

#: Names of identifiers, as in ``other_ids``.
_NAMES: Final = {"doi": "DOI", "pmid": "PMID", "pmcid": "PMCID", "arxiv": "arXiv"}
_INDENT: Final = re.compile(rb"^[{\[]\r?\n( {1,16}|\t{1,4})")


def linked(content: Content, decisions: Mapping[str, Decision]) -> bytes:
    """Return the JSON with the links. Raises NotAPaper and TooLarge."""
    # The values are changed in place, so they are read anew.
    lines = [content.data] if content.json is not None else content.data.split(b"\n")
    values: list[Any] = [_loaded(line) for line in lines]
    flat = listed(values[0]) if len(values) == 1 else values
    packed = [place for value in flat if type(value) is dict for place in annotated.unpack(value)]
    for document in documents(content, Options(infer=False), flat):
        for item, reference in zip(document.items, _firsts(document.parsed.paper.references), strict=True):
            _write(item, decisions.get(reference.id))
    for place, kind, given in packed:
        unchanged = place[kind] == orjson.loads(given)
        place[kind] = given if unchanged else json.dumps(place[kind], ensure_ascii=False, separators=(",", ":"))
    return b"\n".join(
        line if value is None or value == _loaded(line) else _dumped(value, line)
        for line, value in zip(lines, values, strict=True)
    )


def _loaded(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _firsts(references: tuple[Reference, ...]) -> list[Reference]:
    """Return the first work of each entry, which has the ordinal 1 and to which the entry's fields belong."""
    return [each for each in references if each.id.rpartition(".")[2] == "1"]


def _write(item: dict[str, Any], decision: Decision | None) -> None:
    """Write the link of one entry; without one remove what an earlier call wrote. Do nothing without a decision."""
    if decision is None:
        return
    ours = [item.pop(name, None) for name in ("link_ids", "link_probability")] != [None, None]
    name = "links" if "links" in item and "link" not in item else "link"
    if decision.link.cited is None:
        if ours:
            item[name] = None
        return
    item[name] = decision.link.cited
    if decision.work is not None and (
        ids := {_NAMES[kind]: value for kind, value in decision.work.ids if value and kind in _NAMES}
    ):
        item["link_ids"] = ids
    if decision.link.probability is not None:
        item["link_probability"] = round(decision.link.probability, 3)


def _dumped(value: Any, data: bytes) -> bytes:
    """Return a value as JSON with the indentation and the escapes of its former text."""
    data = data.strip()
    found = _INDENT.match(data)
    indent = found[1].decode() if found else None
    compact = found is None and b'": ' not in data[:2_000]
    try:
        text = json.dumps(
            value, indent=indent, ensure_ascii=data.isascii(), separators=(",", ":") if compact else None, allow_nan=False
        )
    except (ValueError, RecursionError) as error:
        raise NotAPaper(f"JSON that cannot be written: {error}") from None
    return text.encode()
