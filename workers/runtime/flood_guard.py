"""The flood guard stops a worker if too many of its live records are invalid."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

from workers.errors import DeadLetterFlood
from workers.records import Partition, Received


class FloodGuard:
    """Stops the worker if its live inputs cause a flood of dead letters: then the deployment is at fault, not the papers.

    ``inputs``: topics to count. Background inputs (the catalog, retries) are not counted, because linking would stop until the
    last invalid record was gone. ``window``: number of recent records to consider. ``max_invalid_ratio``: maximum share of
    poison in the window. ``max_consecutive_invalid``: number of consecutive poison records that is a flood.
    """

    def __init__(self, inputs: Collection[str], *, window: int, max_invalid_ratio: float, max_consecutive_invalid: int) -> None:
        self.inputs, self.window = inputs, window
        self.max_invalid_ratio, self.max_consecutive_invalid = max_invalid_ratio, max_consecutive_invalid
        self._recent: deque[bool] = deque(maxlen=window)
        self._invalid = 0
        self._in_a_row = 0
        #: By partition, the first offset that has not been counted.
        self._next: dict[Partition, int] = {}

    def watch(self, records: Sequence[Received], poison: Sequence[tuple[Received, Exception]]) -> None:
        """Count a batch before its commit. Raises DeadLetterFlood with the last error.

        Records that were counted in a batch that was discarded later are not counted again.
        """
        errors = {record.address: error for record, error in poison}
        for record in records:
            partition = (record.topic, record.partition)
            if record.topic not in self.inputs or record.offset < self._next.get(partition, 0):
                continue
            self._next[partition] = record.offset + 1
            if len(self._recent) == self.window:
                self._invalid -= self._recent[0]
            error = errors.get(record.address)
            self._recent.append(error is not None)
            self._invalid += error is not None
            self._in_a_row = self._in_a_row + 1 if error is not None else 0
            if self._in_a_row >= self.max_consecutive_invalid or self._invalid > self.max_invalid_ratio * self.window:
                raise DeadLetterFlood(
                    f"{self._invalid} of the last {len(self._recent)} records could not be handled, {self._in_a_row} in a row; "
                    f"nothing of this batch is committed; the last is {record.address}: {type(error).__name__}: {error}"
                )
