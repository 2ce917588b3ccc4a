"""Find the citations of a TEI document in its bytes: where elements may be added without changing any other byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

#: The markup of well-formed XML without a DOCTYPE's internal subset. A tag has its slash, its name and its rest as groups.
_MARKUP: Final = re.compile(
    rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<!DOCTYPE[^\[>]*(?:\[[^\]]*\]\s*)?>"
    rb"|<(/?)([^\s/>!?<]+)([^\"'<>]*(?:\"[^\"]*\"[^\"'<>]*|'[^']*'[^\"'<>]*)*)>",
    re.DOTALL,
)
_CITATIONS: Final = (b"biblStruct", b"bibl")


@dataclass(slots=True)
class Position:
    """One citation. ``prefix``: of its name, with the colon. ``ids`` and ``end``: where identifiers and other elements may be
    added, directly behind a character that is not white space; None in an element without an end tag.
    """

    prefix: str
    ids: int | None = None
    end: int | None = None


@dataclass(slots=True)
class _Open:
    """An element whose end tag was not yet found. ``at``: the number of its citation; ``part``: the name of its level."""

    name: bytes
    at: int
    part: bytes
    children: set[bytes] = field(default_factory=set)


def positions(data: bytes) -> list[Position]:
    """Return the position of each ``biblStruct`` and ``bibl`` of well-formed XML, in document order.

    Identifiers belong into ``analytic``, else before the ``imprint`` of ``monogr``, else (``bibl``) at the end.
    """
    found: list[Position] = []
    stack: list[_Open] = []
    ranks: dict[int, int] = {}
    for start, stop, closing, name, empty in _tags(data):
        if closing:
            if not stack:
                return found
            top = stack.pop()
            if top.at >= 0:
                _close(top, data, start, found[top.at], ranks)
            continue
        outer = stack[-1] if stack else None
        if outer is not None and name == b"imprint" and outer.name == b"monogr" and outer.at >= 0:
            _place(found[outer.at], outer.at, _behind(data, start), 1, ranks)
        at = -1
        if name in _CITATIONS:
            prefix = data[start + 1 : stop].split(None, 1)[0].rpartition(b":")
            found.append(Position((prefix[0] + prefix[1]).decode("utf-8", "replace")))
            at = len(found) - 1
        elif outer is not None and outer.at >= 0 and outer.name in _CITATIONS and name in (b"analytic", b"monogr"):
            at = outer.at
        if not empty:
            stack.append(_Open(name, at, name))
    return found


def _close(top: _Open, data: bytes, start: int, position: Position, ranks: dict[int, int]) -> None:
    behind = _behind(data, start)
    if top.name in _CITATIONS:
        position.end = behind
        _place(position, top.at, behind, 3, ranks)
    else:
        _place(position, top.at, behind, 0 if top.name == b"analytic" else 2, ranks)


def _place(position: Position, at: int, place: int, rank: int, ranks: dict[int, int]) -> None:
    """Keep the best place for identifiers; the first of equal rank."""
    if rank < ranks.get(at, 9):
        ranks[at], position.ids = rank, place


def _behind(data: bytes, at: int) -> int:
    """Return the position behind the last character before ``at`` that is not white space."""
    while data[at - 1 : at] in (b" ", b"\t", b"\n", b"\r"):
        at -= 1
    return at


def _tags(data: bytes) -> Iterator[tuple[int, int, bool, bytes, bool]]:
    """Yield start, stop, whether it is an end tag, the name without prefix, and whether the element is empty."""
    for found in _MARKUP.finditer(data):
        if found[2] is not None:
            yield found.start(), found.end(), bool(found[1]), found[2].rpartition(b":")[2], found[3].endswith(b"/")
