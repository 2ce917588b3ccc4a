"""Fixtures of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data import CACHE
from tests.kafka import create_topics, new_prefix
from workers.local.broker import Broker, free_port
from workers.settings import KafkaSettings

# A test must not depend on what the one who runs it has set.
for name in [
    name for name in os.environ if name.startswith("REFLINK_") and name not in ("REFLINK_SHARED_DATA", "REFLINK_CACHE")
]:
    del os.environ[name]


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
