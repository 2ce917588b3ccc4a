"""Waits for a condition with a deadline, and names the condition in the error."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.campaigns.autoscaling.errors import RunFailed

_POLL_S = 0.2


def wait_for(what: str, condition: Callable[[], bool], timeout_s: float, check: Callable[[], object] = lambda: None) -> None:
    """Wait until the condition holds; call ``check``, which may raise, meanwhile. Raises RunFailed after the deadline."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        check()
        if time.monotonic() > deadline:
            raise RunFailed(f"after {timeout_s:g} s still waiting for: {what}")
        time.sleep(_POLL_S)
