"""The moment of an export on simulated partitions: transactions end partition by partition while the export reads offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.profiles import examples
from workers.tools.link_export import next_moment

PARTITIONS = 3


class Log:
    """A partition: the transaction of each record, in order, and None for a commit marker."""

    def __init__(self) -> None:
        self.entries: list[int | None] = []
        self.decided: set[int] = set()

    def stable(self) -> int:
        open_at = (at for at, each in enumerate(self.entries) if each is not None and each not in self.decided)
        return next(open_at, len(self.entries))


class Simulated:
    """Partitions whose offsets are read one after the other, while the ledgers continue in between."""

    def __init__(self, ledgers: list[list[list[int]]], turns: list[int], wait: list[int]) -> None:
        self.logs = [Log() for _ in range(PARTITIONS)]
        self.places: dict[int, set[int]] = {}
        self.turns, self.wait = iter(turns), iter(wait)
        self.steps = [iter(self._ledger(100 * number, transactions)) for number, transactions in enumerate(ledgers)]

    def _ledger(self, first: int, transactions: list[list[int]]) -> Any:
        """Run a ledger's transactions, one by one: all records are written before the first partition has a commit marker."""
        for name, partitions in enumerate(transactions, start=first):
            self.places[name] = set(partitions)
            for partition in partitions:
                self.logs[partition].entries.append(name)
                yield
            for partition in self.places[name]:
                self.logs[partition].entries.append(None)
                self.logs[partition].decided.add(name)
                yield

    def ends(self, of: Callable[[Log], int]) -> dict[tuple[str, int], int]:
        ends = {}
        for partition, log in enumerate(self.logs):
            for _ in range(next(self.wait, 0)):
                next(self.steps[next(self.turns, 0) % len(self.steps)], None)
            ends["links", partition] = of(log)
        return ends


TRANSACTIONS = st.lists(st.lists(st.integers(0, PARTITIONS - 1), min_size=1, max_size=4), max_size=4)


def test_a_whole_moment_has_all_or_no_partitions_of_each_transaction():
    seen = Counter[bool]()

    @settings(max_examples=examples(2000))
    @given(
        st.lists(TRANSACTIONS, min_size=1, max_size=2),
        st.lists(st.integers(0, 1), max_size=30),
        st.lists(st.integers(0, 6), max_size=6),
    )
    def law(ledgers: list[list[list[int]]], turns: list[int], wait: list[int]) -> None:
        reader = Simulated(ledgers, turns, wait)
        moment = next_moment(lambda: reader.ends(Log.stable), lambda: reader.ends(lambda log: len(log.entries)), 0)
        seen[moment.whole] += 1
        taken: dict[int, set[int]] = {}
        for partition, end in moment.ends.items():
            for name in reader.logs[partition].entries[:end]:
                if name is not None:
                    taken.setdefault(name, set()).add(partition)
                    assert name in reader.logs[partition].decided, "an uncommitted record is never in it"
        if moment.whole:
            assert all(partitions == reader.places[name] for name, partitions in taken.items())

    law()
    assert min(seen[True], seen[False]) > 20, "both kinds occur"
