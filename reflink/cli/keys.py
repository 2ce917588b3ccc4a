"""Keys pressed on a terminal, one at a time and without Enter; or the first characters of the lines of another input."""

from __future__ import annotations

import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

#: The key of an input that has ended, also of Ctrl-D on a terminal.
END = "\x04"


#: Returns the next key, END at the end of the input.
Keys = Callable[[], str]


@contextmanager
def keys(stream: TextIO | None = None) -> Iterator[Keys]:
    """Yield a reader of keys from ``stream``, standard input by default. The terminal's mode is restored at the end."""
    source = stream or sys.stdin
    if not source.isatty():
        yield lambda: (source.readline() or END)[:1]
        return
    descriptor = source.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)  # Ctrl-C still interrupts
        yield lambda: source.read(1) or END
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
