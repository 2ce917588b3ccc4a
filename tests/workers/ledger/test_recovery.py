"""The positions of propagation and sweep when a store is opened, and the outcomes that are due for re-evaluation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from schemas import LinkEvent
from tests.workers.ledger.ledgered import Ledger, Memory, manifest, outcome, reference, work
from tests.workers.ledger.worktables import MemoryWorkTable
from workers.ledger import recovery
from workers.ledger.recovery import missed, prepare
from workers.ledger.sweep import Sweep
from workers.ledger.view import PROPAGATION, SWEEP, Cursor

STARTED = Sweep(aim=1, began=5, after="x", done=False)


def works(changes: int) -> MemoryWorkTable:
    table = MemoryWorkTable()
    table.apply([(offset, 5, work(f"10.1/{offset}")) for offset in range(changes)], changes)
    return table


def store_at(offset: int, table: MemoryWorkTable) -> Any:
    store = cast("Any", Memory())
    prepare(store, table)
    store.write([("progress", PROPAGATION, Cursor(offset).written()), ("progress", SWEEP, STARTED.written())], {})
    return store


def test_a_new_store_begins_at_the_works_present():
    store = cast("Any", Memory())
    prepare(store, works(3))
    assert Cursor.read(store.get("progress", PROPAGATION)) == Cursor(3)


def test_propagation_and_sweep_continue_over_the_same_works():
    table = works(3)
    store = store_at(2, table)
    for _ in range(3):
        prepare(store, table)
    assert Cursor.read(store.get("progress", PROPAGATION)) == Cursor(2)
    assert Sweep.read(store.get("progress", SWEEP)) == STARTED


def test_a_rebuilt_table_of_works_begins_one_sweep():
    store, again = store_at(2, works(3)), works(3)
    prepare(store, again)
    assert Cursor.read(store.get("progress", PROPAGATION)) == Cursor(2)
    assert Sweep.read(store.get("progress", SWEEP)) == Sweep()
    store.write([("progress", SWEEP, STARTED.written())], {})
    prepare(store, again)
    assert Sweep.read(store.get("progress", SWEEP)) == STARTED


def test_a_store_ahead_of_the_works_is_rebuilt():
    store = store_at(9, works(9))
    store.write([("links", "c#1", b"{}")], {"links": 4})
    prepare(store, works(3))
    assert not list(store.rows("links"))
    assert store.next_offset("links") == 0
    assert Cursor.read(store.get("progress", PROPAGATION)) == Cursor(3)


def rows_of(ledger: Ledger, offset: int) -> list[tuple[Any, str, bytes | None]]:
    ledger.take(manifest(1, "a", "b"), outcome(reference("a", "10.1/1"), None, offset), outcome(reference("b"), None, offset))
    return [("links", key, value) for key, value in sorted(ledger.store.tables["links"].items())]


def test_an_outcome_that_missed_a_propagated_change_is_due(ledger: Ledger):
    table = works(3)
    store = cast("Any", Memory())
    prepare(store, table)
    assert [key.split("#")[1] for _, key, _ in missed(rows_of(ledger, 1), store, table)] == ["a"]
    assert not list(missed(rows_of(ledger, 2), store, table))
    behind = store_at(1, table)  # propagation has not reached the change
    assert not list(missed(rows_of(ledger, 1), behind, table))


def test_outcomes_of_another_catalog_get_offset_zero(ledger: Ledger):
    table = works(3)
    store = cast("Any", Memory())
    prepare(store, table)
    records = [
        SimpleNamespace(key=key.encode(), value=value, offset=number)
        for number, (_, key, value) in enumerate(rows_of(ledger, 1000))
    ]
    recovery._write("links", [SimpleNamespace(key=b"\xff", value=b"{}", offset=0), *records], store, table)
    read = {key.split("#")[1]: LinkEvent.from_json(value).catalog_offset for key, value in store.rows("links")}
    assert read == {"a": 0, "b": 0}
    assert [key.split("#")[1] for key, _ in store.rows("due")] == ["a"]
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
