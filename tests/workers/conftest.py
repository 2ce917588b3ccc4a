"""Fixtures for tests of workers and commands: the environment, the command, and the examples as a catalog, encoded once."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.entities import Work
from reflink.semantic import Encoder
from tests.workers.commands import Command, run, set_environment
from tests.workers.corpus import catalog_works, make_snapshot
from workers.config.settings import KafkaSettings


@pytest.fixture
def bound(kafka: KafkaSettings, monkeypatch: pytest.MonkeyPatch) -> KafkaSettings:
    """Set the environment of commands to the test's own topics."""
    set_environment(monkeypatch, kafka)
    return kafka


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs ``reflink-worker`` and returns its exit code, standard output and standard error."""
    return lambda *arguments: run(capsys, *arguments)


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """Return an encoder in fp32, where a vector hardly depends on the other texts of its batch."""
    return Encoder(precision="fp32")


@pytest.fixture(scope="session")
def works() -> list[Work]:
    """Return the catalog of the demo, including its papers' own works."""
    return catalog_works()


@pytest.fixture(scope="session")
def snapshot(works: list[Work], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog folder of the works, bound to no topic."""
    return make_snapshot(works, tmp_path_factory.mktemp("catalog") / "snapshot")
