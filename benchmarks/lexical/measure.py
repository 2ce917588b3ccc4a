"""Measure the search beside plain counting: the same queries in slices, in turn, in one process, on one core.

Every result is compared with that of counting: the two best scores must be equal, without those under the floor. Five hits
without a floor are what the fallback searches; ``peers`` compares all five.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from benchmarks.lexical.corpus import Asked
from benchmarks.lexical.counting import Counter, Postings
from reflink.hits import Hits
from reflink.lexical import LexicalIndex
from reflink.lexical.trigrams import trigrams

WITHOUT: Final = "without target"
WITH: Final = "with target"
SEEDED: Final = "with target and seed"
KINDS: Final = (WITHOUT, WITH, SEEDED)
BATCHES: Final = (1, 64, 256)
#: Floors, and the numbers of hits searched with each.
FLOORS: Final[dict[float | None, tuple[int, ...]]] = {None: (1, 2, 5), 0.5: (1, 2)}
#: Queries that one case runs before the next one's turn.
SLICE: Final = max(BATCHES)


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of search: ``batch`` queries per call, ``k`` hits each, with a score of at least ``floor``."""

    kind: str
    floor: float | None
    k: int
    batch: int


CASES: Final = tuple(
    Case(kind, floor, k, batch) for floor, ks in FLOORS.items() for kind in KINDS for k in ks for batch in BATCHES
)


@dataclass
class Measured:
    """``calls[case][first]``: ms per query of the call that began with query ``first``, in each round. ``plain`` alike."""

    calls: dict[Case, dict[int, list[float]]] = field(default_factory=dict)
    plain: dict[bool, dict[int, list[float]]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    processor_seconds: float = 0.0

    def figures(self) -> dict[str, Any]:
        """Return mean, median and p99 in ms per query, medians of the rounds; ratios of means to plain counting's."""
        plain = {target: summary(calls) for target, calls in self.plain.items()}
        return {
            "plain": [{"kind": WITH if target else WITHOUT, **values} for target, values in plain.items()],
            "ours": [
                {
                    "kind": case.kind, "floor": case.floor, "k": case.k, "batch": case.batch, **(values := summary(calls)),
                    "ratio": plain[case.kind != WITHOUT]["mean"] / values["mean"],
                }
                for case, calls in self.calls.items()
            ],
            "cores": self.processor_seconds / self.seconds,
            "wrong": self.wrong,
        }  # fmt: skip


def summary(calls: Mapping[int, Sequence[float]]) -> dict[str, float]:
    """Summarise the medians of the rounds."""
    values = [statistics.median(rounds) for rounds in calls.values()]
    p50, p99 = np.quantile(values, [0.5, 0.99])
    return {"mean": statistics.fmean(values), "p50": float(p50), "p99": float(p99)}


def measure(
    index: LexicalIndex, lists: Postings, without: Sequence[Asked], present: Sequence[Asked], rounds: int,
    cases: Sequence[Case] = CASES,
) -> Measured:  # fmt: skip
    """Run all queries in all cases in each round; every other round reverses the order of the cases.

    Cases with more queries per call than there are queries are left out.
    """
    counter, measured = Counter(lists), Measured()
    asked = {False: without, True: present}
    cases = [case for case in cases if case.batch <= len(asked[case.kind != WITHOUT])]
    codes = {target: [trigrams(each.text) for each in queries] for target, queries in asked.items()}
    for case in cases:  # compiles, and touches mapped pages
        _ask(index, case, asked[case.kind != WITHOUT][:1])
    counter.best(codes[True][0] if codes[True] else codes[False][0])
    began, used = time.perf_counter(), time.process_time()
    for turn in range(rounds):
        for target, queries in asked.items():
            mine = [case for case in cases if (case.kind != WITHOUT) == target]
            for first in range(0, len(queries), SLICE):
                part = queries[first : first + SLICE]
                best: dict[int, tuple[float, float]] = {}
                # Plain counting runs first or last.
                if turn % 2 == 0:
                    best = _count(counter, codes[target], first, len(part), measured.plain.setdefault(target, {}))
                answers = [(case, _timed(index, case, part, first, measured)) for case in mine[:: 1 - turn % 2 * 2]]
                best = best or _count(counter, codes[target], first, len(part), measured.plain.setdefault(target, {}))
                for case, hits in answers:
                    measured.wrong += check(case, part, hits, [best[first + at] for at in range(len(part))])
    measured.seconds, measured.processor_seconds = time.perf_counter() - began, time.process_time() - used
    # In the order of ``cases``, not in the order of the runs.
    measured.calls = {case: measured.calls[case] for case in cases if case in measured.calls}
    return measured


def check(case: Case, queries: Sequence[Asked], hits: Sequence[Hits], best: Sequence[tuple[float, float]]) -> list[str]:
    """Return a line for each query whose scores are not bit for bit the best ones of counting."""
    found = [[score for _, score in one] for each in hits for one in each]
    wrong = []
    for query, mine, scores in zip(queries, found, best, strict=True):
        wanted = [score for score in scores[: case.k] if score > 0.0 and score >= (case.floor or 0.0)]
        if mine[: len(scores)] != wanted:
            wrong.append(f"{case}: {query.text[:60]!r}: {mine}, by counting {wanted}")
    return wrong


def _count(
    counter: Counter, codes: Sequence[Any], first: int, number: int, calls: dict[int, list[float]]
) -> dict[int, tuple[float, float]]:
    best = {}
    for at in range(first, first + number):
        began = time.perf_counter()
        best[at] = counter.best(codes[at])
        calls.setdefault(at, []).append((time.perf_counter() - began) * 1e3)
    return best


def _timed(index: LexicalIndex, case: Case, queries: Sequence[Asked], first: int, measured: Measured) -> list[Hits]:
    calls, answers = measured.calls.setdefault(case, {}), []
    for at in range(0, len(queries), case.batch):
        batch = queries[at : at + case.batch]
        began = time.perf_counter()
        answers.append(_ask(index, case, batch))
        calls.setdefault(first + at, []).append((time.perf_counter() - began) / len(batch) * 1e3)
    return answers


def _ask(index: LexicalIndex, case: Case, queries: Sequence[Asked]) -> Hits:
    seeds = [[each.truth] for each in queries] if case.kind == SEEDED else None
    return index.search([each.text for each in queries], case.k, floor=case.floor, seeds=seeds)
