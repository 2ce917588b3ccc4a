"""Reduction of an input to a small one that still shows a find: removes whole tags first, then words, then bytes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

_SECONDS: Final = 20.0
_TAGS: Final = re.compile(rb"(?=<)")


def minimise(data: bytes, shows: Callable[[bytes], bool]) -> bytes:
    """Remove as much of ``data`` as possible while ``shows`` holds, in about 20 s; return the rest."""
    deadline = time.monotonic() + _SECONDS
    while True:
        before = data
        data = _fewer(_TAGS.split(data), shows, deadline)
        data = _fewer(re.findall(rb"[^\s<>]+|[\s<>]", data), shows, deadline)
        if len(data) <= 3000:
            data = _fewer([data[at : at + 1] for at in range(len(data))], shows, deadline)
        if len(data) == len(before) or time.monotonic() > deadline:
            return data


def _fewer(parts: list[bytes], shows: Callable[[bytes], bool], deadline: float) -> bytes:
    """Remove runs of parts, first long runs, then ever shorter ones."""
    size = max(len(parts) // 2, 1)
    while True:
        at = 0
        while at < len(parts):
            if time.monotonic() > deadline:
                return b"".join(parts)
            fewer = parts[:at] + parts[at + size :]
            if shows(b"".join(fewer)):
                parts = fewer
            else:
                at += size
        if size == 1:
            return b"".join(parts)
        size = max(size // 2, 1)
