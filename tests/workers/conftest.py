"""The examples as a catalog, encoded once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.entities import Work
from reflink.semantic import Encoder
from tests.workers.corpus import catalog_works, make_snapshot


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """In fp32, where a vector hardly depends on what shares its batch."""
    return Encoder(precision="fp32")


@pytest.fixture(scope="session")
def works() -> list[Work]:
    """The catalog of the demo, its papers' own works included."""
    return catalog_works()


@pytest.fixture(scope="session")
def snapshot(works: list[Work], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog folder of the works, bound to no topic."""
    return make_snapshot(works, tmp_path_factory.mktemp("catalog") / "snapshot")
