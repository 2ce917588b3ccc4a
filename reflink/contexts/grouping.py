"""Groups of adjacent citations, as papers 003 and 004 define them, and the runs in which they are printed."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from reflink.contexts.paragraphs import Paragraph

#: Maximum number of characters between adjacent citations, brackets not counted: "[27] and [42]".
_NEAR: Final = 5
_OPEN: Final = "([{"
_CLOSE: Final = ")]}"
#: Maximum number of characters between the citations of one pair of brackets: "(Smith et al., 2001; Jones, 2003)".
_MAX_GAP: Final = 100
_MAX_BRACKET: Final = 300
_BRACKETS: Final = re.compile(r"[()\[\]{}]")
#: The text between two citations of one run.
_SEPARATOR: Final = re.compile(
    r"[\s,;:&+/.()\[\]{}\-\u00ad‐‑‒–—―−~∼]{0,8}(?:\b(?:and|or|to|through|und|et|y|e|bis)\b[\s,()\[\]{}]{0,6})?"
)


@dataclass(frozen=True, slots=True)
class Run:
    """Mentions that nothing but punctuation separates, from ``first`` to ``last``; their span with the brackets around them."""

    first: int
    last: int
    start: int
    stop: int


def groups(paragraph: Paragraph, joined: Collection[int]) -> list[range]:
    """Return the mentions of each group, in order: every mention is in exactly one.

    Neighbours are in one group if at most five characters are between them, if a range joins them (``joined`` has the number
    of the first), or if a semicolon separates them within one pair of brackets.
    """
    found: list[range] = []
    mentions = paragraph.mentions
    start = stop = 0
    for at, mention in enumerate(mentions):
        if at > start and not (at - 1 in joined or _adjacent(paragraph.text, mentions[at - 1].start, stop, mention.start)):
            found.append(range(start, at))
            start = at
        stop = max(stop, mention.stop)
    if mentions:
        found.append(range(start, len(mentions)))
    return found


def _adjacent(text: str, begun: int, stop: int, start: int) -> bool:
    """Return whether a mention from ``start`` is in the group that ends at ``stop`` with the mention from ``begun``."""
    if start - stop > _MAX_GAP:
        return False
    gap = text[stop:start]
    if len(gap.lstrip(_CLOSE).rstrip(_OPEN)) <= _NEAR:
        return True
    if ";" not in gap or _BRACKETS.search(gap):
        return False
    far = max(0, begun - _MAX_BRACKET)
    return any(
        text.rfind(opening, far, stop) > text.rfind(closing, far, stop) for opening, closing in zip("([", ")]", strict=True)
    )


def runs(paragraph: Paragraph, group: range) -> list[Run]:
    """Return the runs of a group."""
    text, mentions = paragraph.text, paragraph.mentions
    found: list[Run] = []
    first = group.start
    stop = mentions[first].stop if group else 0
    for at in group:
        if at > first and not (mentions[at].start <= stop or _SEPARATOR.fullmatch(text, stop, mentions[at].start)):
            found.append(_bracketed(text, Run(first, at - 1, mentions[first].start, stop)))
            first = at
        stop = max(stop, mentions[at].stop)
    if group:
        found.append(_bracketed(text, Run(first, group.stop - 1, mentions[first].start, stop)))
    return found


def _bracketed(text: str, run: Run) -> Run:
    """Return the run with the brackets around it."""
    start, stop = run.start, run.stop
    before = text[start - 1 : start]
    for opening, closing in zip(_OPEN, _CLOSE, strict=True):
        if text[stop : stop + 1] != closing:
            continue
        if before == opening:
            return Run(run.first, run.last, start - 1, stop + 1)
        if stop - start <= _MAX_BRACKET and text.count(opening, start, stop) > text.count(closing, start, stop):
            return Run(run.first, run.last, start, stop + 1)
    return run
