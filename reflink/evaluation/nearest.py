"""The paper's approaches over one catalog: each returns the nearest work of a reference, whatever the score.

An approach holds the candidates of one mode, prepared once. The lexical approach also has the mode LTYV, which is not in the
paper: the fields in the order of a reference entry, for works and references.
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
#: References in one batch, as in the linker.
BATCH: Final = 256
#: Number of references timed one at a time, and number of batches timed.
ALONE: Final = 100
BATCHES: Final = 3
#: Threads of a search, so that the times of modes are comparable; an encoder uses all cores that it finds.
THREADS: Final = 1
_CHUNK: Final = 8192

T = TypeVar("T")

#: The works of an answer, of which one is to be chosen at random, and their score; no works without an answer.
Answer = tuple[Sequence[str], float]
NONE: Final[Answer] = ((), float("nan"))


class Progress(Protocol):
    """Interface that shows the progress of a loop; ``reflink.evaluation.linking.tracked`` does so on a terminal."""

    def __call__(self, items: Sequence[T], what: str, /) -> Iterable[T]:
        """Return the items, one by one."""
        ...


class Approach(Protocol):
    """Interface of an approach that links references to the candidates that it was built with."""

    def text(self, reference: Reference) -> str:
        """Return the text of a reference in the mode; "" if it has none of the mode's fields, and therefore no answer."""
        ...

    def answer(self, references: Sequence[Reference], *, afresh: bool = False) -> list[Answer]:
        """Return one answer for each reference, in order. ``afresh``: use no cache, as for references never seen."""
        ...


def _lexical_sides(mode: str) -> tuple[Callable[[Work], str], Callable[[Reference], str]]:
    if mode == ENTRY_MODE:  # mode Raw of a work has the fields in this order
        return lambda work: work_text(work, "Raw", lexical=True), lambda one: work_text(one, "Raw", lexical=True)
    known = cast(Mode, mode)
    return lambda work: work_text(work, known, lexical=True), lambda one: reference_text(one, known, lexical=True)


class TitleMatch:
    """Answers with a work of the same preprocessed title; with one at random if there are several."""

    def __init__(self, works: Sequence[Work], progress: Progress) -> None:
        self._titles: dict[str, list[str]] = defaultdict(list)
        of_work, self.text = _lexical_sides("T")
        for start in progress(range(0, len(works), _CHUNK), "TitleMatch T: candidates"):
            for work in works[start : start + _CHUNK]:
                if title := of_work(work):
                    self._titles[title].append(work.id)

    def answer(self, references: Sequence[Reference], *, afresh: bool = False) -> list[Answer]:
        """Return all works with the reference's title, for each reference."""
        found = (self._titles.get(self.text(reference)) for reference in references)
        return [(ids, 1.0) if ids else NONE for ids in found]


class Jaccard:
    """Answers with the work of the highest s = 2JC/(J+C) of trigrams; of several, the work with the smallest id."""

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
        """Return the best work for each reference."""
        return _best(self._index.search(list(map(self.text, references)), 1))


class Sbert:
    """Answers with the work of the highest cosine; of several, the work with the smallest id."""

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
        """Return the text of a reference; "" if it has no field: separators between missing fields do not count."""
        if not reference_text(reference, self._mode, lexical=False, separator=" "):
            return ""
        return reference_text(reference, self._mode, lexical=False, separator=self._encoder.separator)

    def answer(self, references: Sequence[Reference], *, afresh: bool = False) -> list[Answer]:
        """Return the best work for each reference that has a text, else no answer."""
        texts = list(map(self.text, references))
        filled = [text for text in texts if text]
        if not filled:
            return [NONE] * len(texts)
        encoder: Encodes = self._encoder.encoder if afresh else self._encoder
        found = iter(_best(self._index.search(encoder.encode(filled), 1)))
        return [next(found) if text else NONE for text in texts]


def _best(hits: Iterable[list[tuple[str, float]]]) -> list[Answer]:
    return [((near[0][0],), near[0][1]) if near else NONE for near in hits]


def seconds(
    answer: Callable[[Sequence[Reference]], object], references: Sequence[Reference], progress: Progress, what: str
) -> dict[str, Any]:
    """Return the median seconds per reference, from its fields to its answer: one at a time, and in batches.

    Measures up to ALONE references one at a time and up to BATCHES times BATCH in batches, evenly chosen among ``references``;
    None if there are none. ``load``: load average of the last minute at the end; above the number of cores, the times are too
    long.
    """
    alone, together = _evenly(references, ALONE), _evenly(references, BATCH * BATCHES)
    batches = [together[start : start + BATCH] for start in range(0, len(together), BATCH)]
    if references:
        answer(alone[:2])  # compile the kernels and load the index into memory
    lone = [_timed(answer, [reference]) for reference in progress(alone, f"{what}: timed one at a time")]
    joint = [_timed(answer, batch) for batch in progress(batches, f"{what}: timed in batches")]
    load = round(os.getloadavg()[0], 2)
    return {
        "seconds": median(lone) if lone else None,
        "seconds_in_batches": median(joint) if joint else None,
        "timed": {"alone": len(alone), "in_batches": len(together), "batch": BATCH, "threads": THREADS, "load": load},
    }


def _evenly(items: Sequence[T], most: int) -> list[T]:
    count = min(most, len(items))
    return [items[at * len(items) // count] for at in range(count)]


def _timed(answer: Callable[[Sequence[Reference]], object], references: Sequence[Reference]) -> float:
    """Return the seconds per reference."""
    start = time.perf_counter()
    answer(references)
    return (time.perf_counter() - start) / len(references)
