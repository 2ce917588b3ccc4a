"""Selector of kafka-python's clients."""

from __future__ import annotations

import selectors
from typing import Any


class Selector(selectors.DefaultSelector):
    """The standard selector, with a cheap answer for files that are not registered.

    kafka-python 3.0.12 registers a socket for each wait and first asks for its key. The standard selector then raises an error
    that describes the socket, which takes two system calls each time.
    """

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        """Return the key of a registered file. Raises KeyError if it is not registered."""
        descriptor = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        if descriptor < 0:  # closed: only the standard selector finds its key
            return super().get_key(fileobj)
        key: selectors.SelectorKey = self._fd_to_key[descriptor]  # type: ignore[attr-defined]  # ``get_map`` raises the same error
        return key
