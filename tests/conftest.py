"""Fixtures for all tests."""

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
from hypothesis import settings

from tests.data import CACHE, ROOT
from tests.kafka import create_topics, new_prefix
from tests.profiles import examples
from workers.config.settings import KafkaSettings
from workers.devkit.broker import Broker
from workers.devkit.cluster import BrokerCluster
from workers.devkit.ports import free_port
from workers.devkit.search_engine import SearchEngine
from workers.telemetry.logs import JsonLines

# A test must not depend on the environment of the user who runs it.
for name in {name for name in os.environ if name.startswith("REFLINK_")} - {"REFLINK_SHARED_DATA", "REFLINK_CACHE"}:
    del os.environ[name]

# No deadline per example: the first call of a compiled kernel includes its compilation, and other work may delay any call.
# The same examples in every run: a run shows what a change has broken. `--hypothesis-profile=explore` looks for new examples.
settings.register_profile("explore", deadline=None, max_examples=examples(100))
settings.register_profile("reflink", deadline=None, derandomize=True, max_examples=examples(100))
settings.load_profile("reflink")

_OURS: Final = ("reflink", "schemas", "workers")
#: Parts of the names of kafka-python's threads: producers, then consumers and admin clients.
_CLIENTS: Final = ("-network-thread", "kafka-io-")
#: A producer that is closed while its broker is down may still wait for a response, for at most 30 s.
_PATIENCE_S: Final = 60.0


#: Folders whose tests only `make test-all` runs: they check test programs and benchmarks, not reflink itself.
_FULL: Final = ("tests/campaigns", "tests/benchmarks", "tests/docker")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of whole folders as ``full``."""
    for item in items:
        if item.path.is_relative_to(ROOT) and str(item.path.relative_to(ROOT)).startswith(_FULL):
            item.add_marker(pytest.mark.full)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Escape lone surrogates in captured output: pytest-xdist ends the run when it cannot encode a report."""
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]


@pytest.fixture(scope="module", autouse=True)
def no_clients_left() -> Iterator[None]:
    """Check that a module's tests close their Kafka clients: an open client tries to reach its broker forever, and logs."""
    before = set(_clients())
    yield
    until = time.monotonic() + _PATIENCE_S
    while (left := set(_clients()) - before) and time.monotonic() < until:
        time.sleep(0.05)
    names = Counter(thread.name for thread in left)
    assert not names, f"Kafka clients that were not closed: {', '.join(f'{count} {name}' for name, count in names.items())}"


def _clients() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if any(name in thread.name for name in _CLIENTS)]


@pytest.fixture(autouse=True)
def no_log_handlers_left() -> Iterator[None]:
    """Remove log handlers of commands after each test: they write to the standard error of the test, which is closed then."""
    with logs_restored():
        yield


@contextmanager
def logs_restored() -> Iterator[None]:
    """Undo ``workers.telemetry.logs.set_up`` at the end of the context."""
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
    """Return a function that returns reflink's own warnings. Libraries may warn at any time, in their own threads."""
    return lambda: [
        record for record in caplog.records if record.name.partition(".")[0] in _OURS and record.levelno >= logging.WARNING
    ]


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A real Kafka broker, started once per session."""
    with Broker.start(port=free_port(), cache=CACHE) as broker:
        yield broker


@pytest.fixture(scope="session")
def search_engine() -> Iterator[SearchEngine]:
    """A real node of OpenSearch, started once per session. Tests use indices with names of their own, and end no node."""
    with SearchEngine.start(cache=CACHE) as engine:
        yield engine


@pytest.fixture(scope="module")
def cluster() -> Iterator[BrokerCluster]:
    """Three brokers for a test module. A test that kills a broker restarts it and waits until all are in sync."""
    with BrokerCluster.start(3, cache=CACHE) as cluster:
        yield cluster


@pytest.fixture
def kafka(broker: Broker) -> KafkaSettings:
    """Settings of the test's own topics, with three partitions each."""
    return create_topics(broker.address, new_prefix())


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The state folder of the test's workers."""
    return tmp_path / "state"
