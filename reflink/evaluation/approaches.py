"""Repeats the paper's experiments on other data: its tables and curve, each figure beside the paper's own.

All are measured in the closed world, where every query has its target among the candidates. An approach always returns its
nearest candidate. Any other answer than the target counts as an error. A reference without any field of the mode counts as an
error, too. The results of each approach and mode are stored, so that an interrupted run continues where it stopped.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import orjson

from reflink.catalog import Catalog
from reflink.entities import Reference, Work
from reflink.evaluation import availability, bootstrap, curves, nearest, published
from reflink.evaluation.curves import Floats
from reflink.evaluation.nearest import ENTRY_MODE, Approach, Jaccard, Progress, Sbert, TitleMatch
from reflink.evaluation.records import Listing, Query
from reflink.evaluation.vectors import CachedEncoder
from reflink.evaluation.worlds import Groups
from reflink.storage import durable
from reflink.text import Mode

#: Increase this when an approach, a text or a timing changes: stored results of other versions are not used.
VERSION: Final = 1

#: Approaches and their modes, in the order of the paper's Table 2.
MODES: Final = {
    "TitleMatch": ("T",),
    "Jaccard": ("Raw", "T", "TV", "TY", "TL", "TVY", "TVL", "TVLY", ENTRY_MODE),
    "SBERT": ("Raw", "T", "TV", "TY", "TL", "TVL", "TVLY"),
}
#: Modes of encoders that are given beside SBERT: those in which the paper measures any of them.
OTHER_MODES: Final = ("Raw", "T", "TV", "TY", "TL", "TLY", "TVL", "TVLY")
#: The recommended framework: the answer of SBERT from the threshold on, else the answer of the trigrams.
FIRST: Final = ("SBERT", "TVL")
FALLBACK: Final = ("Jaccard", "Raw")
#: Thresholds of the hybrid.
THRESHOLDS: Final = sorted({*(n / 100 for n in range(50, 100)), published.THRESHOLD})

_LEXICAL: Final = ("TitleMatch", "Jaccard")
_NO_ABSTRACTS: Final = "the works have no abstracts"
_DECIMALS: Final = 6


@dataclass(frozen=True)
class Measured:
    """Answers of an approach to all queries.

    ``score``: NaN without an answer. ``right``: the probability that the answer is the target. ``has_text``: the reference has
    a field of the mode. ``times``: the result of ``nearest.seconds``.
    """

    score: Floats
    right: Floats
    has_text: np.ndarray[Any, np.dtype[np.bool_]]
    times: dict[str, Any]

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        path.parent.mkdir(parents=True, exist_ok=True)
        times = np.frombuffer(orjson.dumps(self.times), np.uint8)
        with durable.replacing(path, path.with_suffix(f".{os.getpid()}")) as file:
            np.savez_compressed(file, score=self.score, right=self.right, told=self.has_text, times=times)

    @classmethod
    def read(cls, path: Path) -> Measured:
        """Return the content of a file that `write` wrote."""
        with np.load(path, allow_pickle=False) as kept:
            return cls(kept["score"], kept["right"], kept["told"], orjson.loads(kept["times"].tobytes()))


def tables(
    listings: Sequence[Listing],
    queries: Sequence[Query],
    groups: Groups,
    catalog: Catalog | None,
    cache: Path,
    modes: Sequence[str],
    progress: Progress,
    *,
    encoder: CachedEncoder,
    others: Sequence[CachedEncoder] = (),
) -> dict[str, Any]:
    """Return ``fields``, ``limits``, ``approaches``, ``curve`` and ``hybrid`` as JSON data, in fractions and seconds.

    ``modes``: modes to measure, for all approaches that have them. The curve needs TVL and the hybrid TVL and Raw; without
    these modes they are left out. ``others``: encoders with rows of their own, beside ``encoder``, which is SBERT.
    ``catalog``: its indexes are used where they hold all works in a mode. ``cache``: folder of vectors and, under
    ``approaches``, of stored results. Raises ValueError for an unknown mode.
    """
    known = sorted({"TA", *OTHER_MODES, *(mode for measured in MODES.values() for mode in measured)})
    if unknown := sorted(set(modes) - set(known)):
        raise ValueError(f"unknown mode {unknown[0]!r}: expected one of {', '.join(known)}")
    works, references = [listing.work for listing in listings], [query.reference for query in queries]
    measured = dict(_all_measured(listings, queries, groups, catalog, cache, modes, progress, [encoder, *others]))
    rows = [_row(queries, *name, answers) for name, answers in measured.items()]
    if "TA" in modes:
        rows.append({
            "approach": "SBERT", "mode": "TA", "error": None, "why": _NO_ABSTRACTS,
            "published": published.error("SBERT", "TA"), "published_seconds": published.seconds("SBERT", "TA"),
        })  # fmt: skip
    figures: dict[str, Any] = {
        "fields": availability.fields(works, references), "limits": availability.limits(works), "approaches": rows,
    }  # fmt: skip
    if not (first := measured.get(FIRST)) or not queries:
        return figures
    figures["curve"] = curves.curve(first.score, first.right, published.THRESHOLD)
    if fallback := measured.get(FALLBACK):
        rows.append(_row(queries, "hybrid", f"{FIRST[1]}, {FALLBACK[1]}", _both(first, fallback)))
        figures["hybrid"] = curves.hybrid((first.score, first.right), fallback.right, THRESHOLDS)
    return figures


def _all_measured(
    listings: Sequence[Listing],
    queries: Sequence[Query],
    groups: Groups,
    catalog: Catalog | None,
    cache: Path,
    modes: Sequence[str],
    progress: Progress,
    encoders: Sequence[CachedEncoder],
) -> Iterator[tuple[tuple[str, str], Measured]]:
    """Yield each approach in each mode, from the stored results or measured now. Keeps one index in memory at a time.

    The first encoder is SBERT, another has its own name.
    """
    checksum = _checksum(listings, queries)
    works = [listing.work for listing in listings]
    named = [(name, of_approach, encoders[0]) for name, of_approach in MODES.items()]
    for name, of_approach, encoder in named + [(each.name, OTHER_MODES, each) for each in encoders[1:]]:
        for mode in (mode for mode in of_approach if mode in modes):
            parts = [VERSION, checksum, name, mode]
            if name not in _LEXICAL:
                parts += [encoder.name, encoder.precision, encoder.separator]
            key = hashlib.sha256(orjson.dumps(parts)).hexdigest()[:16]
            path = cache / "approaches" / f"{name}-{mode}-{key}.npz"
            if not path.exists():
                # No variable for the approach: it would keep the index in memory while the next one is built.
                what = f"{name} {mode}"
                _measure(_made(name, mode, works, catalog, encoder, progress), queries, groups, progress, what).write(path)
            yield (name, mode), Measured.read(path)


def _made(
    name: str, mode: str, works: Sequence[Work], catalog: Catalog | None, encoder: CachedEncoder, progress: Progress
) -> Approach:
    """Return the approach with its candidates prepared."""
    if name == "TitleMatch":
        return TitleMatch(works, progress)
    whole = len({work.id for work in works})
    if name == "Jaccard":
        trigrams = catalog.trigrams if catalog is not None and catalog.lexical_mode == mode else None
        return Jaccard(works, mode, progress, trigrams if trigrams is not None and len(trigrams) == whole else None)
    vectors = None
    if catalog is not None and (catalog.mode, catalog.separator) == (mode, encoder.separator):
        of = catalog.manifest
        vectors = catalog.vectors if (of.model, of.precision) == (encoder.name, encoder.precision) else None
    held = vectors if vectors is not None and len(vectors) == whole else None
    return Sbert(works, cast(Mode, mode), encoder, progress, held)


def _measure(approach: Approach, queries: Sequence[Query], groups: Groups, progress: Progress, what: str) -> Measured:
    references = [query.reference for query in queries]
    scores: list[float] = []
    right: list[float] = []
    for start in progress(range(0, len(queries), nearest.BATCH), what):
        part = queries[start : start + nearest.BATCH]
        answers = approach.answer([query.reference for query in part])
        for query, (ids, score) in zip(part, answers, strict=True):
            same = set(groups.same(query.truth))
            scores.append(score)
            right.append(sum(id_ in same for id_ in ids) / len(ids) if ids else 0.0)
    has_text = np.array([bool(approach.text(reference)) for reference in references], dtype=bool)
    filled = [reference for reference, has in zip(references, has_text, strict=True) if has]
    times = nearest.seconds(partial(approach.answer, afresh=True), filled, progress, what)
    return Measured(np.array(scores), np.array(right), has_text, times)


def _both(first: Measured, fallback: Measured) -> Measured:
    """Return the hybrid at the paper's threshold. Its time is SBERT's plus the trigrams' for the share that falls back."""
    kept = first.score >= published.THRESHOLD
    later = 1 - float(kept.mean())
    fallen = {"threshold": published.THRESHOLD, "fallback": round(later, _DECIMALS)}
    times: dict[str, Any] = {"timed": first.times["timed"], **fallen}
    for name in ("seconds", "seconds_in_batches"):
        of = first.times[name], fallback.times[name]
        times[name] = None if None in of else of[0] + later * of[1]
    right = np.where(kept, first.right, fallback.right)
    return Measured(np.where(kept, first.score, fallback.score), right, first.has_text | fallback.has_text, times)


def _row(queries: Sequence[Query], approach: str, mode: str, measured: Measured) -> dict[str, Any]:
    """Return one line of Table 2 with the paper's figures."""
    wrong, has_text = 1 - measured.right, measured.has_text
    papers = [query.reference.citing for query in queries]
    times = {
        name: float(f"{value:.3g}") if isinstance(value, float) and name.startswith("seconds") else value
        for name, value in measured.times.items()
    }
    return {
        "approach": approach, "mode": mode, "error": _mean(wrong), "queries": len(wrong),
        "error_interval": bootstrap.intervals(papers, {"error": (wrong, 1)})["error"],
        "without_fields": int((~has_text).sum()), "error_with_fields": _mean(wrong[has_text]), **times,
        "published": published.error(approach, mode), "published_seconds": published.seconds(approach, mode),
    }  # fmt: skip


def _mean(values: Floats) -> float:
    return round(float(values.mean()), _DECIMALS) if len(values) else 0.0


def _checksum(listings: Sequence[Listing], queries: Sequence[Query]) -> str:
    """Return the SHA-256 of all records that the figures depend on, in hexadecimal."""
    sha = hashlib.sha256()
    for listing in listings:
        sha.update(repr((listing.work.id, listing.group, _fields(listing.work))).encode())
    for query in queries:
        sha.update(repr((query.truth, query.reference.raw_query, _fields(query.reference))).encode())
    return sha.hexdigest()


def _fields(record: Work | Reference) -> tuple[Any, ...]:
    return record.title, record.last_names, record.venue, record.year
