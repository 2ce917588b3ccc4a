"""The text of sentences as paper 003 gives it: MAINCIT for the mention, CIT for other citations, FORMULA for formulas."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from reflink.contexts.grouping import Run
from reflink.contexts.paragraphs import Paragraph
from reflink.contexts.ranges import Slot
from reflink.contexts.sentences import Opaque

MAIN: Final = "MAINCIT"
OTHER: Final = "CIT"
FORMULA: Final = "FORMULA"
#: Maximum number of markers of one run, those nearest to the mention.
MAX_MARKERS: Final = 100


class Marking:
    """The replaced spans of one paragraph: formulas, and runs of citations. ``spans`` are in order and disjoint.

    A run becomes one marker for each entry that it cites, those of ranges included, so that citations look alike in every
    style. A link to no known entry becomes CIT, unless it has no text.
    """

    def __init__(self, paragraph: Paragraph, runs: Sequence[Run], slots: Sequence[Sequence[Slot]]) -> None:
        self._text = paragraph.text
        self._shown = [mention.start < mention.stop for mention in paragraph.mentions]
        found: list[tuple[int, int, Run | None]] = [(run.start, run.stop, run) for run in runs]
        found += [(start, stop, None) for start, stop in paragraph.formulas]
        found.sort(key=lambda each: (each[0], each[1]))
        spans: list[tuple[int, int, Run | None]] = []
        for start, stop, run in found:
            if not spans or start >= spans[-1][1]:
                spans.append((start, stop, run))
            elif run is not None and spans[-1][2] is None:  # a citation within a formula
                spans[-1] = start, stop, run
        self.spans = [Opaque(start, stop, run is not None) for start, stop, run in spans]
        self._starts = [start for start, _, _ in spans]
        self._place = {
            at: place for place, (_, _, run) in enumerate(spans) if run is not None for at in range(run.first, run.last + 1)
        }
        self._cited = [None if run is None else self._slots_of(run, slots) for _, _, run in spans]

    def _slots_of(self, run: Run, slots: Sequence[Sequence[Slot]]) -> dict[Slot, int]:
        """Return the numbers of the markers of a run. A link to no known entry has a place of its own, -1."""
        inside: dict[Slot, int] = {}
        for at in range(run.first, run.last + 1):
            if not slots[at] and self._shown[at]:
                inside[Slot(at, -1, False)] = len(inside)
            for slot in slots[at]:
                inside[slot] = len(inside)
        return inside

    def text(self, start: int, stop: int, main: Slot | None) -> str:
        """Return the text from ``start`` to ``stop``, in which ``main`` is MAINCIT, also if its run is cut or at the end."""
        pieces: list[str] = []
        at = bisect_left(self._starts, start)
        done = max(start, self.spans[at - 1].stop) if at else start
        own = -1 if main is None else self._place[main.mention]
        if 0 <= own < at:
            at, done = own, start
        while at < len(self.spans) and (self._starts[at] < stop or at <= own):
            pieces.append(self._text[done : self._starts[at]])
            inside = self._cited[at]
            if inside is None:
                pieces.append(FORMULA)
            else:
                number = inside.get(main) if main is not None else None
                if number is None:
                    pieces += [OTHER] * min(len(inside), MAX_MARKERS)
                else:
                    before, after = min(number, MAX_MARKERS // 2), min(len(inside) - number - 1, MAX_MARKERS // 2)
                    pieces += [*[OTHER] * before, MAIN, *[OTHER] * after]
            done = self.spans[at].stop
            at += 1
        pieces.append(self._text[done:stop])
        return " ".join(filter(None, (piece.strip() for piece in pieces)))
