"""Read the papers of the dataset ``s2orc`` of Semantic Scholar: one text, and annotations of its parts.

The release of 2023 has one text with the annotations ``bibentry``, ``bibref``, ``paragraph`` and so on, that of 2024
(``s2orc_v2``) a text for the body and one for the bibliography, with ``bib_entry``, ``bib_ref``. Each kind of annotation is a
list, most often as a string of JSON.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from reflink.bibliography.citation import Citation, described
from reflink.contexts.paragraphs import Paragraph, Part
from reflink.entities import Ids
from reflink.formats.grobid.printed import unbroken
from reflink.formats.s2orc.entries import identifiers, line
from reflink.formats.s2orc.parses import Span, paragraph

#: Keys of the objects with a text and its annotations.
_TEXTS: Final = ("content", "body", "bibliography")


@dataclass(frozen=True, slots=True)
class Mark:
    """One annotation. ``value``: its object in the JSON."""

    start: int
    end: int
    value: dict[str, Any]

    @property
    def attributes(self) -> dict[str, Any]:
        """The object ``attributes``; a new one if there is none."""
        found = self.value.get("attributes")
        return found if type(found) is dict else {}


@dataclass(frozen=True, slots=True)
class Annotated:
    """One text and its annotations by kind, without underscores, in order."""

    text: str
    marks: dict[str, list[Mark]]

    def inside(self, kind: str, start: int, end: int) -> Iterator[Mark]:
        """Yield the annotations of a kind that begin within a span and end there."""
        marks = self.marks.get(kind, [])
        first = bisect_left(marks, start, key=lambda mark: mark.start)
        last = bisect_right(marks, end, key=lambda mark: mark.start)
        return (mark for mark in marks[first:last] if mark.end <= end)

    def of(self, mark: Mark) -> str:
        """Return the text of an annotation."""
        return self.text[mark.start : mark.end]


def unpack(value: dict[str, Any]) -> list[tuple[dict[str, Any], str, str]]:
    """Replace annotations that are strings of JSON by their lists, in place; return where they were, and the strings."""
    found: list[tuple[dict[str, Any], str, str]] = []
    for key in _TEXTS:
        part = value.get(key)
        annotations = part.get("annotations") if type(part) is dict else None
        if type(annotations) is not dict:
            continue
        for kind, given in list(annotations.items()):
            if type(given) is str and type(listed := _listed(given)) is list:
                annotations[kind] = listed
                found.append((annotations, kind, given))
    return found


def _listed(given: Any) -> Any:
    """Return the list of annotations that a value or a string of JSON is; another value if it is none."""
    if type(given) is not str:
        return given
    try:
        return orjson.loads(given)
    except orjson.JSONDecodeError:
        return None


def annotated(value: Any) -> Annotated | None:
    """Return a text with its annotations; None if the value has none."""
    if type(value) is not dict or type(value.get("text")) is not str or type(value.get("annotations")) is not dict:
        return None
    marks: dict[str, list[Mark]] = {}
    size = len(value["text"])
    for kind, given in value["annotations"].items():
        found: list[Mark] = []
        listed = _listed(given)
        for each in listed if type(listed) is list else ():
            if type(each) is dict:
                start, end = _number(each.get("start")), _number(each.get("end"))
                if start is not None and end is not None and start < end <= size:
                    found.append(Mark(start, end, each))
        marks[kind.replace("_", "").lower()] = sorted(found, key=lambda mark: (mark.start, mark.end))
    return Annotated(value["text"], marks)


def _number(value: Any) -> int | None:
    if type(value) is str and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    return value if type(value) is int and value >= 0 else None


def texts_of(value: dict[str, Any]) -> tuple[Annotated | None, Annotated | None]:
    """Return the text of the body, and that of the bibliography, which may be the same."""
    whole = annotated(value.get("content"))
    if whole is not None:
        return whole, whole
    return annotated(value.get("body")), annotated(value.get("bibliography"))


def entries(bibliography: Annotated | None) -> Iterator[tuple[Mark, str | None, Citation]]:
    """Yield the entries of the bibliography with their names and citations.

    The annotations of titles, authors and venues are not read: they lack year, volume and pages, which `reflink.recognition`
    finds in the whole text of a citation without fields.
    """
    if bibliography is None:
        return
    for mark in bibliography.marks.get("bibentry", ()):
        ids = identifiers(mark.attributes)
        citation = described(unbroken(line(bibliography.of(mark), 40_000)), None, Ids.made({**ids}) if ids else None)
        if citation is not None:
            yield mark, line(mark.attributes.get("id")) or None, citation


def paragraphs(body: Annotated | None) -> Iterator[Paragraph]:
    """Yield the paragraphs of the abstract and the body."""
    if body is None:
        return
    heads = body.marks.get("sectionheader", [])
    starts = [head.start for head in heads]
    abstracts = body.marks.get("abstract", [])
    for block in body.marks.get("paragraph", ()):
        at = bisect_right(starts, block.start) - 1
        section = (title,) if at >= 0 and (title := line(body.of(heads[at]))) else ()
        part: Part = "abstract" if any(each.start <= block.start < each.end for each in abstracts[:10]) else "body"
        text = body.of(block)
        yield from paragraph(text, section, part, _spans(body, block, "bibref"), _spans(body, block, "formula"))


def _spans(body: Annotated, block: Mark, kind: str) -> list[Span]:
    found: list[Span] = []
    for mark in body.inside(kind, block.start, block.end):
        name = line(mark.attributes.get("ref_id"))
        if name or kind == "formula":
            found.append((mark.start - block.start, mark.end - block.start, name))
    return found
