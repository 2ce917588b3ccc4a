"""The papers of a file of JSON, with their entries, whatever their schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from reflink.bibliography import papers
from reflink.bibliography.references import Entry
from reflink.contexts.paragraphs import Paragraph
from reflink.entities import Ids
from reflink.errors import NotAPaper, TooLarge
from reflink.formats.content import Content
from reflink.formats.format import Options, Parsed
from reflink.formats.grobid.checking import warning
from reflink.formats.s2orc import annotated, parses
from reflink.formats.s2orc.entries import cited_paper, entry, identifiers, line, people
from reflink.sources import s2, values

_MAX_LABEL: Final = 40
#: Fields of a paper and of a record of the REST interface under one name.
_SHARED: Final = (
    "ids", "title", "authors", "collectives", "venue", "venue_abbreviations", "issns", "year", "volume", "fpage", "lpage",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Document:
    """One paper, and the JSON object of each entry of its bibliography, into which links are written."""

    parsed: Parsed
    items: tuple[dict[str, Any], ...]


@dataclass(slots=True)
class _Read:
    """What one value states. ``name``: of the paper without identifiers."""

    fields: dict[str, Any]
    name: str | None
    entries: list[tuple[dict[str, Any], Entry]]
    paragraphs: tuple[Paragraph, ...] = ()
    doubts: tuple[str, ...] = ()


def values_of(content: Content, most: int | None = None) -> list[Any]:
    """Return the values of a file: one, those of a list, or one of each line; at most ``most``. An invalid line is None."""
    if content.json is not None:
        return listed(content.json)[:most]
    data = content.data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if data[:1] != b"{":
        return []
    lines = data.split(b"\n", -1 if most is None else most)[:most]
    return [_loaded(each) for each in lines if each.strip()]


def listed(value: Any) -> list[Any]:
    """Return the values of a list, or the one value. A list of references is one value."""
    if type(value) is not list:
        return [value]
    return [{"data": value}] if value and all(type(each) is dict and "citedPaper" in each for each in value) else value


def _loaded(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def is_document(value: Any) -> bool:
    """Return whether a value is a paper with a bibliography, or a list of references."""
    return type(value) is dict and (
        parses.parse_of(value) is not None or _is_annotated(value) or _references_of(value) is not None
    )


def _is_annotated(value: dict[str, Any]) -> bool:
    found = value.get("content") or value.get("body")
    return type(found) is dict and "text" in found and "annotations" in found


def _references_of(value: dict[str, Any]) -> list[Any] | None:
    """Return the references of an answer of the REST interface; an empty list needs the fields of a paper beside it."""
    if type(value.get("citedPaper")) is dict:
        return [value]
    found = value.get("references")
    if type(found) is list and "paperId" in value:
        return found
    found = value.get("data")
    if type(found) is list and found and all(type(each) is dict and "citedPaper" in each for each in found[:10]):
        return found
    return None


def documents(content: Content, options: Options, given: list[Any] | None = None) -> list[Document]:
    """Return the papers of a file. ``given``: its values, if they were read already. Raises NotAPaper and TooLarge."""
    if len(content.data) > options.limits.size:
        raise TooLarge(f"{content.name}: {len(content.data)} bytes of JSON, the limit is {options.limits.size}")
    given = values_of(content) if given is None else given
    known = [each for each in given if is_document(each)]
    if not known:
        raise NotAPaper(f"{content.name}: JSON without a paper of S2ORC or references of Semantic Scholar")
    found: list[Document] = []
    names: set[str] = set()
    count = 0
    for value in known:
        document = _document(value, content, options, several=len(given) > 1)
        count += len(document.parsed.paper.references)
        if count > options.limits.references:
            raise TooLarge(f"{content.name}: more than {options.limits.references} references in all: divide the file")
        if document.parsed.paper.id not in names:  # a paper may be in a file twice
            names.add(document.parsed.paper.id)
            found.append(document)
    return found


def _document(value: dict[str, Any], content: Content, options: Options, *, several: bool) -> Document:
    read = _read(value, options)
    warnings = (warning(read.doubts),) if read.doubts else ()
    source = None if several else content.source
    own = papers.own_name(content.data, source, read.name) if source or read.name or not several else _digest(value)
    paper = papers.paper(
        read.fields, [each for _, each in read.entries], own_name=own, source=content.source, limits=options.limits,
        infer=options.infer, warnings=warnings,
    )  # fmt: skip
    return Document(Parsed(paper, read.paragraphs), tuple(item for item, _ in read.entries))


def _digest(value: dict[str, Any]) -> str:
    return papers.own_name(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), None)


def _read(value: dict[str, Any], options: Options) -> _Read:
    parse = parses.parse_of(value)
    if parse is not None:
        return _read_parse(value, parse, options)
    if _is_annotated(value):
        return _read_annotated(value, options)
    return _read_list(value, _references_of(value) or [])


def _read_parse(value: dict[str, Any], parse: dict[str, Any], options: Options) -> _Read:
    fields, name = parses.fields_of(value, parse)
    doubts: list[str] = []
    found: list[tuple[dict[str, Any], Entry]] = []
    for key, item in parse["bib_entries"].items():
        if type(item) is dict and (citation := entry(item, doubts, key[:_MAX_LABEL])) is not None:
            found.append((item, Entry(key, line(item.get("num"), _MAX_LABEL) or None, [citation])))
    text = tuple(parses.paragraphs(parse)) if options.text else ()
    return _Read(fields, name, found, text, tuple(doubts))


def _read_annotated(value: dict[str, Any], options: Options) -> _Read:
    body, bibliography = annotated.texts_of(value)
    found = [(mark.value, Entry(name, None, [citation])) for mark, name, citation in annotated.entries(bibliography)]
    ids = identifiers({**value, **values.mapping(value.get("metadata"))})
    fields: dict[str, Any] = {"ids": Ids.made({**ids})} if ids else {}
    title = line(value.get("title"), 3_000) or _title(body)
    if title:
        fields["title"] = title
    if year := values.year(value.get("year")):
        fields["year"] = year
    number = value.get("corpusid", value.get("corpusId"))
    text = tuple(annotated.paragraphs(body)) if options.text else ()
    return _Read(fields, f"s2:{number}" if type(number) is int else None, found, text)


def _title(body: annotated.Annotated | None) -> str:
    marks = body.marks.get("title", []) if body is not None else []
    return line(body.of(marks[0]), 3_000) if body is not None and marks else ""


def _read_list(value: dict[str, Any], references: list[Any]) -> _Read:
    found: list[tuple[dict[str, Any], Entry]] = []
    for item in _dicts(references):
        paper = item.get("citedPaper", item)
        if type(paper) is dict and (citation := cited_paper(paper)) is not None:
            found.append((item, Entry(line(paper.get("paperId")) or None, None, [citation])))
    if "paperId" not in value:
        return _Read({}, None, found)
    work = s2.work_fields(value, values.mapping(value.get("externalIds")))
    fields = {name: work[name] for name in _SHARED if work[name] not in (None, ())}
    given = tuple(each for _, each, _ in people(value.get("authors")))
    if len(given) == len(fields.get("authors", ())) and any(given):
        fields["given_names"] = given
    if abstract := line(value.get("abstract"), 100_000):
        fields["abstract"] = abstract
    return _Read(fields, line(value.get("paperId")) or None, found)


def _dicts(given: list[Any]) -> Iterator[dict[str, Any]]:
    return (each for each in given if type(each) is dict)
