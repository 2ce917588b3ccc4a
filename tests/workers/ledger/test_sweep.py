"""The sweep: everything judged before it began is judged again, slowly, once, and not while the catalog rests."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from schemas import LinkEvent
from tests.workers.ledger.ledgered import CITING, Ledger, asked, manifest
from tests.workers.ledger.test_change_propagation import outcome, reference, work
from workers.ledger.recovery import Rows, missed
from workers.ledger.stores.outcome_store import PartitionStore
from workers.ledger.sweep import Sweep
from workers.ledger.view import SWEEP

HOUR = 3600


def ledger_with(folder: Path, names: list[str], **settings: float) -> Ledger:
    ledger = Ledger(folder, **{"sweep_per_s": 1.0, "sweep_every_h": 24.0, **settings})
    ledger.background_tasks()
    ledger.change(work("10.1/unrelated"))
    ledger.background_tasks()
    ledger.now += HOUR
    ledger.take(manifest(1, *names), *(outcome(reference(name), None, 1) for name in names))
    return ledger


def test_everything_judged_before_it_began_is_asked_for_once_at_its_pace(tmp_path: Path):
    names = [f"{number:02}" for number in range(25)]
    ledger = ledger_with(tmp_path, names)
    ledger.change(work("10.1/another"))
    assert not asked(ledger.background_tasks())  # the last one began an hour ago
    ledger.now += 24 * HOUR
    found: list[str] = []
    for _ in range(30):
        sent = asked(ledger.background_tasks())
        assert len(sent) <= 10
        assert {event.catalog_offset for event in sent.values()} <= {2}
        found += sent
        ledger.now += 1
    assert sorted(found) == names
    ledger.now += 24 * HOUR
    assert not asked(ledger.background_tasks())  # nothing has changed since
    ledger.stage.close()


def test_what_was_judged_since_is_passed_over(tmp_path: Path):
    ledger = ledger_with(tmp_path, ["a", "b"])
    ledger.change(work("10.1/another"))
    ledger.take(outcome(reference("a"), None, 2))
    ledger.now += 24 * HOUR
    assert list(asked(ledger.background_tasks())) == ["b"]
    ledger.stage.close()


def test_it_goes_on_where_it_was_and_only_behind_waking(tmp_path: Path):
    names = [f"{number:02}" for number in range(15)]
    first = ledger_with(tmp_path, names)
    first.change(work("10.1/another"))
    first.now += 24 * HOUR
    assert list(asked(first.background_tasks())) == names[:10]
    second = Ledger(tmp_path, sweep_per_s=1.0)
    second.now = first.now
    second.store.tables, second.stage.works = first.store.tables, first.works
    second.works = first.works
    second.take(outcome(reference("00", "10.1/late"), None, 2))
    second.change(work("10.1/late"))
    assert list(asked(second.background_task())) == ["00"]
    assert list(asked(second.background_tasks())) == names[10:]
    for ledger in (first, second):
        ledger.stage.close()


@pytest.mark.parametrize("published", [True, False])
def test_an_outcome_that_was_in_flight_during_the_sweep_causes_another_sweep(tmp_path: Path, published: bool):
    ledger = ledger_with(tmp_path, ["a", "b"] if published else [])
    ledger.change(work("10.1/another"))
    ledger.now += 24 * HOUR
    ledger.background_tasks()
    ledger.take(manifest(2, "a", "b"))
    ledger.now += 24 * HOUR
    assert not asked(ledger.background_tasks()), "the catalog has not changed"
    late = outcome(reference("a"), None, 1).model_copy(update={"paper_version": 2})
    ledger.take(late, outcome(reference("b"), None, 2).model_copy(update={"paper_version": 2}))
    assert list(asked(ledger.background_tasks())) == ["a"]
    ledger.now += 24 * HOUR
    assert not asked(ledger.background_tasks()), "the second sweep sent the request"
    ledger.stage.close()


@pytest.mark.parametrize(("offset", "requested"), [(2, []), (1, ["a"])])
def test_an_outcome_read_when_a_store_is_restored_causes_a_sweep_if_it_missed_the_last_one(
    tmp_path: Path, offset: int, requested: list[str]
):
    before = ledger_with(tmp_path, ["a"])
    before.change(work("10.1/another"))
    before.now += 24 * HOUR
    before.background_tasks()
    ((name, row),) = before.store.rows("links")
    after = Ledger(tmp_path)
    after.now = before.now + 24 * HOUR
    after.store.tables, after.works = before.store.tables, before.works
    after.stage.works = before.works
    rows: Rows = [("links", name, LinkEvent.from_json(row).model_copy(update={"catalog_offset": offset}).to_json())]
    after.store.write([*rows, *missed(rows, cast("PartitionStore", after.store), after.works)], {})
    assert list(asked(after.background_tasks())) == requested
    for ledger in (before, after):
        ledger.stage.close()


def test_at_a_rate_of_nought_there_is_none(tmp_path: Path):
    ledger = ledger_with(tmp_path, ["a"], sweep_per_s=0, sweep_every_h=0)
    ledger.change(work("10.1/another"))
    ledger.now += 100 * HOUR
    assert not asked(ledger.background_tasks())
    ledger.stage.close()


def test_it_looks_at_no_more_than_a_hundred_times_as_many_as_it_may_ask(tmp_path: Path):
    """Else a sweep that finds nothing to ask, over millions, takes all the time that is left."""
    ledger = ledger_with(tmp_path, ["a"])
    (like,) = ledger.store.tables["links"].values()
    link = LinkEvent.from_json(like).model_copy(update={"catalog_offset": 10**6})
    names = [f"{CITING}#b{number:04}" for number in range(3000)]
    ledger.store.write([("links", name, link.to_json()) for name in names], {})
    ledger.change(work("10.1/another"))
    ledger.now += 24 * HOUR

    def looked() -> int:
        state = Sweep.read(ledger.store.get("progress", SWEEP))
        return len(names) if state.done else sum(name <= state.after for name in names)

    assert list(asked(ledger.background_tasks())) == ["a"]
    begun = looked()
    assert 800 <= begun <= 1000, "ten were saved up, and one was asked for"
    for second in range(1, 6):
        ledger.now += 1
        assert not ledger.background_tasks()
        assert begun + 90 * second <= looked() <= begun + 110 * second
    ledger.now += 1000
    for _ in range(5):
        ledger.background_tasks()
        ledger.now += 10
    assert looked() == len(names)
    ledger.stage.close()


def test_the_offset_of_an_outcome_is_read_of_one_that_is_hard_to_read_too(tmp_path: Path):
    ledger = ledger_with(tmp_path, ["a", "b", "c"])
    rows = ledger.store.tables["links"]
    names = sorted(rows)
    rows[names[0]] = b"{"
    rows[names[1]] = rows[names[1]].replace(b'"arrived":', b'"a_number":' + b"9" * 400 + b',"arrived":', 1)
    ledger.change(work("10.1/another"))
    ledger.now += 24 * HOUR
    assert list(asked(ledger.background_tasks())) == ["b", "c"]
    ledger.stage.close()
