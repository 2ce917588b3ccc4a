"""Small data sets, and a library without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.labels.linking import Library
from reflink.evaluation.vectors import CachedEncoder
from reflink.linking.policy import Policy
from tests.benchmarks.labels.labelsets import written
from tests.reflink.catalog.works_of import FakeEncoder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(tmp_path / "data")


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(CachedEncoder(FakeEncoder(), tmp_path / "vectors"), Policy())
