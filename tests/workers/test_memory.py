"""The collector leaves alone what stays, and memory goes back from time to time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from workers.memory import Returning

_SETTLED = """
import gc
from workers.memory import settle
kept = [[] for _ in range(1000)]
settle()
assert gc.get_freeze_count() > 1000
assert not any(each is kept for each in gc.get_objects())
round_about = []; round_about.append(round_about); del round_about
assert gc.collect() >= 1, "what comes later is still collected"
"""


def test_what_is_loaded_is_never_looked_at_again() -> None:
    subprocess.run([sys.executable, "-c", _SETTLED], check=True)


@pytest.mark.parametrize(("now", "returned"), [(129.0, False), (130.0, True)])
def test_memory_is_returned_twice_a_minute(now: float, returned: bool) -> None:
    returning = Returning(100.0)
    calls: list[int] = []
    returning._trim = calls.append
    assert returning.at(now) is returned
    assert returning.at(now) is False
    assert calls == [0] * returned


def test_an_allocator_that_cannot_is_left_alone() -> None:
    returning = Returning(0.0)
    returning._trim = None
    assert returning.at(1000.0) is False
