"""How many judgements the ledger may ask for: so many a second, whatever there is to ask."""

from __future__ import annotations

import time
from collections.abc import Callable


class Permits:
    """An account: ``per_s`` permits come in every second, and no more than those of ``saved_s`` seconds are kept."""

    def __init__(self, per_s: float, *, saved_s: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_s, self._most, self._clock = per_s, max(per_s * saved_s, 1.0) if per_s else 0.0, clock
        self._balance, self._since = self._most, clock()

    def left(self) -> int:
        """How many may be asked for now."""
        now = self._clock()
        self._balance = min(self._most, self._balance + max(0.0, now - self._since) * self.per_s)
        self._since = now
        return max(0, int(self._balance))

    def spend(self, number: int) -> None:
        """So many were asked for; more than were left are owed."""
        self._balance -= number
