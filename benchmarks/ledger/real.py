"""Works of the shared catalog that arrive late, and the real references that wait for them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from benchmarks.ledger.recombined import Marked, without_identifiers
from reflink.entities import Reference, Work
from reflink.evaluation.records import read_works
from reflink.evaluation.worlds import Groups
from tests.data import shared_data

SEED: Final = 5


@dataclass(frozen=True)
class Arrivals:
    """The works that arrive, in order, and the references that wait for some of them."""

    works: Sequence[Work]
    marked: Sequence[Marked]


@cache
def works_alone() -> list[Work]:
    """Return the works of the shared catalog that have no second record."""
    listings = list(read_works(shared_data() / "works.jsonl.gz"))
    groups, works = Groups.read(listings), {listing.work.id: listing.work for listing in listings}
    bearers = Counter(key for work in works.values() for key in work.ids.keys())  # noqa: SIM118
    return [
        work
        for work in works.values()
        if work.title and len(groups.same(work.id)) == 1 and all(bearers[key] == 1 for key in work.ids.keys())  # noqa: SIM118
    ]


def choose_arrivals(references: Sequence[Reference], count: int, share: float) -> Arrivals:
    """Choose ``count`` real works that arrive late; a waiting real reference cites a ``share`` of them.

    A waiting reference cites exactly one work, and each of these works is cited by at most one of them. Every second reference
    names its work by an identifier; the others have their identifiers removed. No arriving work has a second record. Raises
    SystemExit.
    """
    alone = works_alone()
    by_key = {key: work for work in alone for key in work.ids.keys()}  # noqa: SIM118
    order = random.Random(SEED)
    citing: dict[str, tuple[Work, Reference]] = {}
    for reference in order.sample(references, len(references)):
        cited = {work.id: work for key in reference.ids.keys() if (work := by_key.get(key))}  # noqa: SIM118
        if len(cited) == 1 and (reference.title or (reference.inferred and reference.inferred.title)):
            for id_, work in cited.items():
                citing.setdefault(id_, (work, reference))
    wanted = round(count * share)
    if wanted > len(citing) or count > len(alone):
        raise SystemExit(f"{count} works are to arrive, {wanted} of them cited: there are {len(alone)} and {len(citing)}")
    marked = [Marked(reference, work, True) for work, reference in list(citing.values())[:wanted]]
    marked[1::2] = map(without_identifiers, marked[1::2])
    chosen = {each.work.id: each.work for each in marked}
    for work in order.sample(alone, len(alone)):
        if len(chosen) >= count:
            break
        chosen.setdefault(work.id, work)
    return Arrivals(order.sample(list(chosen.values()), len(chosen)), marked)
