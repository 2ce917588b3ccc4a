"""Applying changes of the catalog (``CatalogChanges``): in order, in steps, and with the catalog's offset after each step."""

from __future__ import annotations

from collections import deque
from typing import Any

from reflink.catalog import Catalog
from reflink.entities import Work
from workers.catalog.follower import CatalogFollower
from workers.catalog.topic_reader import CatalogChanges
from workers.config.settings import CatalogSettings


class Read:
    """A reader that has read the given changes."""

    def __init__(self, *changes: CatalogChanges) -> None:
        self.waiting, self.end = deque(changes), max((each.offset for each in changes), default=0)

    def take(self) -> CatalogChanges | None:
        return self.waiting.popleft() if self.waiting else None


def follower_of(*changes: CatalogChanges) -> CatalogFollower:
    follower = CatalogFollower(CatalogSettings(), Catalog.empty(lexical_mode=None), None)
    reader: Any = Read(*changes)
    follower.reader = reader
    return follower


def arrivals(start: int, number: int, after: int | None = None) -> CatalogChanges:
    """Return works at ``number`` offsets from ``start``, and the next offset, by default the offset after them."""
    records = [(offset, 0, Work(id=f"w{offset}")) for offset in range(start, start + number)]
    return CatalogChanges(records, start + number if after is None else after)


def test_a_step_applies_several_fetches_and_sets_the_offset_of_the_catalog():
    follower = follower_of(arrivals(0, 20), arrivals(20, 20, after=45))
    assert follower.apply(0.0)
    assert (len(follower.catalog), follower.catalog.offset, follower.lag) == (32, 32, 13)
    assert follower.apply(0.0)
    assert (len(follower.catalog), follower.catalog.offset, follower.lag) == (40, 45, 0)
    assert not follower.apply(0.0)


def test_a_replica_behind_the_topic_takes_larger_steps():
    follower = follower_of(*(arrivals(start, 50) for start in range(0, 250, 50)))
    offsets = []
    while follower.apply(0.0):
        offsets.append(follower.catalog.offset)
    assert offsets == [96, 192, 224, 250]
    follower = follower_of(*(arrivals(start, 50) for start in range(0, 250, 50)))
    assert follower.apply(1.0)
    assert follower.catalog.offset == 250


def test_changes_without_works_advance_the_offset():
    follower = follower_of(CatalogChanges([], 7), arrivals(7, 1), CatalogChanges([], 12))
    assert follower.apply(0.0)
    assert (len(follower.catalog), follower.catalog.offset) == (1, 12)
    follower = follower_of(CatalogChanges([], 7))
    assert not follower.apply(0.0)
    assert follower.catalog.offset == 7


def test_removals_and_additions_keep_their_order():
    work = Work(id="w")
    follower = follower_of(CatalogChanges([(0, 0, work), (1, 0, "w"), (3, 0, work), (4, 0, Work(id="v")), (6, 0, "v")], 9))
    assert follower.apply(0.0)
    assert [each.id for each in follower.catalog] == ["w"]
    assert follower.catalog.offset == 9
