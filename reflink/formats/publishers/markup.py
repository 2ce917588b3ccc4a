"""The table of a publisher's XML: where it states what, in XPath. Names are without namespace and prefix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, cast

from lxml import etree

from reflink.contexts.paragraphs import Part

#: XPaths of a field in order of preference; a result is an element or the value of an attribute.
Paths = tuple[str, ...]

#: Elements whose text joins the text around them without a space.
INLINE: Final = frozenset(
    """a b bo bold emph Emphasis emphasis hsp i inf inline it italic sans-serif monospace overline roman sans sb sc scp
    small-caps sp sub Subscript sup super Superscript tt u ul underline x punct font span fi glyph
    inter-ref inter-refs intra-ref cross-ref cross-refs ExternalRef InternalRef CitationRef RefSource link url email bibr
    bibrinl figr citref cite""".split()
)
#: Elements without text of the citation, in any publisher's XML.
SILENT: Final = frozenset(("RefTarget", "TexMath", "tex-math", "annotation", "alt-text", "loc"))


#: Texts that some producers write for a missing value.
MISSING: Final = frozenset(("null", "n/a", "N/A", "?"))


@dataclass(frozen=True, slots=True)
class Markup:
    """How the articles of one publisher are marked up.

    ``entries``: the entries of the bibliography, from the root. ``works``: the works of an entry, from the entry, which is the
    work if there is none. ``printed``: its printed text, from the work; ``follows``: the elements behind the work that hold it;
    the work's own text if there is neither. ``silent``: elements that are not part of that text; ``separate``: its elements
    stand apart, without text between them. ``citation``: the fields of `reflink.entities.Reference`, from the work; also
    ``authors``, ``editors`` (elements of one person each),
    ``groups``, ``author_list`` (all authors in one text), ``pages`` (a range), ``article_number``, ``subtitle``, ``doi``,
    ``pmid``, ``pmcid``, ``arxiv``, ``address`` (an address or text that may be an identifier). ``kinds``: paths of the kind
    of the work: an attribute's value, or the name of an element.

    ``own``: the fields of `reflink.entities.Paper`, from the root, with the same further names. ``paragraphs``, ``sections``,
    ``titles``: elements of the text; ``mentions``: elements that refer to entries, with the attributes that name these, the
    preferred ones first; ``parts``: elements by the part of the paper that they are; ``unread``: elements that are no
    text of the paper.
    """

    entries: str
    ids: Paths = ("@id",)
    labels: Paths = ("label",)
    works: str = "self::*"
    printed: Paths = ()
    follows: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    separate: bool = False
    kinds: Paths = ()
    citation: Mapping[str, Paths] = field(default_factory=dict)
    own: Mapping[str, Paths] = field(default_factory=dict)
    paragraphs: frozenset[str] = frozenset()
    sections: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    mentions: Mapping[str, Paths] = field(default_factory=dict)
    parts: Mapping[str, Part] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()


@lru_cache(maxsize=1024)
def _path(expression: str) -> etree.XPath:
    return etree.XPath(expression)


def found(element: etree._Element, expression: str) -> list[etree._Element | str]:
    """Return the elements and values of attributes at an XPath, in document order, or the text that it is."""
    result = _path(expression)(element)
    return cast("list[etree._Element | str]", result) if isinstance(result, list) else [str(result)]


def elements(element: etree._Element, expression: str) -> list[etree._Element]:
    """Return the elements at an XPath, without those inside another one of them."""
    every = [each for each in found(element, expression) if isinstance(each, etree._Element)]
    whole = set(every)
    return [each for each in every if whole.isdisjoint(each.iterancestors())]


def texts(element: etree._Element, paths: Paths) -> Iterable[str]:
    """Yield the texts at these paths, of all the first path first."""
    for path in paths:
        for each in found(element, path):
            if text := text_of(each):
                yield text


def text(element: etree._Element, paths: Paths) -> str | None:
    """Return the first text at these paths."""
    return next(iter(texts(element, paths)), None)


#: Characters behind and before which no space is added.
_OPEN: Final = frozenset(" \t\n\r\xa0([{-‐‑–—/“‘")
_CLOSE: Final = frozenset(" \t\n\r\xa0,.;:)]}-‐‑–—/(”’")


_LOOSE: Final = re.compile(r" ([,.;:)\]])")


def text_of(item: etree._Element | str, silent: frozenset[str] = SILENT, *, separate: bool = False) -> str:
    """Return the text of an element, or the value of an attribute, as one line.

    A space separates an element that is not `INLINE` from the text around it, unless punctuation joins them; ``separate``: or
    in any case. ``silent``: elements without text.
    """
    if isinstance(item, str):
        return " ".join(item.split())
    if not len(item):
        return " ".join((item.text or "").split())
    pieces: list[str] = []
    _collect(item, silent, separate, pieces)
    joined = " ".join("".join(pieces).split())
    return joined if separate else _LOOSE.sub(r"\1", joined)


def _collect(element: etree._Element, silent: frozenset[str], separate: bool, pieces: list[str]) -> None:
    if element.text:
        pieces.append(element.text)
    for child in element:
        apart = child.tag not in INLINE
        if isinstance(child.tag, str) and child.tag not in silent:
            begin = len(pieces)
            if apart and pieces and (separate or pieces[-1][-1:] not in _OPEN):
                pieces.append(" ")
            _collect(child, silent, separate, pieces)
            if apart and len(pieces) > begin and (separate or (child.tail or " ")[0] not in _CLOSE):
                pieces.append(" ")
        if child.tail:
            pieces.append(child.tail)
