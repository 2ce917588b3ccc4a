"""The journal condemns a record that was alone in flight at every death of the process, and no other record."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.simulated import assign
from workers.errors import DeadLetterFlood, Fenced
from workers.records import Received
from workers.runtime.batching import BatchPolicy
from workers.runtime.crash_journal import Journal, identity, ranges_of
from workers.runtime.flow import Flow

DEATHS = 3


def record(offset: int, *, partition: int = 0, timestamp: int = 1_000) -> Received:
    return Received("references", partition, offset, b"k", b"v", (), timestamp + offset)


def records(first: int, last: int, **more: Any) -> list[Received]:
    return [record(offset, **more) for offset in range(first, last + 1)]


def journal(folder: Path, deaths: int = DEATHS) -> Journal:
    return Journal(folder, "reflink.killed-a", deaths=deaths)


class Died(BaseException):
    """The end of the process: no line of the worker runs after it."""


def die_with(folder: Path, hand: list[Received]) -> None:
    """Run a process that ends with these records in flight."""
    dead = journal(folder)
    with pytest.raises(Died), dead, dead.in_flight(hand):
        raise Died


def test_the_journal_of_a_drained_worker_has_no_suspects(tmp_path: Path):
    with journal(tmp_path) as first:
        with first.in_flight(records(0, 9)):
            pass
        first.passed(records(0, 9))
    with journal(tmp_path) as second:
        assert not any(map(second.suspect, records(0, 20)))


def test_a_crash_after_a_batch_was_handled_makes_no_record_suspect(tmp_path: Path):
    dead = journal(tmp_path)
    dead.__enter__()
    with dead.in_flight(records(0, 9)):
        pass
    with journal(tmp_path) as again:
        assert not again.suspects
    dead.__exit__(None, None, None)


def test_exactly_the_records_in_flight_are_suspect(tmp_path: Path, our_warnings: Callable[[], list[Any]]):
    die_with(tmp_path, [*records(5, 9), *records(40, 41, partition=2)])
    with journal(tmp_path) as again:
        found = {each.offset for each in records(0, 60) if again.suspect(each)}
        assert found == set(range(5, 10))
        assert {each.offset for each in records(0, 60, partition=2) if again.suspect(each)} == {40, 41}
        assert not any(again.suspect(each) for each in records(0, 60, partition=1))
        assert not any(again.condemned(each) for each in records(0, 60))
    assert our_warnings()[0].records == ["references[0]@5-9", "references[2]@40-41"]


def test_a_record_is_condemned_after_the_limit_of_deaths_alone(tmp_path: Path):
    die_with(tmp_path, records(0, 511))
    for death in range(DEATHS):
        with journal(tmp_path) as again:
            assert not again.condemned(record(77)), f"after {death} deaths alone"
        die_with(tmp_path, [record(77)])
    with journal(tmp_path) as again:
        reason = str(again.condemned(record(77)))
        assert "was alone in flight when the worker died 3 times" in reason
        assert again.suspect(record(77))
        assert not again.condemned(record(76))
        assert not again.condemned(record(77, timestamp=9_999)), "of a topic that was created anew"


def test_a_record_that_got_through_is_forgotten_with_its_deaths(tmp_path: Path):
    for _ in range(DEATHS - 1):
        die_with(tmp_path, [record(7)])
    with journal(tmp_path) as again:
        with again.in_flight([record(7)]):
            pass
        again.passed([record(7)])
        assert not again.suspect(record(7))
    for _ in range(DEATHS - 1):
        die_with(tmp_path, [record(7)])
    with journal(tmp_path) as again:
        assert not again.condemned(record(7))


def test_suspects_are_forgotten_one_by_one_and_those_that_were_passed_over_too(tmp_path: Path):
    die_with(tmp_path, records(10, 19))
    with journal(tmp_path) as again:
        again.passed([record(10)])
        assert [each.offset for each in records(0, 30) if again.suspect(each)] == list(range(11, 20))
        again.passed([record(15)])  # the group's offset was beyond 11 to 14: another slot handled them
        assert [each.offset for each in records(0, 30) if again.suspect(each)] == list(range(16, 20))
        again.passed([record(3, partition=1)])
        assert again.suspect(record(16))
        again.passed([record(25)])
        assert not again.suspects
    with journal(tmp_path) as later:
        assert not later.suspects


def test_a_condemned_record_stays_so_until_a_later_process_reads_on_beyond_it(tmp_path: Path):
    for _ in range(DEATHS):
        die_with(tmp_path, [record(7)])
    with journal(tmp_path) as first:
        assert first.condemned(record(7))
        first.passed(records(8, 20))  # the transaction with the dead letter is then aborted: 7 is read again
        assert first.suspect(record(7))
        assert first.condemned(record(7))
    with journal(tmp_path) as second:
        assert second.condemned(record(7))
    with journal(tmp_path) as third:
        third.passed(records(8, 20))
        assert not third.suspects


@pytest.mark.parametrize("error", [DeadLetterFlood("bad deploy"), Fenced("taken over")])
def test_an_intended_end_of_the_worker_makes_no_suspects(tmp_path: Path, error: Exception):
    ends = journal(tmp_path)
    with pytest.raises(type(error)), ends, ends.in_flight(records(0, 9)):
        raise error
    with journal(tmp_path) as again:
        assert not again.suspects


def test_an_intended_end_with_records_in_flight_makes_no_suspects(tmp_path: Path):
    drained = journal(tmp_path)
    with drained:
        hand = drained.in_flight(records(0, 9))
        hand.__enter__()
    hand.__exit__(None, None, None)  # the thread continues for a moment; its file is closed
    with journal(tmp_path) as again:
        assert not again.suspects


def test_a_memory_error_makes_the_records_in_flight_suspect(tmp_path: Path):
    ends = journal(tmp_path)
    with pytest.raises(MemoryError), ends, ends.in_flight(records(0, 9)):
        raise MemoryError
    with journal(tmp_path) as again:
        assert again.suspect(record(9))


def test_a_death_while_starting_counts_no_death_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def dies(*_: object) -> None:
        raise Died

    die_with(tmp_path, [record(7)])
    for _ in range(DEATHS):  # the suspects are saved, the records in flight are not cleared yet
        with monkeypatch.context() as patched:
            patched.setattr(Journal, "_write_locked", dies)
            with pytest.raises(Died):
                journal(tmp_path).__enter__()
    with journal(tmp_path) as again:
        assert again.suspects.deaths == {identity(record(7)): 1}


@given(cut=st.integers(0, 400), junk=st.binary(max_size=40), which=st.sampled_from(["hand", "suspects"]))
def test_a_torn_file_counts_as_empty_or_is_whole(tmp_path_factory: pytest.TempPathFactory, cut: int, junk: bytes, which: str):
    folder = tmp_path_factory.mktemp("torn")
    die_with(folder, records(0, 9))
    die_with(folder, [record(3)])
    path = folder / f"reflink.killed-a.{which}"
    whole = path.read_bytes()
    path.write_bytes(whole[:cut] + junk)
    with journal(folder) as again:
        assert set(again.suspects.ranges) <= {("references", 0)}
        assert {each.offset for each in records(0, 100) if again.suspect(each)} <= set(range(10))
        assert sum(again.suspects.deaths.values()) <= 1
        with again.in_flight(records(20, 29)):
            pass


def test_an_unreadable_journal_is_logged(tmp_path: Path, our_warnings: Callable[[], list[Any]]):
    (tmp_path / "reflink.killed-a.hand").write_bytes(b"\xff\x00")
    (tmp_path / "reflink.killed-a.suspects").write_bytes(b'00000000 {"ranges": 7}\n')
    with journal(tmp_path) as again:
        assert not again.suspects
    assert [each.message for each in our_warnings()] == [
        "the journal's suspects cannot be read and count as none",
        "the journal cannot be read and counts as empty",
    ]


def test_a_full_disk_stops_no_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, our_warnings: Callable[[], list[Any]]):
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with journal(tmp_path) as mine:
        monkeypatch.setattr(os, "pwrite", full)
        for _ in range(3):
            with mine.in_flight(records(0, 9)):
                pass
    (line,) = our_warnings()
    assert "No space left" in line.reason


def test_ranges_of_a_batch():
    batch = [record(4), record(9, partition=1), record(5), record(6)]
    assert ranges_of(batch) == [("references", 0, 4, 6, 1_004), ("references", 1, 9, 9, 1_009)]


# Invariant, for any order of events: a record is condemned only after DEATHS deaths in a row with it alone in flight.

actions = st.lists(st.sampled_from(["through", "death", "purpose", "abort", "restart"]), max_size=60)


@given(actions, st.sets(st.integers(0, 11), max_size=2), st.integers(1, 5))
def test_no_interleaving_condemns_a_sound_record_early_and_a_killer_is_always_found(
    tmp_path_factory: pytest.TempPathFactory, events: list[str], killers: set[int], size: int
):
    folder = tmp_path_factory.mktemp("law")
    everything = records(0, 11)
    alone: Counter[int] = Counter()  # deaths in a row with the record alone in flight
    total: Counter[int] = Counter()
    committed, dead, deaths = 0, set(), 0
    plan = iter(events)
    while committed < len(everything):
        process = journal(folder)
        try:
            with process:
                flow = Flow(BatchPolicy(size, linger_s=0), alone=process.suspect)
                assign(flow, ("references", 0))
                flow.offer(everything[committed:])
                while batch := flow.take(0):
                    first = batch.records[0]
                    what = next(plan, "through")
                    if process.condemned(first):
                        assert len(batch.records) == 1
                        assert alone[first.offset] >= DEATHS
                        assert first.offset not in dead
                        if what == "abort":
                            break
                        dead.add(first.offset)
                        committed = first.offset + 1
                        continue
                    if len(batch.records) == 1:
                        assert alone[first.offset] < DEATHS
                    hand = [each.offset for each in batch.records]
                    with process.in_flight(batch.records):
                        if killers & set(hand) or what == "death":
                            raise Died
                        if what == "purpose":
                            raise Fenced("another process")
                    process.passed(batch.records)
                    for offset in hand:
                        alone[offset] = 0
                    if what in ("abort", "restart"):  # the batch is not committed, and is read again
                        break
                    committed = hand[-1] + 1
        except Died:
            deaths += 1
            if len(hand) == 1:
                alone[hand[0]] += 1
                total[hand[0]] += 1
        except Fenced:
            pass
        assert deaths < 200
    assert killers <= dead
    assert all(total[offset] >= DEATHS for offset in dead)
