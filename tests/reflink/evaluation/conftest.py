"""The pairs of a small world and their model, once for all modules of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.catalog import Catalog
from reflink.evaluation.fitting import fit
from reflink.evaluation.pairs import Pairs, collect
from reflink.evaluation.records import read_queries, read_works
from reflink.evaluation.worlds import Groups
from reflink.verdict import Model
from tests.reflink.evaluation.trainingworld import world
from tests.reflink.evaluation.worldfiles import Hashed


@pytest.fixture(scope="session")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def pairs(paths: tuple[Path, Path]) -> Pairs:
    listings, queries = list(read_works(paths[0])), list(read_queries(paths[1]))
    catalog = Catalog.empty(dim=Hashed.dim)
    catalog.add_encoded([listing.work for listing in listings], Hashed())
    return collect(queries, Groups.read(listings), catalog, Hashed())


@pytest.fixture(scope="session")
def fitted(pairs: Pairs) -> tuple[Model, int]:
    """The model of all pairs, and the number of excluded pairs."""
    return fit(pairs)
