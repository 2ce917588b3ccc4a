"""Readers of the evaluation files: works with their group of equal works, and references with the work they are known to cite.

Both are JSON lines, plain or gzip. Works: ``id``, ``title``, ``authors``, ``venue``, ``year``, ``volume``, ``fpage``,
identifiers flat (``doi``, ``pmid``, ``pmcid``, ``arxiv``) or under ``ids``, and ``title_group`` if one work has several ids.
References: ``rid`` (or ``id``), ``citing``, the fields of ``Reference``, and for queries ``work`` (the truth), ``query`` (its
kind) and ``id_conflict``.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from reflink.entities import ID_KINDS, Ids, Reference, Work
from reflink.errors import BadRecord

#: Kinds of queries that the protocol counts: the target's metadata come from a source other than the query.
KINDS: Final = ("front", "cocite", "medline")

_WORK_FIELDS: Final = ("id", "title", "authors", "venue", "year", "volume", "fpage", "status")
_REFERENCE_FIELDS: Final = (
    "citing", "raw_text", "raw_noid", "title", "chapter_title", "last_names", "collab", "venue", "year", "volume",
    "issue", "first_page", "ids", "ids_weak",
)  # fmt: skip
_PMC: Final = re.compile(r"PMC\d+")


@dataclass(frozen=True, slots=True)
class Listing:
    """A work of the catalog and its group: the ``title_group`` that it shares with its other ids, else its id."""

    work: Work
    group: str


@dataclass(frozen=True, slots=True)
class Query:
    """A reference whose target is known: ``truth`` is a work id, ``kind`` one of KINDS or ``any``."""

    reference: Reference
    truth: str
    kind: str


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) for each line that is not blank. Raises BadRecord if a line is not a JSON object."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                data = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise BadRecord(f"{path.name}: line {number}: {error}") from None
            if not isinstance(data, dict):
                raise BadRecord(f"{path.name}: line {number}: not a JSON object")
            yield number, data


def work_of(data: dict[str, Any]) -> Work:
    """Return the work of one line, with identifiers flat or under ``ids``. Raises BadRecord."""
    flat = {kind: data[kind] for kind in ID_KINDS if kind in data}
    fields = {name: data[name] for name in _WORK_FIELDS if data.get(name) is not None}
    return Work.from_dict({**fields, "ids": {**(data.get("ids") or {}), **flat}})


def reference_of(data: dict[str, Any]) -> Reference:
    """Return the reference of one line. Raises BadRecord."""
    fields = {name: data[name] for name in _REFERENCE_FIELDS if data.get(name) is not None}
    if "citing" in fields:
        fields["citing"] = _paper(fields["citing"])
    return Reference.from_dict({"id": data.get("rid", data.get("id")), "position": data.get("position", 1), **fields})


def _paper(name: Any) -> Any:
    """Return the id of a citing paper that is named by its id or by its PMCID alone."""
    return f"pmcid:{name}" if isinstance(name, str) and _PMC.fullmatch(name) else name


def read_works(path: Path) -> Iterator[Listing]:
    """Yield every work of the file. Raises BadRecord with file and line."""
    for number, data in lines(path):
        try:
            work = work_of(data)
        except BadRecord as error:
            raise BadRecord(f"{path.name}: line {number}: {error}") from None
        yield Listing(work, data.get("title_group") or work.id)


def read_queries(path: Path) -> Iterator[Query]:
    """Yield the references that the protocol counts, with their identifiers: kind in KINDS and without ``id_conflict``.

    If the file names no kind at all, every reference with a ``work`` is a query of the kind ``any``. Raises BadRecord with file
    and line.
    """
    plain: list[Query] = []
    named = False
    for number, data in lines(path):
        named = named or "query" in data
        if not data.get("work") or data.get("id_conflict"):
            continue
        kind = data.get("query") or "any"
        if kind not in KINDS and (named or kind != "any"):
            continue
        try:
            query = Query(reference_of(data), data["work"], kind)
        except BadRecord as error:
            raise BadRecord(f"{path.name}: line {number}: {error}") from None
        if kind == "any":
            plain.append(query)
        else:
            yield query
    if not named:
        yield from plain


def read_citing(path: Path) -> dict[str, set[str]]:
    """Return the ids of the papers that cite each work, of all references with a ``work`` and without ``id_conflict``.

    Raises BadRecord.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for _, data in lines(path):
        if data.get("work") and data.get("citing") and not data.get("id_conflict"):
            found[data["work"]].add(_paper(data["citing"]))
    return dict(found)


def without_identifiers(reference: Reference) -> Reference:
    """Return the reference without identifiers, neither tagged nor in the text."""
    return reference.model_copy(update={"ids": Ids(), "ids_weak": Ids(), "raw_text": reference.raw_query, "raw_noid": None})
