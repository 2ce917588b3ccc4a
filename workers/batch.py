"""Records taken together, and the policy that says when a batch closes.

A policy knows no clock, thread or queue: it is told what waits and what finished batches cost, and says how much may be taken.
docs/semantic.md states the algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from workers.stage import Place, Received

#: Bytes of the first batches, while nothing is known of the stage's pace.
_START: Final = 65_536
#: Bytes below which time closes no batch: there fixed costs would be most of it. About ten references.
_LEAST: Final = 8_192
#: A batch counts at most as so many times as slow as was expected.
_OUTLIER: Final = 8.0
#: How much of the difference a batch moves a ratio, upwards and downwards.
_UP: Final = 0.5
_DOWN: Final = 0.15
#: What a record weighs beyond its value.
_RECORD_BYTES: Final = 100


def weight(record: Received) -> int:
    """Bytes that a record counts for in queues and batches."""
    return len(record.value or b"") + _RECORD_BYTES


@dataclass
class Batch:
    """Records taken together, of ``bytes`` in all. ``positions`` are the offsets to commit: the next one of every partition.

    A chore is a batch without records, which is given its positions.
    """

    number: int
    epoch: int
    records: list[Received]
    bytes: int = 0
    positions: dict[Place, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.positions |= {(record.topic, record.partition): record.offset + 1 for record in self.records}


class CautiousMean:
    """A mean of the last values that rises quickly and falls slowly, so that it lies near the dearest of mixed batches."""

    def __init__(self) -> None:
        self.value = 0.0
        self.heard = 0

    def hear(self, value: float) -> None:
        """Takes in a value above 0."""
        self.heard += 1
        if self.heard > 1:
            value = min(value, _OUTLIER * self.value)
        step = max(1 / self.heard, _UP if value > self.value else _DOWN)
        self.value += step * (value - self.value)


class BatchPolicy:
    """How much is taken at once: at most ``records``, ``bytes``, ``tokens`` of an encoder, and what takes ``target_s`` seconds.

    Of a record that waits only its bytes are known. Tokens and seconds a byte are learnt from the batches that are done, so all
    limits but the first become one ``budget`` in bytes. A single record may exceed it.
    Under load a batch that is not full may wait until its oldest record has waited for ``linger_s``.
    """

    def __init__(
        self,
        records: int = 512,
        bytes: int = 4_000_000,
        linger_s: float = 0.02,
        *,
        tokens: int = 131_072,
        target_s: float = 1.0,
    ) -> None:
        self.records, self.bytes, self.linger_s, self.tokens, self.target_s = records, bytes, linger_s, tokens, target_s
        self._grown = min(bytes, _START)
        self._seconds = CautiousMean()
        self._tokens = CautiousMean()
        self._was_full = False

    @property
    def budget(self) -> int:
        """Most bytes of a batch now."""
        in_time = max(_LEAST, self._most(self.target_s, self._seconds.value))
        return max(1, min(self._grown, in_time, self._most(self.tokens, self._tokens.value)))

    def full(self, records: int, bytes: int) -> bool:
        """Whether so much is as much as a batch may be."""
        return records >= self.records or bytes >= self.budget

    def cut(self, weights: Iterable[int]) -> tuple[int, int]:
        """How many of the waiting records, whose bytes these are, make the next batch, and their bytes: at least one."""
        number, bytes, budget = 0, 0, self.budget
        for each in weights:
            if number and (number == self.records or bytes + each > budget):
                break
            number += 1
            bytes += each
        return number, bytes

    def expected_s(self, bytes: int) -> float:
        """Seconds that so much is expected to take; 0 while nothing is known."""
        return bytes * self._seconds.value

    def learn(self, records: int, bytes: int, seconds: float, tokens: int = 0) -> None:
        """What a batch took in the stage."""
        if tokens > 0:  # else the encoder was not asked, which says nothing of texts that it will be asked for
            self._tokens.hear(tokens / bytes)
        full = 2 * records >= self.records or 2 * bytes >= self.budget
        if seconds > 0:
            self._learn_pace(seconds / bytes, full=full, late=seconds > self.target_s)
        if full:
            # Fixed costs make a batch of twice the bytes at most twice as long, so doubling is safe where it was tried.
            self._grown = min(self.bytes, max(self._grown, 2 * bytes))

    def _learn_pace(self, pace: float, *, full: bool, late: bool) -> None:
        """A batch that is far from full pays the fixed costs alone, so it is believed only when it was fast, or late."""
        if full and not self._was_full:
            self._was_full, self._seconds = True, CautiousMean()
        if full or late or not self._seconds.heard or pace < self._seconds.value:
            self._seconds.hear(pace)

    def _most(self, limit: float, ratio: float) -> int:
        return int(limit / ratio) if ratio * self.bytes > limit else self.bytes
