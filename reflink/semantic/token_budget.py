"""How many tokens go through the encoder at once, when memory may run out."""

from __future__ import annotations

import threading
from typing import Final

#: Passes without trouble after which a smaller budget is doubled again.
PATIENCE: Final = 64
#: The same at most, however often growing back failed.
MOST_PATIENCE: Final = 64 * 64


class TokenBudget:
    """The most tokens in one pass: halved when memory runs out, remembered, and grown back.

    After ``patience`` passes without trouble the budget is doubled, up to ``most``. When that fails the patience doubles too,
    so that a device that has become smaller is not tried in vain again and again. Threads may share one.
    """

    def __init__(self, most: int, *, patience: int = PATIENCE) -> None:
        if most < 1:
            raise ValueError(f"token_budget is {most}: at least 1 is needed")
        #: Tokens now, at most ``most``.
        self.tokens = most
        #: How often memory ran out.
        self.halved = 0
        self._most, self._patience, self._first_patience = most, patience, patience
        self._passes = 0
        self._growing = False
        self._lock = threading.Lock()

    def passed(self) -> None:
        """A pass went well."""
        with self._lock:
            if self.tokens == self._most and not self._growing:
                return
            self._passes += 1
            if self._passes < self._patience:
                return
            self._passes = 0
            if self.tokens == self._most:  # grown back, and it held
                self._growing, self._patience = False, self._first_patience
            else:
                self.tokens, self._growing = min(self._most, self.tokens * 2), True

    def failed(self, tokens: int) -> None:
        """A pass of so many tokens found no memory. Several at once, by the same budget, halve it once."""
        with self._lock:
            self.halved += 1
            if tokens > self.tokens:
                return
            self.tokens = max(1, min(self.tokens, tokens) // 2)
            self._passes = 0
            if self._growing:
                self._growing, self._patience = False, min(self._patience * 2, MOST_PATIENCE)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether this says that memory, the device's or the machine's, does not suffice."""
    if isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "CUDAOutOfMemoryError"):
        return True
    text = str(error).lower()
    told = ("out of memory", "can't allocate memory", "not enough memory", "cublas_status_alloc_failed")
    return isinstance(error, RuntimeError) and any(words in text for words in told)
