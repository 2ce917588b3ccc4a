"""The paragraphs of an article in a publisher's XML, with its mentions of entries, as its table describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lxml import etree

from reflink.bibliography.references import Entry
from reflink.contexts.line import Line
from reflink.contexts.paragraphs import Mention, Paragraph, Part
from reflink.formats.publishers.markup import INLINE, SILENT, Markup, elements, found, text, text_of

#: Elements that are formulas.
_FORMULAS: Final = frozenset(
    ("math", "formula", "InlineEquation", "Equation", "displayedItem", "inline-eqn", "display-eqn", "fd", "f")
)
_MAX_MANY: Final = 10_000

#: The entries by the names that mentions use, and the number of each entry as printed.
Names = Mapping[str, Entry]


def paragraphs(root: etree._Element, entries: list[Entry], markup: Markup) -> tuple[Paragraph, ...]:
    """Return all paragraphs outside the bibliography, in document order."""
    return tuple(_walk(root, _Reader(markup, _names(root, entries, markup)), (), "body"))


def _names(root: etree._Element, entries: list[Entry], markup: Markup) -> dict[str, tuple[str, str]]:
    """Return id and printed number of each entry that has an id, by its id and the ids of its works."""
    names: dict[str, tuple[str, str]] = {}
    known = {entry.xml_id: entry.label for entry in entries if entry.xml_id}
    for number, element in enumerate(elements(root, markup.entries), start=1):
        own = text(element, markup.ids)
        if own not in known or own is None:
            continue
        target = (own, (known[own] or str(number)).strip("[]() ."))
        for work in (*elements(element, markup.works)[:_MAX_MANY], element):
            for name in (text(work, markup.ids), f"bib{number}" if "@range" in markup.mentions.get("cite", ()) else None):
                if name:
                    names.setdefault(name, target)
    return names


class _Reader:
    """Reads one paragraph after the other."""

    def __init__(self, markup: Markup, names: Mapping[str, tuple[str, str]]) -> None:
        self.markup, self.names = markup, names

    def paragraph(
        self, element: etree._Element, section: tuple[str, ...], part: Part
    ) -> tuple[Paragraph | None, list[etree._Element]]:
        """Return the paragraph, None if it is empty, and the paragraphs and others inside it that are read apart."""
        line, mentions, formulas = Line(), list[Mention](), list[tuple[int, int]]()
        apart: list[etree._Element] = []
        self._read(element, line, mentions, formulas, apart)
        if not line.length:
            return None, apart
        return Paragraph(str(line), section, part, tuple(mentions), tuple(formulas)), apart

    def _read(
        self,
        element: etree._Element,
        line: Line,
        mentions: list[Mention],
        formulas: list[tuple[int, int]],
        apart: list[etree._Element],
    ) -> None:
        line.add(element.text or "")
        for child in element:
            tag = child.tag
            if tag in self.markup.paragraphs or tag in self.markup.parts or tag in self.markup.sections:
                apart.append(child)
                line.space()
            elif tag in self.markup.mentions and (targets := self._targets(child)):
                mark = line.mark()
                line.add(text_of(child) or ",".join(number for _, number in targets))
                mentions.append(Mention(*line.span(mark), tuple(dict.fromkeys(target for target, _ in targets))))
            elif isinstance(tag, str) and tag not in self.markup.unread and tag not in SILENT:
                mark = line.mark()
                if tag not in INLINE and tag not in self.markup.mentions and tag not in _FORMULAS:
                    line.space()
                self._read(child, line, mentions, formulas, apart)
                if tag in _FORMULAS and line.length > mark[0]:
                    formulas.append(line.span(mark))
            line.add(child.tail or "")

    def _targets(self, element: etree._Element) -> list[tuple[str, str]]:
        for path in self.markup.mentions[element.tag]:
            for value in found(element, path):
                named = [self.names.get(each.lstrip("#")) for each in str(value).replace(",", " ").split()[:_MAX_MANY]]
                if targets := [each for each in named if each is not None]:
                    return targets
        return []


def _walk(element: etree._Element, reader: _Reader, section: tuple[str, ...], part: Part) -> Iterator[Paragraph]:
    markup = reader.markup
    if element.tag in markup.unread or not isinstance(element.tag, str):
        return
    part = markup.parts.get(element.tag, part)
    if element.tag in markup.paragraphs:
        read, apart = reader.paragraph(element, section, part)
        if read is not None:
            yield read
        for each in apart:
            yield from _walk(each, reader, section, part)
        return
    if element.tag in markup.sections:
        title = next((text_of(child) for child in element if child.tag in markup.titles), "")
        section = (*section, title) if title else section
    for child in element:
        if child.tag not in markup.titles or element.tag not in markup.sections:
            yield from _walk(child, reader, section, part)
