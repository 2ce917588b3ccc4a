"""Crossref works in JSON: an answer of the REST interface for one work or a page of them, a list of works, JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

import orjson

from reflink.bibliography import papers
from reflink.bibliography.references import Entry
from reflink.errors import NotAPaper, TooLarge
from reflink.formats.content import Content
from reflink.formats.crossref.citations import citation
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.records import Part, check, paper_fields, several
from reflink.sources import crossref, values
from reflink.sources.types import work_type

#: Keys of a Crossref work that no other format of works has.
_OWN_KEYS: Final = ("reference-count", "references-count", "is-referenced-by-count", "content-domain", "doi-asserted-by")
#: Kinds of answers of the REST interface that hold works.
_ANSWERS: Final = ("work", "work-list")
#: Number of records that recognition looks at, and maximum number of bytes of the first of several lines.
_FIRST: Final = 100
_MAX_LINE: Final = 1 << 24


class Works(Format):
    """Crossref works, one paper each. Works without references are papers, too."""

    name: ClassVar[str] = "crossref"
    about: ClassVar[str] = "Crossref works in JSON with their references: REST interface, data file, JSON lines"
    endings: ClassVar[tuple[str, ...]] = (".json", ".jsonl", ".ndjson", ".ldj")

    def recognises(self, content: Content) -> bool:
        """Return whether one of the first records is a work of Crossref."""
        return any(map(_is_work, (_records(content.json) if content.json is not None else _first_line(content.data))[:_FIRST]))

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the works that have a DOI or references."""
        if len(content.data) > options.limits.size:
            raise TooLarge(f"{content.name}: {len(content.data)} bytes of JSON, the limit is {options.limits.size}")
        return several(content, _parts(content, options), options)


def _is_work(value: Any) -> bool:
    """Return whether a value is a work of Crossref: by its references, or by a key that only Crossref has."""
    if type(value) is not dict or type(value.get("DOI")) is not str:
        return False
    references = value.get("reference")
    if type(references) is list and all(type(each) is dict for each in references):
        return True
    return any(key in value for key in _OWN_KEYS)


def _records(value: Any) -> list[Any]:
    """Return the works of a document: an answer, a list, or one work."""
    if type(value) is dict and type(value.get("message")) is dict and value.get("message-type", "work") in _ANSWERS:
        value = value["message"]
    if type(value) is dict and type(value.get("items")) is list and "DOI" not in value:
        value = value["items"]
    return value if type(value) is list else [value]


def _first_line(data: bytes) -> list[Any]:
    """Return the works of the first of several lines of JSON."""
    line = data.lstrip()[:_MAX_LINE].partition(b"\n")[0]
    if line[:1] != b"{":
        return []
    try:
        return _records(orjson.loads(line))
    except orjson.JSONDecodeError:
        return []


def _documents(content: Content) -> Iterator[Any]:
    """Yield the JSON documents. Raises NotAPaper if a line is not JSON."""
    if content.json is not None:
        yield content.json
        return
    for number, line in enumerate(content.data.splitlines(), start=1):
        if line.strip():
            try:
                yield orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise NotAPaper(f"{content.name}: line {number} is not JSON: {error}") from None


def _parts(content: Content, options: Options) -> Iterator[Part]:
    for document in _documents(content):
        for value in _records(document):
            if type(value) is not dict:
                continue
            doi = values.doi_key(value.get("DOI"))
            given = value.get("reference")
            check(len(given) if type(given) is list else 0, content.name, options)
            entries = _entries(given)
            if doi is None and not entries:
                continue
            work = crossref.work(value, doi or "", work_type("crossref", value.get("type")))
            fields = paper_fields(work)
            if (publisher := values.short(value.get("publisher"))) is not None:
                fields["publisher"] = publisher
            yield fields, doi or papers.own_name(orjson.dumps(value), None), entries, ()


def _entries(references: Any) -> list[Entry]:
    given = [each for each in references if type(each) is dict] if type(references) is list else []
    return [Entry(values.short(each.get("key")), None, [cited]) for each in given if (cited := citation(each)) is not None]
