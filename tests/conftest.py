"""Fixtures of all tests."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.data import CACHE
from tests.kafka import create_topics, new_prefix
from workers.local.broker import Broker
from workers.local.ports import free_port
from workers.logs import JsonLines
from workers.settings import KafkaSettings

# A test must not depend on what the one who runs it has set.
for name in [
    name for name in os.environ if name.startswith("REFLINK_") and name not in ("REFLINK_SHARED_DATA", "REFLINK_CACHE")
]:
    del os.environ[name]

_OURS: Final = ("reflink", "schemas", "workers")
#: Threads of kafka-python's clients, by their names: of producers, and of consumers and admin clients.
_CLIENTS: Final = ("-network-thread", "kafka-io-")
#: A producer that is closed while its broker is away may still wait for an answer of the broker, 30 s at most.
_PATIENCE_S: Final = 60.0


@pytest.fixture(scope="module", autouse=True)
def no_clients_left() -> Iterator[None]:
    """A module's tests close what they open: a client left open tries to reach its broker for ever, and logs meanwhile."""
    before = set(_clients())
    yield
    until = time.monotonic() + _PATIENCE_S
    while (left := set(_clients()) - before) and time.monotonic() < until:
        time.sleep(0.05)
    names = Counter(thread.name for thread in left)
    assert not names, f"clients of Kafka that nobody closed: {', '.join(f'{count} {name}' for name, count in names.items())}"


def _clients() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if any(name in thread.name for name in _CLIENTS)]


@pytest.fixture(autouse=True)
def no_log_handlers_left() -> Iterator[None]:
    """A command sends logs to the standard error of its test, which is closed after it: the next one's must not go there."""
    with logs_restored():
        yield


@contextmanager
def logs_restored() -> Iterator[None]:
    """Undoes workers.logs.set_up."""
    root, kafka = logging.getLogger(), logging.getLogger("kafka")
    before, levels = list(root.handlers), (root.level, kafka.level)
    yield
    for handler in root.handlers[:]:
        if handler not in before and isinstance(handler.formatter, JsonLines):
            root.removeHandler(handler)
    root.setLevel(levels[0])
    kafka.setLevel(levels[1])


@pytest.fixture
def our_warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[logging.LogRecord]]:
    """What reflink itself has warned of. Libraries may warn at any time, in threads of their own."""
    return lambda: [
        record for record in caplog.records if record.name.partition(".")[0] in _OURS and record.levelno >= logging.WARNING
    ]


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A real Kafka, started once."""
    with Broker.start(port=free_port(), cache=CACHE) as broker:
        yield broker


@pytest.fixture
def kafka(broker: Broker) -> KafkaSettings:
    """Topics of the test's own, three partitions each."""
    return create_topics(broker.address, new_prefix())


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Where workers of the test keep their state."""
    return tmp_path / "state"
