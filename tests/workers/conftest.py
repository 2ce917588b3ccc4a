"""The examples as a catalog, encoded once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.entities import Work
from reflink.semantic import Encoder
from tests.workers.corpus import catalog_works, make_snapshot


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
