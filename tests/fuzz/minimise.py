"""The smallest input that still shows a find: first whole tags are left out, then bytes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

_TAGS: Final = re.compile(rb"(?=<)")


def minimise(data: bytes, shows: Callable[[bytes], bool], seconds: float = 20.0) -> bytes:
    """``data`` with as much left out as possible while ``shows`` holds, within about that time."""
    deadline = time.monotonic() + seconds
    while True:
        before = data
        data = _fewer(_TAGS.split(data), shows, deadline)
        data = _fewer(re.findall(rb"[^\s<>]+|[\s<>]", data), shows, deadline)
        if len(data) <= 3000:
            data = _fewer([data[at : at + 1] for at in range(len(data))], shows, deadline)
        if len(data) == len(before) or time.monotonic() > deadline:
            return data


def _fewer(parts: list[bytes], shows: Callable[[bytes], bool], deadline: float) -> bytes:
    """Leaves out runs of parts, first long ones, then ever shorter ones."""
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
