"""The examples as a catalog, encoded once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.catalog import Catalog
from reflink.entities import Work
from reflink.semantic import Encoder
from tests.workers.corpus import example_papers, example_works, parsed


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """In fp32, where a vector hardly depends on what shares its batch."""
    return Encoder(precision="fp32")


@pytest.fixture(scope="session")
def works() -> list[Work]:
    """The catalog, the papers' own works included: so what workers follow does not change while they link."""
    return [*example_works(), *(paper.work() for paper in parsed(example_papers()))]


@pytest.fixture(scope="session")
def snapshot(works: list[Work], encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog folder of the works, bound to no topic."""
    catalog = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision)
    catalog.add_encoded(works, encoder)
    folder = tmp_path_factory.mktemp("catalog") / "snapshot"
    catalog.save(folder)
    return folder
