"""The sweep: re-evaluates each older outcome once, slowly, and only after the catalog has changed."""

from __future__ import annotations

from typing import cast

import pytest

from schemas import LinkEvent
from tests.workers.ledger.conftest import NewLedger
from tests.workers.ledger.ledgered import CITING, Ledger, manifest, outcome, reference, requested, work
from workers.ledger.recovery import Rows, swept
from workers.ledger.stores.outcome_store import PartitionStore
from workers.ledger.sweep import Sweep
from workers.ledger.view import SWEEP

HOUR = 3600


def ledger_with(new_ledger: NewLedger, names: list[str], **settings: float) -> Ledger:
    ledger = new_ledger(**{"sweep_per_s": 1.0, "sweep_every_h": 24.0, **settings})
    ledger.background_tasks()
    ledger.change(work("10.1/unrelated"))
    ledger.background_tasks()
    ledger.now += HOUR
    ledger.take(manifest(1, *names), *(outcome(reference(name), None, 1) for name in names))
    return ledger


def test_each_outcome_from_before_the_sweep_is_requested_once_at_its_rate(new_ledger: NewLedger):
    names = [f"{number:02}" for number in range(25)]
    ledger = ledger_with(new_ledger, names)
    ledger.change(work("10.1/another"))
    assert not requested(ledger.background_tasks())  # the last sweep began an hour ago
    ledger.now += 24 * HOUR
    found: list[str] = []
    for _ in range(30):
        sent = requested(ledger.background_tasks())
        assert len(sent) <= 10
        assert {event.catalog_offset for event in sent.values()} <= {2}
        found += sent
        ledger.now += 1
    assert sorted(found) == names
    ledger.now += 24 * HOUR
    assert not requested(ledger.background_tasks())  # nothing has changed since


def test_an_outcome_from_after_the_beginning_is_skipped(new_ledger: NewLedger):
    ledger = ledger_with(new_ledger, ["a", "b"])
    ledger.change(work("10.1/another"))
    ledger.take(outcome(reference("a"), None, 2))
    ledger.now += 24 * HOUR
    assert list(requested(ledger.background_tasks())) == ["b"]


def test_the_sweep_continues_in_another_process_and_only_behind_propagation(new_ledger: NewLedger):
    names = [f"{number:02}" for number in range(15)]
    first = ledger_with(new_ledger, names)
    first.change(work("10.1/another"))
    first.now += 24 * HOUR
    assert list(requested(first.background_tasks())) == names[:10]
    second = new_ledger(sweep_per_s=1.0)
    second.now = first.now
    second.store.tables, second.stage.catalog = first.store.tables, first.catalog
    second.catalog = first.catalog
    second.take(outcome(reference("00", "10.1/late"), None, 2))
    second.change(work("10.1/late"))
    assert list(requested(second.background_task())) == ["00"]
    assert list(requested(second.background_tasks())) == names[10:]


@pytest.mark.parametrize("published", [True, False])
def test_an_outcome_that_was_in_flight_during_the_sweep_causes_another_sweep(new_ledger: NewLedger, published: bool):
    ledger = ledger_with(new_ledger, ["a", "b"] if published else [])
    ledger.change(work("10.1/another"))
    ledger.now += 24 * HOUR
    ledger.background_tasks()
    ledger.take(manifest(2, "a", "b"))
    ledger.now += 24 * HOUR
    assert not requested(ledger.background_tasks()), "the catalog has not changed"
    late = outcome(reference("a"), None, 1).model_copy(update={"paper_version": 2})
    ledger.take(late, outcome(reference("b"), None, 2).model_copy(update={"paper_version": 2}))
    assert list(requested(ledger.background_tasks())) == ["a"]
    ledger.now += 24 * HOUR
    assert not requested(ledger.background_tasks()), "the second sweep sent the request"


@pytest.mark.parametrize(("offset", "expected"), [(2, []), (1, ["a"])])
def test_an_outcome_read_when_a_store_is_restored_causes_a_sweep_if_it_missed_the_last_one(
    new_ledger: NewLedger, offset: int, expected: list[str]
):
    before = ledger_with(new_ledger, ["a"])
    before.change(work("10.1/another"))
    before.now += 24 * HOUR
    before.background_tasks()
    ((name, row),) = before.store.rows("links")
    after = new_ledger(sweep_per_s=1.0)
    after.now = before.now + 24 * HOUR
    after.store.tables, after.catalog = before.store.tables, before.catalog
    after.stage.catalog = before.catalog
    rows: Rows = [("links", name, LinkEvent.from_json(row).model_copy(update={"catalog_offset": offset}).to_json())]
    after.store.write([*rows, *swept(rows, cast("PartitionStore", after.store))], {})
    assert list(requested(after.background_tasks())) == expected


def test_a_rate_of_zero_disables_the_sweep(new_ledger: NewLedger):
    ledger = ledger_with(new_ledger, ["a"], sweep_per_s=0, sweep_every_h=0)
    ledger.change(work("10.1/another"))
    ledger.now += 100 * HOUR
    assert not requested(ledger.background_tasks())


def test_the_sweep_reads_at_most_a_hundred_references_per_permitted_request(new_ledger: NewLedger):
    """Otherwise a sweep that finds nothing to request among millions would occupy a core."""
    ledger = ledger_with(new_ledger, ["a"])
    (like,) = ledger.store.tables["links"].values()
    link = LinkEvent.from_json(like).model_copy(update={"catalog_offset": 10**6})
    names = [f"{CITING}#b{number:04}" for number in range(3000)]
    ledger.store.write([("links", name, link.to_json()) for name in names], {})
    ledger.change(work("10.1/another"))
    ledger.now += 24 * HOUR

    def read_so_far() -> int:
        state = Sweep.read(ledger.store.get("progress", SWEEP))
        return len(names) if state.done else sum(name <= state.after for name in names)

    assert list(requested(ledger.background_tasks())) == ["a"]
    begun = read_so_far()
    assert 800 <= begun <= 1000, "ten permits were saved, and one was spent on a request"
    for second in range(1, 6):
        ledger.now += 1
        assert not ledger.background_tasks()
        assert begun + 90 * second <= read_so_far() <= begun + 110 * second
    ledger.now += 1000
    for _ in range(5):
        ledger.background_tasks()
        ledger.now += 10
    assert read_so_far() == len(names)


def test_the_offset_of_an_unusual_outcome_is_read(new_ledger: NewLedger):
    ledger = ledger_with(new_ledger, ["a", "b", "c"])
    rows = ledger.store.tables["links"]
    names = sorted(rows)
    rows[names[0]] = b"{"
    rows[names[1]] = rows[names[1]].replace(b'"arrived":', b'"a_number":' + b"9" * 400 + b',"arrived":', 1)
    ledger.change(work("10.1/another"))
    ledger.now += 24 * HOUR
    assert list(requested(ledger.background_tasks())) == ["b", "c"]
