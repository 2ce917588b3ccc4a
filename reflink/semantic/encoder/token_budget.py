"""The token budget of the encoder: the max tokens of a pass, adapted when memory runs out."""

from __future__ import annotations

import threading
from typing import Final

#: Successful passes after which a reduced budget is doubled.
PATIENCE: Final = 64
#: Max patience, however often growing failed.
MAX_PATIENCE: Final = 64 * 64


class TokenBudget:
    """The max tokens of a pass: halved when memory runs out, and grown back later. Thread-safe.

    After ``patience`` successful passes the budget is doubled, up to ``max_tokens``. If the larger budget fails, the patience
    doubles too, so that the encoder rarely retries on a device whose free memory has shrunk.
    """

    def __init__(self, max_tokens: int, *, patience: int = PATIENCE) -> None:
        if max_tokens < 1:
            raise ValueError(f"token_budget is {max_tokens}: at least 1 is needed")
        #: The current budget, at most ``max_tokens``.
        self.tokens = max_tokens
        #: Number of times that memory ran out.
        self.halved = 0
        self._max_tokens, self._patience, self._first_patience = max_tokens, patience, patience
        self._passes = 0
        self._growing = False
        self._lock = threading.Lock()

    def passed(self) -> None:
        """Record a successful pass."""
        with self._lock:
            if self.tokens == self._max_tokens and not self._growing:
                return
            self._passes += 1
            if self._passes < self._patience:
                return
            self._passes = 0
            if self.tokens == self._max_tokens:  # grown back, and the full budget works
                self._growing, self._patience = False, self._first_patience
            else:
                self.tokens, self._growing = min(self._max_tokens, self.tokens * 2), True

    def failed(self, tokens: int) -> None:
        """Record that a pass of ``tokens`` tokens ran out of memory. Concurrent failures with the same budget halve it once."""
        with self._lock:
            self.halved += 1
            if tokens > self.tokens:
                return
            self.tokens = max(1, min(self.tokens, tokens) // 2)
            self._passes = 0
            if self._growing:
                self._growing, self._patience = False, min(self._patience * 2, MAX_PATIENCE)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the error means that the memory of the device or the machine is exhausted."""
    if isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "CUDAOutOfMemoryError"):
        return True
    text = str(error).lower()
    messages = ("out of memory", "can't allocate memory", "not enough memory", "cublas_status_alloc_failed")
    return isinstance(error, RuntimeError) and any(words in text for words in messages)
