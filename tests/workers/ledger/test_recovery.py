"""The positions of propagation and sweep when a store is opened and rolled forward."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from schemas import LinkEvent
from schemas.links import PROPAGATION_KEY
from tests.workers.ledger.changelogs import MemoryChangeLog
from tests.workers.ledger.ledgered import Ledger, Memory, manifest, outcome, reference, requested, work
from workers.ledger import recovery
from workers.ledger.recovery import begin_propagation, prepare
from workers.ledger.sweep import Sweep
from workers.ledger.view import SWEEP, Cursor

STARTED = Sweep(aim=1, began=5, after="x", done=False)


def changes(number: int) -> MemoryChangeLog:
    log = MemoryChangeLog()
    log.apply([(offset, 5, work(f"10.1/{offset}")) for offset in range(number)], number)
    return log


def store_at(offset: int, log: MemoryChangeLog) -> Any:
    store = cast("Any", Memory())
    prepare(store, log)
    rows = [("manifests", PROPAGATION_KEY, Cursor(offset).written()), ("progress", SWEEP, STARTED.written())]
    store.write(rows, {})
    return store


def cursor_of(store: Any) -> Cursor:
    return Cursor.read(store.get("manifests", PROPAGATION_KEY))


def rows_of(ledger: Ledger, offset: int) -> list[tuple[Any, str, bytes | None]]:
    ledger.take(manifest(1, "a", "b"), outcome(reference("a", "10.1/1"), None, offset), outcome(reference("b"), None, offset))
    return [("links", key, value) for key, value in sorted(ledger.store.tables["links"].items())]


def test_a_partition_without_outcomes_begins_at_the_changes_present():
    store = cast("Any", Memory())
    prepare(store, changes(3))
    assert begin_propagation(store, changes(3)) == 3
    assert cursor_of(store) == Cursor(3)


def test_without_a_record_of_propagation_it_begins_at_the_oldest_outcome(ledger: Ledger):
    """As after an upgrade from a version that kept the position in its store only."""
    store = cast("Any", Memory())
    store.write(rows_of(ledger, 2), {})
    assert begin_propagation(store, changes(9)) == 2
    assert cursor_of(store) == Cursor(2)


def test_propagation_and_sweep_continue_with_the_same_log():
    log = changes(3)
    store = store_at(2, log)
    for _ in range(3):
        prepare(store, log)
        assert begin_propagation(store, log) == 2
    assert cursor_of(store) == Cursor(2)
    assert Sweep.read(store.get("progress", SWEEP)) == STARTED


def test_a_rebuilt_log_begins_one_sweep():
    store, again = store_at(2, changes(3)), changes(3)
    prepare(store, again)
    assert cursor_of(store) == Cursor(2)
    assert Sweep.read(store.get("progress", SWEEP)) == Sweep()
    store.write([("progress", SWEEP, STARTED.written())], {})
    prepare(store, again)
    assert Sweep.read(store.get("progress", SWEEP)) == STARTED


def test_a_store_ahead_of_the_catalog_topic_is_rebuilt_and_compared_with_all_of_it():
    store = store_at(9, changes(9))
    store.write([("links", "c#1", b"{}")], {"links": 4})
    recreated = changes(3)
    prepare(store, recreated)
    assert not list(store.rows("links"))
    assert store.next_offset("links") == 0
    store.write([("manifests", PROPAGATION_KEY, Cursor(9).written())], {})  # the record in the topic
    assert begin_propagation(store, recreated) == 0
    assert cursor_of(store) == Cursor(0)


def test_a_log_that_does_not_reach_back_to_a_position_is_read_again(ledger: Ledger):
    ledger.take(manifest(1, "a"), outcome(reference("a", "10.1/late"), None, 0))
    ledger.change(work("10.1/late"), *(work(f"10.1/{number}") for number in range(5)))
    ledger.catalog.trim(4)
    ledger.stage.continue_propagation({0: ledger.store})  # type: ignore[dict-item]
    assert (ledger.catalog.start, ledger.catalog.offset, ledger.catalog.end) == (0, 0, 6)
    ledger.change(work("10.1/late"))
    assert list(requested(ledger.background_tasks())) == ["a"]


def test_a_lost_store_continues_where_propagation_stood(ledger: Ledger):
    """Nothing is requested twice, and nothing is missed."""
    ledger.take(manifest(1, "a", "b"), outcome(reference("a", "10.1/1"), None, 0), outcome(reference("b", "10.1/2"), None, 0))
    ledger.change(work("10.1/1"))
    assert list(requested(ledger.background_tasks())) == ["a"]
    ledger.change(work("10.1/2"))
    ledger.rebuild()
    ledger.stage._requested.clear()
    assert begin_propagation(cast("Any", ledger.store), ledger.catalog) == 1
    assert list(requested(ledger.background_tasks())) == ["b"]


def test_outcomes_of_another_catalog_get_offset_zero(ledger: Ledger):
    log = changes(3)
    store = cast("Any", Memory())
    prepare(store, log)
    records = [
        SimpleNamespace(key=key.encode(), value=value, offset=number)
        for number, (_, key, value) in enumerate(rows_of(ledger, 1000))
    ]
    recovery._write("links", [SimpleNamespace(key=b"\xff", value=b"{}", offset=0), *records], store, log)
    read = {key.split("#")[1]: LinkEvent.from_json(value).catalog_offset for key, value in store.rows("links")}
    assert read == {"a": 0, "b": 0}
    assert store.next_offset("links") == 2


@pytest.mark.parametrize("steps", [(0.905, 0.91), (0.904, 0.9075, 0.9101)])
def test_small_steps_of_a_probability_add_up(ledger: Ledger, steps: tuple[float, ...]):
    ledger.take(manifest(1, "a"))
    published_links = []
    for offset, probability in enumerate((0.9, *steps)):
        event = outcome(reference("a"), "doi:10.1/a", offset)
        item = event.items[0]
        changed = item.model_copy(update={"link": item.link.model_copy(update={"probability": probability})})
        published_links.append(len(ledger.take(event.model_copy(update={"items": (changed,)}))))
    assert published_links == [1, *[0] * (len(steps) - 1), 1]
