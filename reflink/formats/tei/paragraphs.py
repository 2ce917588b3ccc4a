"""Read the text of a TEI document: paragraphs, with the citations and formulas in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lxml import etree

from reflink.contexts.line import Line
from reflink.contexts.paragraphs import Mention, Paragraph, Part
from reflink.formats.tei.names import NAMES, name_of, tags, text_of

_TEXT: Final = tags("text")
_ABSTRACT: Final = tags("abstract")
#: Elements whose text is a paragraph, and the part of the paper if it is not that around it.
_PARAGRAPHS: Final[dict[str, Part | None]] = {
    "p": None, "figDesc": "caption", "note": "footnote", "item": None, "table": "table", "ab": None,
}  # fmt: skip
#: Elements without a text of the paper.
_SILENT: Final = frozenset(("teiHeader", "listBibl", "biblStruct", "bibl", "biblFull"))
_PARTS: Final[dict[str, Part]] = {"front": "abstract", "body": "body", "back": "back", "abstract": "abstract"}
_NUMBER: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,8}")
#: Maximum length of a section's title.
_MAX_TITLE: Final = 300
#: Values of ``type`` of a ``ref`` to the bibliography.
_CITING: Final = frozenset(("bibr", "biblio", "bibl", "citation"))


def paragraphs(document: etree._Element, description: etree._Element | None) -> tuple[Paragraph, ...]:
    """Return the paragraphs of the abstract and the text, with all mentions."""
    found: list[Paragraph] = []
    for element in () if description is None else description.iter(*_ABSTRACT):
        _read(element, (), "abstract", found)
    for element in document.iter(*_TEXT):
        if not any(name_of(up) == "text" for up in element.iterancestors()):
            _read(element, (), "body", found)
    return tuple(found)


def _read(element: etree._Element, section: tuple[str, ...], part: Part, found: list[Paragraph]) -> None:
    numbered: list[tuple[str, str]] = []  # GROBID's divisions are flat; their numbers tell which is part of which
    for child in element:
        name = NAMES.get(child.tag, "")
        if name == "div":
            _read(child, section + _titles(child, numbered), part, found)
        elif name in _PARAGRAPHS:
            own = _PARAGRAPHS[name] or part
            blocks = next(child.iter(*_INNER), None) is not None if name in _OUTER else False
            if blocks:
                _read(child, section, own, found)
            elif (paragraph := _Reading().of(child, section, own)).text:
                found.append(paragraph)
        elif name == "ref" or name == "s":  # text without a paragraph around it
            if (paragraph := _Reading().of(child, section, part)).text:
                found.append(paragraph)
        elif name not in _SILENT and name != "head":
            _read(child, section, _PARTS.get(name, part), found)


#: Elements that are a paragraph only if they hold none, and such elements.
_OUTER: Final = frozenset(("note", "item", "figDesc"))
_INNER: Final = tags("p")


def _titles(division: etree._Element, numbered: list[tuple[str, str]]) -> tuple[str, ...]:
    """Return the title of a division, behind those of the divisions before it whose numbers say that it belongs to them."""
    head = next((each for each in division if name_of(each) == "head"), None)
    title = "" if head is None else text_of(head)[:_MAX_TITLE]
    if head is None or not title:
        return ()
    number = _NUMBER.match(head.get("n") or "")
    while numbered and not (number and number[0].startswith(numbered[-1][0] + ".")):
        numbered.pop()
    above = tuple(each for _, each in numbered)
    if number:
        numbered.append((number[0], title))
    return (*above, title)


class _Reading:
    """The text of one paragraph, and the mentions and formulas in it."""

    def __init__(self) -> None:
        self._line = Line()
        self._mentions: list[Mention] = []
        self._formulas: list[tuple[int, int]] = []

    def of(self, element: etree._Element, section: tuple[str, ...], part: Part) -> Paragraph:
        """Return the paragraph of an element."""
        self._walk(element)
        return Paragraph(str(self._line), section, part, tuple(self._mentions), tuple(self._formulas))

    def _walk(self, element: etree._Element) -> None:
        self._line.add(element.text or "")
        for child in element:
            name = NAMES.get(child.tag, "")
            if name == "ref" and (child.get("type") or "").lower() in _CITING:
                start, stop = self._span(child)
                entries = tuple(_targets(child.get("target") or ""))
                if start < stop and entries:
                    self._mentions.append(Mention(start, stop, entries))
            elif name == "formula":
                start, stop = self._span(child)
                if start < stop:
                    self._formulas.append((start, stop))
            elif name not in _SILENT:
                if name in _SEPARATE:
                    self._line.space()
                self._walk(child)
                if name in _SEPARATE:
                    self._line.space()
            self._line.add(child.tail or "")

    def _span(self, element: etree._Element) -> tuple[int, int]:
        """Add an element; return where its text begins and ends."""
        mark = self._line.mark()
        self._line.add("".join(map(str, element.itertext())))
        return self._line.span(mark)


#: Elements whose text is not joined to the text around them.
_SEPARATE: Final = frozenset(("s", "p", "item", "head", "note", "list", "table"))


def _targets(target: str) -> Iterator[str]:
    """Yield the ids in this document that an attribute names."""
    for each in target.split():
        if each.startswith("#") and len(each) > 1:
            yield each[1:]
