"""Read the text of an article: one pass over its elements, in the order in which they are printed."""

from __future__ import annotations

from itertools import islice
from typing import Final, NamedTuple

from lxml import etree

from reflink.contexts.line import Line
from reflink.contexts.paragraphs import Mention, Paragraph, Part
from reflink.jats.body import formulas
from reflink.jats.body import vocabulary as v
from reflink.jats.body.targets import Targets
from reflink.jats.rawtext import text_of
from reflink.markup.tree import local

#: Between the cells of a row.
CELL_SEPARATOR: Final = " | "
#: Maximum length of a title in a section path, in characters, and maximum number of its elements.
_MAX_TITLE: Final = 300
_MAX_TITLE_ELEMENTS: Final = 200


class _Place(NamedTuple):
    """Where an element stands: the titles around it, and the part of the paper."""

    section: tuple[str, ...]
    part: Part


def paragraphs(article: etree._Element) -> tuple[Paragraph, ...]:
    """Return the paragraphs of an article, or of a part of it: abstract, body, captions, tables, footnotes, back matter.

    A paragraph is a ``p`` or whatever stands in its place, such as a list item or a row of a table. A row and an entry of the
    bibliography are paragraphs only if they mention a reference, and so is a title.

    A mention is an ``xref`` whose type is "bibr", or whose ``rid`` names an entry of the bibliography, whatever its type. An
    ``xref`` without text is a mention of no characters.
    """
    reader = _Reader(Targets(article))
    reader.block(article, "article", _Place((), "body"))  # its own title is no section
    return tuple(reader.found)


class _Reader:
    def __init__(self, targets: Targets) -> None:
        self.found: list[Paragraph] = []
        self._targets = targets
        self._line = Line()
        self._mentions: list[Mention] = []
        self._formulas: list[tuple[int, int]] = []
        #: Floats of the paragraph that is being read.
        self._beside: list[tuple[etree._Element, str, _Place]] = []
        #: Above 0 in rows, mentions and formulas, in which no element begins a paragraph.
        self._inline = 0
        #: Above 0 in a skipped element that mentions a reference.
        self._unskipped = 0
        self._in_formula = False

    def block(self, element: etree._Element, name: str, outer: _Place) -> None:
        """Read an element that begins and ends a paragraph."""
        self._end(outer)
        section, part = outer
        if name in v.SECTIONS and (title := _title(element, name)):
            section = (*section, title)
        place = _Place(section, v.PARTS.get(name, part))
        beside, self._beside = self._beside, []
        self._flow(element, name, place)
        self._end(place, keep=name not in ("title", "ref"))
        floats, self._beside = self._beside, beside
        for each in floats:
            self.block(*each)

    def _flow(self, element: etree._Element, name: str, place: _Place) -> None:
        """Read the text and the children of an element. At most two calls per level of nesting: Python bounds their number."""
        if element.text:
            self._line.add(element.text)
        metadata = name in v.METADATA
        for child in element:
            inner = local(child)
            if inner == "xref":
                self._xref(child, place)
            elif inner in formulas.NAMES:
                self._formula(child, inner, place)
            elif inner in v.SKIPPED or (metadata and inner not in v.METADATA_TEXT):
                if self._unskipped or self._targets.named_in(child):
                    self._unskipped += 1
                    self.block(child, inner, place)
                    self._unskipped -= 1
            elif inner in v.FLOATS and (self._inline or self._line.length):
                self._beside.append((child, inner, place))
            elif inner in v.ROWS and not self._inline:
                if self._targets.named_in(child):
                    self._row(child, place)
            elif self._inline or not (inner in v.BLOCKS or inner in v.FLOATS):
                apart = inner in v.SEPARATE or inner in v.BLOCKS or inner in v.CELLS
                if apart:
                    self._line.space()
                if inner:  # not a processing instruction, a comment or an entity
                    self._flow(child, inner, place)
                if apart:
                    self._line.space()
            else:
                self.block(child, inner, place)
            if child.tail:
                self._line.add(child.tail)

    def _row(self, row: etree._Element, place: _Place) -> None:
        """Read a row of a table as one paragraph; tables in its cells are part of it."""
        self._end(place)
        self._inline += 1
        for cell in row:
            if self._line.length:
                self._line.add(CELL_SEPARATOR)
            if name := local(cell):
                self._flow(cell, name, place)
        self._inline -= 1
        self._end(place)

    def _xref(self, xref: etree._Element, place: _Place) -> None:
        entries = self._targets.of(xref)
        mark = self._line.mark()
        self._inline += 1
        self._flow(xref, "xref", place)
        self._inline -= 1
        if entries is not None:
            self._mentions.append(Mention(*self._line.span(mark), entries))

    def _formula(self, formula: etree._Element, name: str, place: _Place) -> None:
        text = None if self._in_formula else formulas.formula_text(formula)
        if name == "disp-formula":
            self._line.space()
        mark = self._line.mark()
        if text is not None:
            self._line.add(text)
        else:
            inside, self._in_formula = self._in_formula, True
            self._inline += 1
            self._flow(formula, name, place)
            self._inline -= 1
            self._in_formula = inside
        self._formulas.append(self._line.span(mark))
        if name == "disp-formula":
            self._line.space()

    def _end(self, place: _Place, *, keep: bool = True) -> None:
        """End a paragraph, if one has begun. ``keep``: also if it mentions nothing."""
        if not self._inline and (self._line.length or self._mentions or self._formulas):
            if self._mentions or (keep and self._line.length):
                mentions = tuple(sorted(self._mentions, key=lambda each: (each.start, each.stop)))
                self.found.append(Paragraph(str(self._line), *place, mentions, tuple(sorted(self._formulas))))
            self._line, self._mentions, self._formulas = Line(), [], []


def _title(element: etree._Element, name: str) -> str:
    """Return the title of a section, or of an article within the article; empty if it has none."""
    if name in ("sub-article", "response"):
        found = element.find("{*}front-stub/{*}title-group/{*}article-title")
    elif name == "book-part":
        found = element.find("{*}book-part-meta/{*}title-group/{*}title")
    else:
        found = element.find("{*}title")
        if found is None:
            found = element.find("{*}caption/{*}title")
    if found is None or len(list(islice(found.iter(), _MAX_TITLE_ELEMENTS))) == _MAX_TITLE_ELEMENTS:
        return ""
    return text_of(found)[:_MAX_TITLE].rstrip()
