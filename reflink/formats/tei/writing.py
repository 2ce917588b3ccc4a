"""Put links into a TEI document: into each citation the identifiers of the cited work, and a ``ptr`` to it.

1. The added elements are valid TEI P5: ``idno`` in ``analytic``, else in ``monogr`` before ``imprint``; ``ptr`` at the end.
2. ``marks.removed`` removes them again, so that a document with links is read as the one without, and linking it again gives
   the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from reflink.entities import Reference
from reflink.errors import NotAPaper
from reflink.formats.content import Content
from reflink.formats.format import Decision, Options
from reflink.formats.tei import marks
from reflink.formats.tei.documents import CITATIONS, Document, documents
from reflink.formats.tei.positions import Position, positions
from reflink.markup.encoding import as_ascii_like
from reflink.markup.entities import without_doctype
from reflink.markup.tree import attempt

#: The attribute ``type`` of identifiers, as GROBID writes it.
_TYPES: Final = {"doi": "DOI", "pmid": "PMID", "pmcid": "PMCID", "arxiv": "arXiv"}


#: Maximum length of an identifier or id that is written, in characters.
_MAX: Final = 1_000
#: Maximum length of an indentation.
_MAX_INDENT: Final = 200
_PREFIX: Final = re.compile(r"(?:[A-Za-z_][\w.-]{0,38}:)?", re.ASCII)

#: Where in the bytes to add what.
_Addition = tuple[int, str]


def linked(content: Content, decisions: Mapping[str, Decision]) -> bytes:
    """Return the document with the links. Raises NotAPaper for XML that is not well-formed, and TooLarge."""
    data = marks.removed(_readable(content))
    found = documents(data, content, Options(infer=False))
    if attempt(without_doctype(as_ascii_like(data, content.name, []), []), recover=False)[0] is None:
        raise NotAPaper(f"{content.name}: TEI that is not well-formed cannot be written")
    elements = [element for document in found for element in document.elements]
    if not elements:
        return data
    root = elements[0].getroottree().getroot()
    numbers = {element: number for number, element in enumerate(root.iter(*CITATIONS))}
    places = positions(data)
    if len(places) != len(numbers):
        raise NotAPaper(f"{content.name}: its citations were not found in its text")
    added: list[_Addition] = []
    for document in found:
        for element, references in zip(document.elements, _by_entry(document), strict=True):
            added += _additions(places[numbers[element]], references, decisions)
    return _inserted(data, added)


def _readable(content: Content) -> bytes:
    """Return the bytes, in UTF-8 if their encoding has another spelling of markup than ASCII."""
    plain = as_ascii_like(content.data, content.name, [])
    return content.data if content.data.endswith(plain) else plain


def _by_entry(document: Document) -> Iterator[list[Reference]]:
    """Yield the references of each entry: the first work of an entry has the ordinal 1."""
    works: list[Reference] = []
    for reference in document.parsed.paper.references:
        if works and reference.id.rpartition(".")[2] == "1":
            yield works
            works = []
        works.append(reference)
    if works:
        yield works


def _additions(position: Position, references: list[Reference], decisions: Mapping[str, Decision]) -> Iterator[_Addition]:
    """Yield the elements of one citation. Only its first work, to which its fields belong, has identifiers."""
    if position.ids is None or position.end is None or not _PREFIX.fullmatch(position.prefix):
        return
    for number, reference in enumerate(references, start=1):
        decision = decisions.get(reference.id)
        if decision is None or decision.link.cited is None or len(decision.link.cited) > _MAX:
            continue
        probability = decision.link.probability
        certainty = "" if probability is None else f' cert="{probability:.3f}"'
        if number == 1 and decision.work is not None:
            for kind, value in decision.work.ids:
                if value and kind in _TYPES and getattr(reference.ids, kind) != value and len(value) <= _MAX:
                    yield position.ids, marks.identifier(position.prefix, _TYPES[kind], value, certainty)
        yield position.end, marks.target(position.prefix, decision.link.cited, number, certainty)


def _inserted(data: bytes, added: list[_Addition]) -> bytes:
    parts: list[bytes] = []
    last = 0
    for at, text in sorted(added, key=lambda addition: addition[0]):
        parts += data[last:at], _line_break(data, at), text.encode("ascii", "xmlcharrefreplace")
        last = at
    return b"".join((*parts, data[last:]))


def _line_break(data: bytes, at: int) -> bytes:
    """Return the line break and indentation of an element at this place; empty if the elements around it have none."""
    behind = data[at : at + _MAX_INDENT]
    space = behind[: len(behind) - len(behind.lstrip(b" \t\r\n"))]
    if b"\n" not in space:
        return b""
    line = data[data.rfind(b"\n", 0, at) + 1 : at]
    indent = line[: len(line) - len(line.lstrip(b" \t"))][:_MAX_INDENT]
    return (b"\r\n" if b"\r\n" in space else b"\n") + indent
