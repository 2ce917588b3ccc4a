"""Selector of kafka-python's clients."""

from __future__ import annotations

import selectors
from typing import Any


class Selector(selectors.DefaultSelector):
    """The standard selector, with a cheap answer for files that are not registered.

    kafka-python 3.0.12 registers a socket for each wait, and looks up its key before. The standard selector then raises an
    error that describes the socket, which takes two system calls each time. An error that describes a number takes none.
    """

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        """Return the key of a registered file. Raises KeyError if it is not registered."""
        descriptor = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        return super().get_key(fileobj if descriptor < 0 else descriptor)  # a closed file is found as the object only
