"""Batches of records, and the policy that decides when a batch closes.

The policy uses no clock, thread or queue: from the sizes of the waiting records and the cost of finished batches it computes
the size of the next batch. docs/semantic.md describes the algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Self

from workers.config.settings import WorkerSettings
from workers.records import Partition, Received

#: Maximum bytes of the first batches, before the pace of the stage is known.
_START: Final = 65_536
#: Minimum of the time limit, in bytes (about ten references): in a smaller batch the fixed costs would dominate.
_MIN_BYTES: Final = 8_192
#: Maximum ratio of a new value to the mean: larger values are clipped.
_OUTLIER: Final = 8.0
#: Fraction of the difference by which a batch moves the mean, upwards and downwards.
_UP: Final = 0.5
_DOWN: Final = 0.15
#: Bytes counted for a record in addition to its value.
_RECORD_BYTES: Final = 100


def weight(record: Received) -> int:
    """Return the bytes that a record counts for in queues and batches."""
    return len(record.value or b"") + _RECORD_BYTES


@dataclass
class Batch:
    """Records that are handled together, ``bytes`` in total. ``positions`` are the offsets to commit, one for each partition.

    A background task is a batch without records, created with its positions.
    """

    number: int
    epoch: int
    records: list[Received]
    bytes: int = 0
    positions: dict[Partition, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.positions |= {(record.topic, record.partition): record.offset + 1 for record in self.records}


class CautiousMean:
    """A moving mean that rises quickly and falls slowly, so that it stays near the most expensive of mixed batches."""

    def __init__(self) -> None:
        self.value = 0.0
        self.count = 0

    def add(self, value: float) -> None:
        """Add a value above 0."""
        self.count += 1
        if self.count > 1:
            value = min(value, _OUTLIER * self.value)
        step = max(1 / self.count, _UP if value > self.value else _DOWN)
        self.value += step * (value - self.value)


class BatchPolicy:
    """The limits of a batch: ``records``, ``bytes``, ``tokens`` of an encoder, and an expected time of ``target_s`` seconds.

    Only the bytes of a waiting record are known. The policy learns tokens and seconds per byte from finished batches, so all
    limits except ``records`` combine to one ``budget`` in bytes. A single record may exceed it.
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

    @classmethod
    def of(cls, settings: WorkerSettings) -> Self:
        """Return the policy of these settings."""
        records, size, linger_s = settings.batch_records, settings.batch_bytes, settings.batch_linger_s
        return cls(records, size, linger_s, tokens=settings.batch_tokens, target_s=settings.batch_target_s)

    @property
    def budget(self) -> int:
        """Current maximum bytes of a batch."""
        in_time = max(_MIN_BYTES, self._limit(self.target_s, self._seconds.value))
        return max(1, min(self._grown, in_time, self._limit(self.tokens, self._tokens.value)))

    def full(self, records: int, bytes: int) -> bool:
        """Return whether a batch of this size is full."""
        return records >= self.records or bytes >= self.budget

    def cut(self, weights: Iterable[int]) -> tuple[int, int]:
        """Return the number of waiting records in the next batch and their bytes, given their ``weights``; at least one."""
        number, bytes, budget = 0, 0, self.budget
        for each in weights:
            if number and (number == self.records or bytes + each > budget):
                break
            number += 1
            bytes += each
        return number, bytes

    def expected_s(self, bytes: int) -> float:
        """Return the expected seconds of a batch of ``bytes``; 0 before the first measurement."""
        return bytes * self._seconds.value

    def learn(self, records: int, bytes: int, seconds: float, tokens: int = 0) -> None:
        """Record the cost of a finished batch in the stage."""
        if tokens > 0:  # else the batch did not use the encoder and gives no estimate for texts that will
            self._tokens.add(tokens / bytes)
        full = 2 * records >= self.records or 2 * bytes >= self.budget
        if seconds > 0:
            self._learn_pace(seconds / bytes, full=full, late=seconds > self.target_s)
        if full:
            # Fixed costs make a batch of twice the bytes at most twice as long, so it is safe to double a size that was tried.
            self._grown = min(self.bytes, max(self._grown, 2 * bytes))

    def _learn_pace(self, pace: float, *, full: bool, late: bool) -> None:
        """Update the seconds per byte. Fixed costs dominate a batch far from full, so it counts only if it was fast or late."""
        if full and not self._was_full:
            self._was_full, self._seconds = True, CautiousMean()
        if full or late or not self._seconds.count or pace < self._seconds.value:
            self._seconds.add(pace)

    def _limit(self, limit: float, ratio: float) -> int:
        return int(limit / ratio) if ratio * self.bytes > limit else self.bytes
