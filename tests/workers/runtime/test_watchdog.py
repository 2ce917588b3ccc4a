"""A call that does not return in time ends the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.workers.echo import until
from workers.errors import Stalled
from workers.runtime.watchdog import Watchdog


def test_what_takes_too_long_ends_the_process_and_says_what_it_was(our_warnings: Callable[[], list[Any]]):
    ended: list[int] = []
    watchdog = Watchdog(0.05, end=ended.append)
    watchdog.start()
    with watchdog.activity("committing a transaction"):
        until(lambda: ended, 20)
    watchdog.stop()
    assert ended[0] == Stalled.exit_code
    (record, *_) = [record for record in our_warnings() if record.levelname == "CRITICAL"]
    assert record.doing == "committing a transaction"


def test_what_returns_in_time_does_not():
    ended: list[int] = []
    watchdog = Watchdog(30, end=ended.append)
    watchdog.start()
    for _ in range(100):
        with watchdog.activity("polling"):
            pass
    assert watchdog.overdue() is None
    watchdog.stop()
    assert not ended


def test_the_longest_is_named_of_all_threads_and_of_nested_activities():
    watchdog = Watchdog(0.01)
    entered, leave = threading.Event(), threading.Event()

    def hang() -> None:
        with watchdog.activity("outer"), watchdog.activity("inner"):
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=hang)
    thread.start()
    entered.wait(30)
    time.sleep(0.02)
    with watchdog.activity("later"):
        late = watchdog.overdue()
        assert late is not None
        assert late[0] == "outer"
        assert late[1] > 0.01
    leave.set()
    thread.join()
    assert watchdog.overdue() is None


def test_an_activity_that_fails_is_over():
    watchdog = Watchdog(0.0)
    with pytest.raises(ValueError, match="x"), watchdog.activity("failing"):
        raise ValueError("x")
    assert watchdog.overdue() is None


def test_a_stopped_watchdog_ends_nothing():
    ended: list[int] = []
    watchdog = Watchdog(0.02, end=ended.append)
    watchdog.start()
    watchdog.stop()
    with watchdog.activity("leaving"):
        time.sleep(0.1)
    assert not ended
