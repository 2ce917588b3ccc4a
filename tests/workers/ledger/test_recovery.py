"""Where waking and sweeping go on from when a store is opened, and what of its outcomes must be judged again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from schemas import LinkEvent
from tests.workers.ledger.ledgered import Ledger, Memory, manifest
from tests.workers.ledger.test_change_propagation import outcome, reference, work
from tests.workers.ledger.worktables import MemoryWorkTable
from workers.ledger import recovery
from workers.ledger.recovery import missed, prepare
from workers.ledger.sweep import Sweep
from workers.ledger.view import PROPAGATION, SWEEP, Cursor

UNDER_WAY = Sweep(aim=1, began=5, after="x", done=False)


def works(changes: int) -> MemoryWorkTable:
    table = MemoryWorkTable()
    table.apply([(offset, 5, work(f"10.1/{offset}")) for offset in range(changes)], changes)
    return table


def store_at(offset: int, table: MemoryWorkTable) -> Any:
    store = cast("Any", Memory())
    prepare(store, table)
    store.write([("progress", PROPAGATION, Cursor(offset).written()), ("progress", SWEEP, UNDER_WAY.written())], {})
    return store


def test_a_new_store_begins_at_the_works_present():
    store = cast("Any", Memory())
    prepare(store, works(3))
    assert Cursor.read(store.get("progress", PROPAGATION)) == Cursor(3)


def test_over_the_same_works_all_goes_on_where_it_was_however_often_it_is_opened():
    table = works(3)
    store = store_at(2, table)
    for _ in range(3):
        prepare(store, table)
    assert Cursor.read(store.get("progress", PROPAGATION)) == Cursor(2)
    assert Sweep.read(store.get("progress", SWEEP)) == UNDER_WAY


def test_over_works_that_were_read_anew_a_sweep_begins_once():
    store, again = store_at(2, works(3)), works(3)
    prepare(store, again)
    assert Cursor.read(store.get("progress", PROPAGATION)) == Cursor(2)
    assert Sweep.read(store.get("progress", SWEEP)) == Sweep()
    store.write([("progress", SWEEP, UNDER_WAY.written())], {})
    prepare(store, again)
    assert Sweep.read(store.get("progress", SWEEP)) == UNDER_WAY


def test_a_store_that_is_ahead_of_the_works_is_begun_anew():
    store = store_at(9, works(9))
    store.write([("links", "c#1", b"{}")], {"links": 4})
    prepare(store, works(3))
    assert not list(store.rows("links"))
    assert store.next_offset("links") == 0
    assert Cursor.read(store.get("progress", PROPAGATION)) == Cursor(3)


def rows_of(tmp_path: Path, offset: int) -> list[tuple[Any, str, bytes | None]]:
    ledger = Ledger(tmp_path, sweep_per_s=0)
    ledger.take(manifest(1, "a", "b"), outcome(reference("a", "10.1/1"), None, offset), outcome(reference("b"), None, offset))
    ledger.stage.close()
    return [("links", key, value) for key, value in sorted(ledger.store.tables["links"].items())]


def test_what_was_judged_before_a_change_that_was_passed_is_due(tmp_path: Path):
    table = works(3)
    store = cast("Any", Memory())
    prepare(store, table)
    assert [key.split("#")[1] for _, key, _ in missed(rows_of(tmp_path, 1), store, table)] == ["a"]
    assert not list(missed(rows_of(tmp_path, 2), store, table))
    behind = store_at(1, table)  # waking has yet to come to it
    assert not list(missed(rows_of(tmp_path, 1), behind, table))


def test_outcomes_of_another_catalog_count_as_judged_before_everything(tmp_path: Path):
    table = works(3)
    store = cast("Any", Memory())
    prepare(store, table)
    records = [
        SimpleNamespace(key=key.encode(), value=value, offset=number)
        for number, (_, key, value) in enumerate(rows_of(tmp_path, 1000))
    ]
    recovery._write("links", [SimpleNamespace(key=b"\xff", value=b"{}", offset=0), *records], store, table)
    read = {key.split("#")[1]: LinkEvent.from_json(value).catalog_offset for key, value in store.rows("links")}
    assert read == {"a": 0, "b": 0}
    assert [key.split("#")[1] for key, _ in store.rows("due")] == ["a"]


@pytest.mark.parametrize("steps", [(0.905, 0.91), (0.904, 0.9075, 0.9101)])
def test_small_steps_of_a_probability_add_up(tmp_path: Path, steps: tuple[float, ...]):
    ledger = Ledger(tmp_path, sweep_per_s=0)
    ledger.take(manifest(1, "a"))
    told = []
    for offset, probability in enumerate((0.9, *steps)):
        event = outcome(reference("a"), "doi:10.1/a", offset)
        item = event.items[0]
        judged = item.model_copy(update={"link": item.link.model_copy(update={"probability": probability})})
        told.append(len(ledger.take(event.model_copy(update={"items": (judged,)}))))
    assert told == [1, *[0] * (len(steps) - 1), 1]
    ledger.stage.close()
