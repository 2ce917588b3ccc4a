"""Applying changes of the catalog (``CatalogChanges``): in order, in steps, and with the catalog's offset after each step."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from reflink.catalog import Catalog
from reflink.entities import Work
from reflink.text import SEP
from workers.catalog.follower import CatalogFollower
from workers.catalog.topic_reader import CatalogChanges
from workers.config.settings import CatalogSettings
from workers.telemetry import metrics


class Read:
    """A reader that has read the given changes."""

    def __init__(self, *changes: CatalogChanges) -> None:
        self.waiting, self.end = deque(changes), max((each.offset for each in changes), default=0)

    def take(self) -> CatalogChanges | None:
        return self.waiting.popleft() if self.waiting else None

    def start(self) -> int:
        return self.end

    def close(self) -> None: ...


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


def test_of_two_followers_in_a_process_the_gauges_show_the_one_behind():
    def shown() -> tuple[float, float]:
        return metrics.CATALOG_OFFSET._value.get(), metrics.CATALOG_LAG._value.get()

    first, stuck = (follower_of(arrivals(0, 20)) for _ in range(2))
    first.start()
    stuck.start()
    first.apply(0.0)
    assert shown() == (0, 20), "an alert sees the lag, and that the offset does not move"
    stuck.apply(0.0)
    assert shown() == (20, 0)
    stuck.reader.end = 50
    first.apply(0.0)
    assert shown() == (20, 30)
    stuck.close()
    first.apply(0.0)
    assert shown() == (20, 0)
    first.close()


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


class Counting:
    """An encoder of one dimension for each length of a text; it counts the texts."""

    name, precision, dim, separator = "counting@1", "fp32", 8, SEP

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        return np.eye(8, dtype=np.float32)[[len(text) % 8 for text in texts]]


def encoding_follower(*changes: CatalogChanges) -> tuple[CatalogFollower, Counting]:
    encoder = Counting()
    follower = CatalogFollower(CatalogSettings(), Catalog.empty(dim=8, lexical_mode=None), encoder)
    reader: Any = Read(*changes)
    follower.reader = reader
    return follower, encoder


def titled(*titles: tuple[str, str]) -> CatalogChanges:
    return CatalogChanges([(at, 0, Work(id=id_, title=title)) for at, (id_, title) in enumerate(titles)], len(titles))


def vectors_of(follower: CatalogFollower) -> set[str]:
    assert follower.catalog.vectors is not None
    return {work.id for work in follower.catalog if work.id in follower.catalog.vectors}


def test_deferred_works_have_a_vector_after_encode():
    follower, encoder = encoding_follower(titled(("a", "Soil"), ("b", "Maize")))
    follower.defer_vectors()
    assert follower.apply(0.0)
    assert (len(follower.catalog), follower.catalog.offset, vectors_of(follower)) == (2, 2, set())
    assert metrics.CATALOG_LATE_VECTORS._value.get() == 2
    assert follower.encode(0.0)
    assert vectors_of(follower) == {"a", "b"}
    assert metrics.CATALOG_LATE_VECTORS._value.get() == 0
    assert not follower.encode(0.0)
    assert len(encoder.texts) == 2


def test_encode_returns_after_a_step_and_continues_later():
    follower, encoder = encoding_follower(titled(*((f"w{n}", f"Title {n}") for n in range(80))))
    follower.defer_vectors()
    assert follower.apply(1.0)
    sizes = []
    while follower.encode(0.0):
        sizes.append(len(encoder.texts))
    assert sizes == [32, 64, 80]


def test_a_deferred_work_that_changes_or_leaves_is_encoded_once_as_it_is():
    first = titled(("a", "Soil"), ("b", "Maize"), ("c", "Rice"))
    follower, encoder = encoding_follower(first)
    assert follower.apply(0.0)  # before the start all works are encoded
    assert vectors_of(follower) == {"a", "b", "c"}
    follower.defer_vectors()
    later = [(3, 0, Work(id="a", title="Soil fungi")), (4, 0, Work(id="a", title="Soil algae")), (5, 0, "b")]
    more = [(6, 0, Work(id="d", title="Oats")), (7, 0, "d"), (8, 0, Work(id="c", title="Rice", status="retracted"))]
    reader: Any = Read(CatalogChanges([*later, *more], 9))
    follower.reader = reader
    assert follower.apply(0.0)
    assert vectors_of(follower) == {"c"}, "a vector of an old text finds nothing, and an unchanged text keeps its vector"
    before = len(encoder.texts)
    assert follower.encode(0.0)
    assert vectors_of(follower) == {"a", "c"}
    assert [text.split(SEP)[0].strip() for text in encoder.texts[before:]] == ["soil algae"]
