"""States of papers are parsed once, and the cache returns the published state."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.links import PaperState
from tests.workers.ledger.ledgered import CITING, Ledger, manifest, outcomes
from tests.workers.links import link
from workers.ledger.papers import KnownPaper, PaperCache, version_of

NAMES = [f"{CITING}#{name}" for name in "abcdef"]


def state(references: list[str], version: int = 3, kept: tuple[int, ...] = ()) -> PaperState:
    return PaperState(schema_version=1, citing=CITING, paper_version=version, references=tuple(references), kept=kept)


@settings(deadline=None)
@given(st.permutations(NAMES), st.sets(st.integers(0, 4)), st.sets(st.integers(0, 4)), st.integers(1, 5))
def test_an_outcome_holds_for_the_version_in_the_state_of_its_paper(
    order: list[str], kept: set[int], more: set[int], version: int
):
    paper = KnownPaper.of(state(order[:5], kept=tuple(sorted(kept)))).keeping(more)
    assert paper.state == state(order[:5], kept=tuple(sorted(kept | more)))
    assert paper == KnownPaper.of(paper.state)
    for name in NAMES:
        published = link(name).model_copy(update={"paper_version": version})
        plain = any(paper.state.references[position] == name for position in paper.state.kept)
        assert version_of(published, paper) == (3 if plain and version < 3 else version)
        assert version_of(published, None) == version


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=40), st.integers(1, 2000))
def test_the_cache_returns_the_current_state_at_every_size(reads: list[tuple[int, int]], max_bytes: int):
    cache = PaperCache(max_bytes)
    for row, version in reads:
        wanted = state(NAMES[:row], version)
        assert cache.read(row, wanted.to_json()).state == wanted


def test_the_least_recently_read_paper_is_evicted():
    values = [state(NAMES, version).to_json() for version in (1, 2, 3)]
    cache = PaperCache(2 * len(values[0]))
    first = cache.read("first", values[0])
    second = cache.read("second", values[1])
    assert cache.read("first", bytes(bytearray(values[0]))) is first
    cache.read("third", values[2])
    assert cache.read("first", values[0]) is first
    assert cache.read("second", values[1]) is not second


@pytest.mark.parametrize("one_by_one", [False, True], ids=["in a batch", "over batches"])
def test_the_state_of_a_paper_is_parsed_once(one_by_one: bool, ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    """A state may have a megabyte, and an event a single outcome."""
    ledger.take(manifest(1, *"abcdef"))
    reads, read = [0], PaperState.from_json

    def counted(data: bytes) -> Any:
        reads[0] += 1
        return read(data)

    monkeypatch.setattr(PaperState, "from_json", counted)
    events = [outcomes(1, offset, {name: "doi:10.1/a"}) for offset, name in enumerate("abcdef", 1)]
    for batch in ([event] for event in events) if one_by_one else [events]:
        ledger.take(*batch)
    assert set(ledger.links()) == set("abcdef")
    assert reads[0] <= 1
