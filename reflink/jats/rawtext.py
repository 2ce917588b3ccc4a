"""The text of a citation in the order of its markup, and where its tagged parts lie in it.

One walk collects the text in *pieces*; a `Part` says which pieces a tagged element covers. Markup within words (italic, sup,
…) joins its text seamlessly; every other element is set apart by a space, so that ``<surname>Wang</surname><year>2004</year>``
does not become one word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lxml import etree

#: Markup within a word or a phrase: its text belongs to its surroundings.
INLINE: Final = frozenset(
    ("italic", "bold", "sup", "sub", "sc", "underline", "overline", "strike", "monospace", "roman", "sans-serif", "xref",
     "styled-content", "named-content", "abbrev", "inline-formula", "alternatives", "fixed-case", "ruby", "rb", "bdi", "hi")
)  # fmt: skip
#: Elements whose text is not the citation's: its number in the list, formulae in LaTeX, file names.
SILENT: Final = frozenset(("label", "tex-math", "inline-graphic", "graphic", "annotation-xml", "fn"))

#: A tagged element: its tag, itself, and the pieces ``[start, stop)`` of its text.
Part = tuple[str, etree._Element, int, int]

# Where two elements meet there is a space, unless white space or punctuation already joins their texts.
_OPEN: Final = frozenset(" \t\n\r\xa0([{-‐‑–—")
_CLOSE: Final = frozenset(" \t\n\r\xa0,.;:)]}-‐‑–—/(")
_LOOSE: Final = (*((f" {mark}", mark) for mark in ",.;:)]"), ("( ", "("), ("[ ", "["))


def walk(element: etree._Element) -> tuple[list[str], list[Part]]:
    """The pieces of ``element``'s text and its tagged parts, outer before inner, in document order."""
    pieces: list[str] = []
    parts: list[Part] = []
    _walk(element, pieces, parts)
    return pieces, parts


def _walk(element: etree._Element, pieces: list[str], parts: list[Part]) -> None:
    if text := element.text:
        pieces.append(text)
    ended = False  # a tagged element has just ended
    for child in element:
        tag = child.tag
        if tag in INLINE:
            if ended and (ahead := "".join(map(str, child.itertext()))) and ahead[0] not in _CLOSE:
                pieces.append(" ")
            ended = False
            _walk(child, pieces, parts)
        elif tag not in SILENT:
            if pieces and pieces[-1][-1] not in _OPEN:
                pieces.append(" ")
            start = len(pieces)
            if not len(child):
                if text := child.text:
                    pieces.append(text)
                parts.append((tag, child, start, len(pieces)))
            elif tag[0] == "{":  # MathML: its tokens are one formula
                pieces += filter(None, ("".join(map(str, child.itertext())),))
            else:
                at = len(parts)
                parts.append((tag, child, start, start))
                _walk(child, pieces, parts)
                parts[at] = (tag, child, start, len(pieces))
            ended = True
        if tail := child.tail:
            if ended and tail[0] not in _CLOSE and pieces and pieces[-1][-1] not in _OPEN:
                pieces.append(" ")
            pieces.append(tail)
            ended = False


def line(pieces: Sequence[str]) -> str:
    """The pieces as one line: white space collapsed."""
    text = pieces[0] if len(pieces) == 1 else "".join(pieces)
    return text if text.isalnum() else " ".join(text.split())


def joined(pieces: Sequence[str]) -> str:
    """The same without spaces before a comma or inside brackets, as a citation is printed."""
    text = line(pieces)
    for loose, tight in _LOOSE:
        if loose in text:
            text = text.replace(loose, tight)
    return text


def text_of(element: etree._Element) -> str:
    """The text of one element as one line."""
    if not len(element):
        return line((element.text or "",))
    return line(walk(element)[0])
