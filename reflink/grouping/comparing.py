"""Compare two records of works by the evidence of the verdict, which compares a reference with a work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reflink.entities import Reference, Work
from reflink.verdict.batch import compare_all
from reflink.verdict.evidence import Evidence, Floats


def as_reference(work: Work) -> Reference:
    """Return the work's fields as a reference, without identifiers and without text."""
    return Reference.made(
        {
            "id": work.id, "citing": "", "position": 1, "title": work.title, "last_names": work.authors, "venue": work.venue,
            "year": work.year, "volume": work.volume, "issue": work.issue, "first_page": work.fpage, "last_page": work.lpage,
        }
    )  # fmt: skip


def compared(pairs: Sequence[tuple[Work, Work]]) -> Floats:
    """Return the evidence, float64 [n, columns], of each pair: its first work as the reference, without identifiers."""
    if not pairs:
        return compare_all([], [], np.zeros((0, 2), np.int64))
    places: dict[int, int] = {}
    works: list[Work] = []
    for work in (work for pair in pairs for work in pair):
        if id(work) not in places:
            places[id(work)] = len(works)
            works.append(work)
    rows = np.array([(places[id(a)], places[id(b)]) for a, b in pairs], np.int64)
    return compare_all([as_reference(work) for work in works], works, rows)


def evidence_of(a: Work, b: Work) -> Evidence:
    """Return the evidence of one pair, with ``a`` as the reference."""
    return Evidence(*compared([(a, b)])[0].tolist())
