"""Waiting for a condition, with a deadline that says what was waited for."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.autoscaling.errors import RunFailed

_POLL_S = 0.2


def wait_for(what: str, condition: Callable[[], bool], timeout_s: float, check: Callable[[], object] = lambda: None) -> None:
    """Returns when the condition holds. ``check`` may raise meanwhile. Raises RunFailed."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        check()
        if time.monotonic() > deadline:
            raise RunFailed(f"after {timeout_s:g} s still waiting for: {what}")
        time.sleep(_POLL_S)
