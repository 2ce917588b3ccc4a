"""Records taken together, and when a batch closes."""

from __future__ import annotations

from dataclasses import dataclass, field

from workers.stage import Place, Received


@dataclass(frozen=True)
class BatchPolicy:
    """When a batch closes: at ``records`` or ``bytes``, or, under load, ``linger_s`` after it could have begun.

    Under load means that records were waiting already when the last batch was done. An idle worker takes what is there.
    """

    records: int = 512
    bytes: int = 4_000_000
    linger_s: float = 0.02


@dataclass
class Batch:
    """Records taken together. ``positions`` are the offsets to commit: the next one of every partition in it."""

    number: int
    epoch: int
    records: list[Received]
    positions: dict[Place, int] = field(init=False)

    def __post_init__(self) -> None:
        self.positions = {(record.topic, record.partition): record.offset + 1 for record in self.records}
