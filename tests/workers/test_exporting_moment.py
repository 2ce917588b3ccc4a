"""The moment of an export, on simulated partitions: transactions end one partition at a time while offsets are asked for."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from workers.exporting import _Reader

PARTITIONS = 3


class Log:
    """One partition: the transactions whose records lie in it, in order, and None for a commit marker."""

    def __init__(self) -> None:
        self.entries: list[int | None] = []
        self.decided: set[int] = set()

    def stable(self) -> int:
        open_at = (at for at, each in enumerate(self.entries) if each is not None and each not in self.decided)
        return next(open_at, len(self.entries))


class Simulated(_Reader):
    """Asks one partition after the other, and between two answers the ledgers go on."""

    def __init__(self, ledgers: list[list[list[int]]], turns: list[int], wait: list[int]) -> None:
        self.logs = [Log() for _ in range(PARTITIONS)]
        self.places: dict[int, set[int]] = {}
        self.turns, self.wait = iter(turns), iter(wait)
        self.steps = [iter(self._ledger(100 * number, transactions)) for number, transactions in enumerate(ledgers)]
        self._consumer, self._watcher = "stable", "all"

    def _ledger(self, first: int, transactions: list[list[int]]) -> Any:
        """A ledger's transactions, one by one: all records are in before the first partition is told of the commit."""
        for name, partitions in enumerate(transactions, start=first):
            self.places[name] = set(partitions)
            for partition in partitions:
                self.logs[partition].entries.append(name)
                yield
            for partition in self.places[name]:
                self.logs[partition].entries.append(None)
                self.logs[partition].decided.add(name)
                yield

    def _ends(self, consumer: Any) -> dict[int, int]:
        ends = {}
        for partition, log in enumerate(self.logs):
            for _ in range(next(self.wait, 0)):
                next(self.steps[next(self.turns, 0) % len(self.steps)], None)
            ends[partition] = log.stable() if consumer == "stable" else len(log.entries)
        return ends


TRANSACTIONS = st.lists(st.lists(st.integers(0, PARTITIONS - 1), min_size=1, max_size=4), max_size=4)


def test_a_whole_moment_has_every_transaction_in_all_its_partitions_or_in_none():
    seen = Counter[bool]()

    @settings(max_examples=2000, deadline=None)
    @given(
        st.lists(TRANSACTIONS, min_size=1, max_size=2),
        st.lists(st.integers(0, 1), max_size=30),
        st.lists(st.integers(0, 6), max_size=6),
    )
    def law(ledgers: list[list[list[int]]], turns: list[int], wait: list[int]) -> None:
        reader = Simulated(ledgers, turns, wait)
        moment = reader.moment(0)
        seen[moment.whole] += 1
        taken: dict[int, set[int]] = {}
        for partition, end in moment.ends.items():
            for name in reader.logs[partition].entries[:end]:
                if name is not None:
                    taken.setdefault(name, set()).add(partition)
                    assert name in reader.logs[partition].decided, "what is not committed is never in it"
        if moment.whole:
            assert all(partitions == reader.places[name] for name, partitions in taken.items())

    law()
    assert min(seen[True], seen[False]) > 20, "both kinds were seen"
