"""The examples, for tests."""

from __future__ import annotations

from reflink.catalog.reading import read_works
from reflink.entities import Work
from tests.data import ROOT

EXAMPLES = ROOT / "examples"


def example_works() -> list[Work]:
    """The catalog of the demo."""
    return [work for work in read_works(EXAMPLES / "works.jsonl") if isinstance(work, Work)]
