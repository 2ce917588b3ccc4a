"""Signal handlers for a limited time."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def handling(handler: Callable[[int, object], None], *numbers: int) -> Iterator[None]:
    """Call ``handler`` for these signals while the context is entered, and restore the handlers before it.

    Only the main thread may enter the context.
    """
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, each in before.items():
            signal.signal(number, each)
