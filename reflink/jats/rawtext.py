"""Return the text of an element of the tree as one line, in document order.

The text of inline markup (italic, sup, …) joins the text around it without a space. A space separates the text of every other
element from its surroundings, unless punctuation already joins the texts.
"""

from __future__ import annotations

from typing import Final

from lxml import etree

from reflink.jats.scanner.vocabulary import INLINE_NAMES, SILENT_NAMES

_OPEN: Final = frozenset(" \t\n\r\xa0([{-‐‑–—")
_CLOSE: Final = frozenset(" \t\n\r\xa0,.;:)]}-‐‑–—/(")


def text_of(element: etree._Element) -> str:
    """Return the text of one element as one line."""
    if not len(element):
        return " ".join((element.text or "").split())
    pieces: list[str] = []
    _walk(element, pieces)
    return " ".join("".join(pieces).split())


def _walk(element: etree._Element, pieces: list[str]) -> None:
    if text := element.text:
        pieces.append(text)
    ended = False  # whether an element that separates words has just ended
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else "fn"  # a node that is not an element has no text
        if tag in INLINE_NAMES:
            if ended and (ahead := "".join(map(str, child.itertext()))) and ahead[0] not in _CLOSE:
                pieces.append(" ")
            ended = False
            _walk(child, pieces)
        elif tag not in SILENT_NAMES:
            if pieces and pieces[-1][-1] not in _OPEN:
                pieces.append(" ")
            if tag[0] == "{":  # MathML: all its text is one formula
                pieces += filter(None, ("".join(map(str, child.itertext())),))
            else:
                _walk(child, pieces)
            ended = True
        if tail := child.tail:
            if ended and tail[0] not in _CLOSE and pieces and pieces[-1][-1] not in _OPEN:
                pieces.append(" ")
            pieces.append(tail)
            ended = False
