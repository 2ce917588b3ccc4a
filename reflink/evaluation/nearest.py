"""The paper's approaches over one catalog: each names the nearest work of a reference, whatever the score.

An approach holds the candidates of one mode, prepared once. Beside the paper's modes there is LTYV, of the lexical approach
only: the fields in the order of a reference entry, on both sides.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any, Final, Protocol, TypeVar, cast

from reflink.encoders import Encodes
from reflink.entities import Reference, Work
from reflink.evaluation.vectors import CachedEncoder
from reflink.lexical import LexicalIndex
from reflink.semantic import VectorIndex
from reflink.text import Mode, reference_text, work_text

ENTRY_MODE: Final = "LTYV"
#: References asked together, as the linker asks them.
BATCH: Final = 256
#: How many are timed one at a time, and how many batches.
ALONE: Final = 100
BATCHES: Final = 3
#: Threads of a search, so that times of modes compare; an encoder uses the cores it finds.
THREADS: Final = 1
_CHUNK: Final = 8192

T = TypeVar("T")

#: The works that an approach links a reference to, one of them drawn at random, and their score; none without an answer.
Answer = tuple[Sequence[str], float]
NONE: Final[Answer] = ((), float("nan"))


class Progress(Protocol):
    """Shows how far a loop is; ``reflink.evaluation.run.tracked`` on a terminal."""

    def __call__(self, items: Sequence[T], what: str, /) -> Iterable[T]:
        """The items, one by one."""
        ...


class Approach(Protocol):
    """What links references over the candidates it was made with."""

    def text(self, reference: Reference) -> str:
        """What it reads of a reference; "" when that has none of the mode's fields, and so no answer."""
        ...

    def answer(self, references: Sequence[Reference], *, afresh: bool = False) -> list[Answer]:
        """One for each, in order. ``afresh``: nothing remembered is used, as with references never seen."""
        ...


def _lexical_sides(mode: str) -> tuple[Callable[[Work], str], Callable[[Reference], str]]:
    if mode == ENTRY_MODE:  # what mode Raw makes of a work
        return lambda work: work_text(work, "Raw", lexical=True), lambda one: work_text(one, "Raw", lexical=True)
    known = cast(Mode, mode)
    return lambda work: work_text(work, known, lexical=True), lambda one: reference_text(one, known, lexical=True)


class TitleMatch:
    """Works of the same preprocessed title; of several, one at random."""

    def __init__(self, works: Sequence[Work], progress: Progress) -> None:
        self._titles: dict[str, list[str]] = defaultdict(list)
        of_work, self.text = _lexical_sides("T")
        for start in progress(range(0, len(works), _CHUNK), "TitleMatch T: candidates"):
            for work in works[start : start + _CHUNK]:
                if title := of_work(work):
                    self._titles[title].append(work.id)

    def answer(self, references: Sequence[Reference], *, afresh: bool = False) -> list[Answer]:
        """All that bear the title."""
        found = (self._titles.get(self.text(reference)) for reference in references)
        return [(ids, 1.0) if ids else NONE for ids in found]


class Jaccard:
    """The work with the highest s = 2JC/(J+C) of trigrams; of several, that of the smallest id."""

    def __init__(self, works: Sequence[Work], mode: str, progress: Progress, held: LexicalIndex | None = None) -> None:
        of_work, self.text = _lexical_sides(mode)
        if held is None:
            held = LexicalIndex("Raw" if mode == ENTRY_MODE else cast(Mode, mode), threads=THREADS)
            texts: list[str] = []
            for start in progress(range(0, len(works), _CHUNK), f"Jaccard {mode}: candidates"):
                texts += map(of_work, works[start : start + _CHUNK])
            held.add([work.id for work in works], texts)
        self._index = held

    def answer(self, references: Sequence[Reference], *, afresh: bool = False) -> list[Answer]:
        """The best of each."""
        return _best(self._index.search(list(map(self.text, references)), 1))


class Sbert:
    """The work with the highest cosine; of several, that of the smallest id."""

    def __init__(
        self, works: Sequence[Work], mode: Mode, encoder: CachedEncoder, progress: Progress, held: VectorIndex | None = None
    ) -> None:
        self._mode, self._encoder = mode, encoder
        if held is None:
            held = VectorIndex(encoder.dim, threads=THREADS)
            for start in progress(range(0, len(works), _CHUNK), f"SBERT {mode}: candidates"):
                part = works[start : start + _CHUNK]
                texts = [work_text(work, mode, lexical=False, separator=encoder.separator) for work in part]
                held.add([work.id for work in part], encoder.encode(texts))
        self._index = held

    def text(self, reference: Reference) -> str:
        """Without the separators, which stand between missing fields too."""
        if not reference_text(reference, self._mode, lexical=False, separator=" "):
            return ""
        return reference_text(reference, self._mode, lexical=False, separator=self._encoder.separator)

    def answer(self, references: Sequence[Reference], *, afresh: bool = False) -> list[Answer]:
        """The best of each that has a text."""
        texts = list(map(self.text, references))
        told = [text for text in texts if text]
        if not told:
            return [NONE] * len(texts)
        encoder: Encodes = self._encoder.encoder if afresh else self._encoder
        found = iter(_best(self._index.search(encoder.encode(told), 1)))
        return [next(found) if text else NONE for text in texts]


def _best(hits: Iterable[list[tuple[str, float]]]) -> list[Answer]:
    return [((near[0][0],), near[0][1]) if near else NONE for near in hits]


def seconds(approach: Approach, references: Sequence[Reference], progress: Progress, what: str) -> dict[str, Any]:
    """Median seconds a reference, from its fields to its answer: one at a time, and in batches.

    Of up to ALONE references, and up to BATCHES times BATCH of them, evenly out of those that have a text. None where there
    are none. ``load``: processes that wanted a core at the end, on average of a minute; above the number of cores the times
    are too long.
    """
    told = [reference for reference in references if approach.text(reference)]
    alone, together = _evenly(told, ALONE), _evenly(told, BATCH * BATCHES)
    batches = [together[start : start + BATCH] for start in range(0, len(together), BATCH)]
    if told:
        approach.answer(alone[:2], afresh=True)  # compiled, and in memory
    lone = [_timed(approach, [reference]) for reference in progress(alone, f"{what}: timed one at a time")]
    joint = [_timed(approach, batch) for batch in progress(batches, f"{what}: timed in batches")]
    load = round(os.getloadavg()[0], 2)
    return {
        "seconds": median(lone) if lone else None,
        "seconds_in_batches": median(joint) if joint else None,
        "timed": {"alone": len(alone), "in_batches": len(together), "batch": BATCH, "threads": THREADS, "load": load},
    }


def _evenly(items: Sequence[T], most: int) -> list[T]:
    count = min(most, len(items))
    return [items[at * len(items) // count] for at in range(count)]


def _timed(approach: Approach, references: Sequence[Reference]) -> float:
    """Seconds a reference."""
    start = time.perf_counter()
    approach.answer(references, afresh=True)
    return (time.perf_counter() - start) / len(references)
