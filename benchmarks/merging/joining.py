"""Join the records of a set as `reflink catalog import` does: blocking keys, probabilities, components, works."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from benchmarks.merging.sets import Labelled, Pair
from benchmarks.merging.unions import union
from reflink.entities import Work
from reflink.grouping import Sameness, keys
from reflink.merging import Member, Rules, settle

#: Maximum number of records with one key and of one work. A catalog needs less: here one work is cited up to 50 times.
LIMIT: Final = 60


def candidates(works: Sequence[Work]) -> list[Pair]:
    """Return the pairs of records that share a blocking key; a key of more than LIMIT records does not count."""
    bearers: dict[str, list[int]] = {}
    for at, work in enumerate(works):
        for key in keys(work):
            bearers.setdefault(key, []).append(at)
    return sorted({pair for each in bearers.values() if len(each) <= LIMIT for pair in combinations(each, 2)})


def judged(labelled: Labelled) -> dict[Pair, float]:
    """Return the probability of each pair of candidates, and of the labelled pairs if only some have labels."""
    pairs = sorted({*candidates(labelled.works), *(labelled.known or ())})
    found = Sameness().probabilities([(labelled.works[a], labelled.works[b]) for a, b in pairs])
    return dict(zip(pairs, found, strict=True))


def joined(works: Sequence[Work], probabilities: dict[Pair, float], least: float) -> list[list[int]]:
    """Return the clusters of two records or more, joined from the probability ``least`` on."""
    rules, found = Rules(min_probability=least, max_records=LIMIT), []
    edges = [pair for pair, probability in probabilities.items() if probability >= least]
    components = union(edges)
    place = {at: component for component, members in enumerate(components) for at in members}
    inside: list[list[tuple[Pair, float]]] = [[] for _ in components]
    for (a, b), probability in probabilities.items():
        if a in place and place[a] == place.get(b):
            inside[place[a]].append(((a, b), probability))
    for members, pairs in zip(components, inside, strict=True):
        position = {at: number for number, at in enumerate(members)}
        records = [Member("set", f"{at:09}", works[at]) for at in members]
        same = [(position[a], position[b], probability) for (a, b), probability in pairs]
        found += [[int(member.key) for member in merged.members] for merged in settle(records, same, rules)[0]]
    return [cluster for cluster in found if len(cluster) > 1]
