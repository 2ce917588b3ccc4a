"""Poison is isolated in any batch, dead letters contain the necessary information, and a flood ends the worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.errors import BadRecord, TooLarge
from tests.workers.echo import Echo
from workers.dead_letter import dead_letter
from workers.errors import BrokerRefused, DeadLetterFlood, WorkerError
from workers.kafka.topics import TOPICS
from workers.records import Message, Received
from workers.runtime.flood_guard import FloodGuard
from workers.runtime.isolation import isolate
from workers.stage import Output, Stage


def record(
    offset: int, value: bytes | None = b"v", *, headers: tuple[tuple[str, bytes], ...] = (), key: bytes | None = b"k"
) -> Received:
    return Received("references", 3, offset, key, value, headers, 1_700_000_000_000)


class Sums:
    """A view with the sum of all records handled before."""

    def __init__(self, total: int = 0) -> None:
        self.total = total

    def after(self, output: Output) -> Sums:
        return Sums(int(output.writes.get("total") or self.total))


class Adder(Stage[int, Sums]):
    """A stage that publishes running sums, which show whether each record was handled after exactly the earlier records."""

    name = "adder"
    inputs = ("references",)

    def __init__(self, undecodable: set[int], poisonous: set[int], oversize: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        self.undecodable, self.poisonous, self.oversize = undecodable, poisonous, oversize
        self.error: type[BaseException] = RuntimeError
        self.viewed: list[int] = []

    def decode(self, record: Received) -> int:
        if record.offset in self.undecodable:
            raise BadRecord(f"no event {record.offset}")
        return record.offset

    def view(self, batch: Sequence[int]) -> Sums:
        self.viewed = list(batch)
        return Sums()

    def handle(self, batch: Sequence[int], view: Sums) -> Output:
        output, total = Output(), view.total
        for number in batch:
            if number in self.poisonous:
                raise self.error(f"poison {number}")
            total += number
            size = TOPICS["outcomes"].max_message_bytes if number in self.oversize else 0
            output.messages.append(Message("outcomes", b"%d" % number, b"%d" % total + b" " * size))
            output.observed.decisions["seen"] += 1
        output.writes["total"] = b"%d" % total
        return output


numbers = st.sets(st.integers(1, 60))


@given(st.integers(0, 60), numbers, numbers, numbers)
def test_isolation_finds_exactly_the_poison_and_handles_the_rest_as_without_it(count, undecodable, poisonous, oversize):
    stage = Adder(undecodable, poisonous, oversize)
    isolated = isolate(stage, [record(offset) for offset in range(1, count + 1)])
    bad = (undecodable | poisonous | oversize) & set(range(1, count + 1))
    sound = [number for number in range(1, count + 1) if number not in bad]
    assert [each.offset for each, _ in isolated.poison] == sorted(bad)
    assert [int(message.key) for message in isolated.output.messages] == sound
    totals = [sum(sound[: place + 1]) for place in range(len(sound))]
    assert [int(message.value) for message in isolated.output.messages] == totals
    assert isolated.output.writes == ({"total": b"%d" % sum(sound)} if sound else {})
    assert isolated.output.observed.decisions["seen"] == len(sound)
    for each, error in isolated.poison:
        if each.offset in undecodable:
            assert isinstance(error, BadRecord)
        elif each.offset in poisonous:
            assert (type(error), str(error)) == (RuntimeError, f"poison {each.offset}")
        else:
            assert isinstance(error, TooLarge)


def test_the_view_is_requested_once_for_the_decoded_records():
    stage = Adder({2}, {4})
    isolate(stage, [record(offset) for offset in range(1, 6)])
    assert stage.viewed == [1, 3, 4, 5]


def test_a_message_at_the_limit_passes_and_one_above_it_is_poison():
    class Sized(Adder):
        def handle(self, batch: Sequence[int], view: Sums) -> Output:
            return Output([Message("outcomes", b"", b" " * number) for number in batch])

    limit = TOPICS["outcomes"].max_message_bytes - Message("outcomes", b"", b"").size()
    isolated = isolate(Sized(set(), set()), [record(limit), record(limit + 1)])
    assert len(isolated.output.messages) == 1
    (poison,) = isolated.poison
    assert poison[0].offset == limit + 1
    assert "outcomes" in str(poison[1])
    assert str(TOPICS["outcomes"].max_message_bytes) in str(poison[1])


@pytest.mark.parametrize("error", [MemoryError, WorkerError, BrokerRefused, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["decode", "handle"])
def test_an_error_of_the_worker_is_not_attributed_to_a_record(error: type[BaseException], where: str):
    stage = Adder(set(), {2})
    stage.error = error
    if where == "decode":

        def decode(record: Received) -> int:
            raise error("not the record")

        stage.decode = decode  # type: ignore[method-assign]
    with pytest.raises(error):
        isolate(stage, [record(offset) for offset in range(1, 4)])


def test_an_event_whose_view_is_impossible_is_isolated():
    class Strict(Echo):
        def view(self, batch):
            if any(event.value == b"never" for event in batch):
                raise BadRecord("there is no such version")
            return super().view(batch)

    records = [record(offset, b"never" if offset in (3, 8) else b"%d" % offset) for offset in range(1, 12)]
    isolated = isolate(Strict(), records)
    assert [(each.offset, type(error)) for each, error in isolated.poison] == [(3, BadRecord), (8, BadRecord)]
    assert [message.value for message in isolated.output.messages] == [b"%d" % n for n in range(1, 12) if n not in (3, 8)]


# Dead letters


def headers_of(message: Message) -> dict[str, str]:
    names = [name for name, _ in message.headers]
    assert len(names) == len(set(names)), "a header is there twice"
    return {name: value.decode() for name, value in message.headers}


def test_a_dead_letter_contains_the_record_as_received_and_its_error():
    received = record(17, b"\xff raw", headers=(("reflink-version", b"5"), ("trace", b"\x00\x01")))
    letter = dead_letter(received, BadRecord("no title"), "linker")
    assert (letter.topic, letter.key, letter.value, letter.timestamp) == ("dead-letters", b"k", b"\xff raw", None)
    assert headers_of(letter) == {
        "reflink-version": "5",
        "trace": "\x00\x01",
        "reflink-exception": "BadRecord",
        "reflink-message": "no title",
        "reflink-topic": "references",
        "reflink-partition": "3",
        "reflink-offset": "17",
        "reflink-timestamp": str(received.timestamp),
        "reflink-worker": "linker",
        "reflink-attempt": "1",
    }


@given(st.integers(1, 5))
def test_attempts_count_up_and_no_header_is_doubled(times: int):
    letter = dead_letter(record(1, headers=(("own", b"1"),)), BadRecord("first"), "parser")
    for attempt in range(times):
        again = record(attempt, letter.value, headers=letter.headers)
        letter = dead_letter(again, RuntimeError(f"again {attempt}"), "linker")
    found = headers_of(letter)
    assert found["reflink-attempt"] == str(times + 1)
    assert found["reflink-message"] == f"again {times - 1}"
    assert found["reflink-worker"] == "linker"
    assert found["own"] == "1"


@pytest.mark.parametrize("attempt", [b"", b"abc", b"-1", b"1.5", b"\xff", "²".encode(), b"9" * 5000])
def test_an_invalid_attempt_header_counts_as_absent(attempt: bytes):
    letter = dead_letter(record(1, headers=(("reflink-attempt", attempt),)), BadRecord("x"), "parser")
    assert headers_of(letter)["reflink-attempt"] == "1"


@pytest.mark.parametrize(
    ("error", "shown"), [(ValueError(), "ValueError"), (ValueError("x" * 5000), "x" * 2000), (ValueError("a\ud800b"), "a?b")]
)
def test_messages_are_never_empty_endless_or_unprintable(error: Exception, shown: str):
    assert headers_of(dead_letter(record(1), error, "parser"))["reflink-message"] == shown


def test_an_absent_key_or_value_stays_absent_unless_both_are():
    assert dead_letter(record(1, None), BadRecord("x"), "w").value is None
    assert dead_letter(record(1, b"v", key=None), BadRecord("x"), "w").key is None
    neither = dead_letter(record(1, None, key=None), BadRecord("x"), "w")
    assert (neither.key, neither.value) == (b"", None)


def test_the_largest_paper_fits_into_the_dead_letters():
    largest = record(1, b"x" * TOPICS["papers"].max_message_bytes)
    assert dead_letter(largest, BadRecord("y" * 9000), "parser").size() < TOPICS["dead-letters"].max_message_bytes


# Floods


def feed(guard: FloodGuard, pattern: str, start: int = 0) -> None:
    """Report a batch to the guard, with a dead letter for each ``x`` in the pattern."""
    batch = [record(start + place) for place in range(len(pattern))]
    guard.watch(batch, [(each, BadRecord("bad")) for each, letter in zip(batch, pattern, strict=True) if letter == "x"])


def test_a_run_ends_the_worker_even_over_batches():
    guard = FloodGuard({"references"}, window=1000, max_invalid_ratio=1.0, max_consecutive_invalid=5)
    feed(guard, "xxxx.xx")
    feed(guard, "xx", 7)
    with pytest.raises(DeadLetterFlood, match=r"5 in a row.*references\[3\]@9: BadRecord: bad"):
        feed(guard, "x.", 9)


def test_a_share_of_the_window_ends_the_worker():
    guard = FloodGuard({"references"}, window=20, max_invalid_ratio=0.2, max_consecutive_invalid=100)
    feed(guard, "x...x...x...x.......")
    feed(guard, ".x", 20)  # the first x has left the window, which again has four
    with pytest.raises(DeadLetterFlood, match="5 of the last 20"):
        feed(guard, "x", 22)


def test_records_outside_the_window_are_not_counted():
    guard = FloodGuard({"references"}, window=10, max_invalid_ratio=0.2, max_consecutive_invalid=100)
    for start in range(0, 500, 5):
        feed(guard, "x....", start)


def test_records_that_are_read_again_count_once():
    """A batch whose transaction was aborted is read again, alone or with the records that followed it."""
    guard = FloodGuard({"references"}, window=1000, max_invalid_ratio=1.0, max_consecutive_invalid=5)
    for pattern in ("..xx", "..xxx", "..xxx.", "..xxx.xxxx"):
        feed(guard, pattern)
    with pytest.raises(DeadLetterFlood, match=r"8 of the last 11 .* 5 in a row"):
        feed(guard, "..xxx.xxxxx")


@given(st.text(alphabet="x.", max_size=80), st.integers(1, 20), st.integers(1, 10), st.integers(1, 5), st.integers(1, 12))
def test_the_guard_agrees_with_counting_by_hand(pattern: str, window: int, tenths: int, run: int, step: int):
    share = tenths / 10

    def floods(end: int) -> bool:
        recent = pattern[max(0, end - window) : end]
        return recent.count("x") > share * window or pattern[:end].endswith("x" * run)

    expected = any(floods(end) for end in range(1, len(pattern) + 1))
    guard = FloodGuard({"references"}, window=window, max_invalid_ratio=share, max_consecutive_invalid=run)

    def play() -> None:
        for start in range(0, len(pattern), step):
            feed(guard, pattern[start : start + step], start)

    if expected:
        with pytest.raises(DeadLetterFlood):
            play()
    else:
        play()


def test_unexpected_errors_are_logged_with_their_traceback_and_expected_ones_are_not(our_warnings: Callable[[], list[Any]]):
    dead_letter(record(1), BadRecord("x"), "w")
    assert not our_warnings()
    dead_letter(record(2), ZeroDivisionError("y"), "w")
    assert our_warnings()[0].exc_info
