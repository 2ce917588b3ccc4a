"""Small segments with the layout of large ones, and real texts."""

from __future__ import annotations

import gzip
from itertools import islice

import pytest

from reflink.entities import Work
from reflink.lexical import layout
from reflink.text import Mode, work_text
from tests.data import shared_data


@pytest.fixture(params=["lists", "bitmaps"])
def laid_out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give all segments lists only, or bitmaps (some of them shared) and lists of the rarer trigrams."""
    if request.param == "bitmaps":
        monkeypatch.setattr(layout, "LEAST_WITH_BITMAPS", 1)
        monkeypatch.setattr(layout, "FREQUENT", 3)
        monkeypatch.setattr(layout, "RARE", 2)
    else:
        monkeypatch.setattr(layout, "LEAST_WITH_BITMAPS", 10**9)
    return str(request.param)


@pytest.fixture(scope="session")
def real_texts() -> dict[str, dict[str, str]]:
    """Return the lexical texts of 20,000 real works by mode and id."""
    with gzip.open(shared_data() / "works.jsonl.gz") as lines:
        works = [Work.from_json(line) for line in islice(lines, 20_000)]
    modes: tuple[Mode, ...] = ("Raw", "T", "TVLY")
    return {mode: {work.id: work_text(work, mode, lexical=True) for work in works} for mode in modes}
