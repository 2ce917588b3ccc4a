"""The original bytes of a document, and where in them the elements with citations are.

A place is an index into `Original.view`, which has one ASCII byte for each character of the document, or its bytes themselves
if their markup is ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from reflink.errors import NotAPaper
from reflink.jats.vocabulary import CITATIONS
from reflink.markup.encoding import wide_encoding
from reflink.markup.entities import doctype_span

#: A tag of an element that may hold citations, or the beginning of what contains no tags.
_TAG: Final = re.compile(
    rb"<(?:(!--|!\[CDATA\[|\?)|(/?)((?:[^\s<>/:!?=\"']+:)?)(ref|%s)(?=[\s/>])(?:[^\"'<>]|\"[^\"<]*\"|'[^'<]*')*+>)"
    % "|".join(CITATIONS).encode()
)
_ENDS: Final = {b"!--": b"-->", b"![CDATA[": b"]]>", b"?": b"?>"}


@dataclass(frozen=True, slots=True)
class Element:
    """An element that may hold citations. ``name``: where its name begins. Its content is ``start`` to ``stop``."""

    tag: bytes
    prefix: bytes
    name: int
    start: int
    stop: int


class Original:
    """The bytes of a document, whose characters can be counted and cut."""

    def __init__(self, data: bytes, name: str) -> None:
        """Raises NotAPaper if the bytes cannot be restored from their characters."""
        self._encoding = wide_encoding(data)
        self._data, self._text = data, ""
        self.view = data
        if self._encoding is not None:
            try:
                self._text = data.decode(self._encoding)
            except (UnicodeError, LookupError):
                raise NotAPaper(f"{name}: cannot be written: bytes that are not {self._encoding}") from None
            self.view = self._text.encode("ascii", "replace")

    def with_insertions(self, insertions: Iterable[tuple[int, str]], name: str) -> bytes:
        """Return the bytes with texts inserted at places, in order. The other bytes are unchanged. Raises NotAPaper."""
        kept: list[bytes] = []
        parts: list[bytes] = []
        at = 0
        for place, text in (*sorted(insertions, key=lambda each: each[0]), (len(self.view), "")):
            kept.append(self._cut(at, place))
            parts += kept[-1], self._encoded(text.encode("ascii", "xmlcharrefreplace").decode())
            at = place
        if self._encoding is not None and b"".join(kept) != self._data:
            raise NotAPaper(f"{name}: cannot be written: its bytes cannot be restored from {self._encoding}")
        return b"".join(parts)

    def _cut(self, start: int, stop: int) -> bytes:
        return self._data[start:stop] if self._encoding is None else self._text[start:stop].encode(self._encoding)

    def _encoded(self, text: str) -> bytes:
        return text.encode(self._encoding or "ascii")


def elements(view: bytes) -> list[Element] | None:
    """Return the elements that may hold citations, by their start tags; None if their tags do not match."""
    found: list[Element | None] = []
    opened: list[tuple[int, re.Match[bytes]]] = []
    begin, end = doctype_span(view)
    at = 0
    while tag := _TAG.search(view, at):
        at = tag.end()
        if begin <= tag.start() < end:
            at = end
        elif tag[1]:
            closed = view.find(_ENDS[tag[1]], at)
            if closed < 0:
                return None
            at = closed + len(_ENDS[tag[1]])
        elif not tag[2]:
            found.append(None)
            if tag[0].endswith(b"/>"):
                found[-1] = Element(tag[4], tag[3], tag.start() + 1, tag.end(), tag.start())
            else:
                opened.append((len(found) - 1, tag))
        else:
            if not opened:
                return None
            index, first = opened.pop()
            if (first[3], first[4]) != (tag[3], tag[4]):
                return None
            found[index] = Element(tag[4], tag[3], first.start() + 1, first.end(), tag.start())
    return None if opened else [each for each in found if each is not None]
