"""Random histories with a search engine in memory end in the links of a fresh run; wrong rules for versions do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.campaigns.convergence import library
from tests.campaigns.convergence.engine import MemoryEngine, Stored
from tests.campaigns.convergence.pipeline import Pipeline
from tests.campaigns.convergence.running import run
from tests.campaigns.convergence.searched_machine import SearchedHistories
from tests.campaigns.convergence.tally import Tally
from workers.engine import index, searches
from workers.engine.candidates import EngineCandidates

_HISTORIES: Final = 250


@pytest.fixture(autouse=True)
def tally(monkeypatch: pytest.MonkeyPatch) -> Tally:
    """A tally of this test alone."""
    counted = Tally()
    monkeypatch.setattr(SearchedHistories, "tally", counted)
    return counted


def test_histories_end_in_the_links_of_a_fresh_run(tally: Tally):
    run(_HISTORIES, 1, SearchedHistories)
    counts = tally.counts
    assert counts["differences after the sweep"] == 0
    # The test is meaningful only if links appear, move and disappear.
    assert counts["links that appeared"] > _HISTORIES / 2
    assert counts["links that moved"] > 0
    assert counts["links taken back"] > 0


def _records_only(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EngineCandidates, "offset", property(lambda candidates: candidates.catalog.offset))


def _index_only(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EngineCandidates, "offset", property(lambda candidates: candidates._version.offset))


def _early_watermark(patch: pytest.MonkeyPatch) -> None:
    """Nor do searches look at the marks of the copies, which would show it."""
    patch.setattr(index.Index, "refresh", lambda *_: None)
    patch.setattr(searches, "is_stale", lambda *_: False)


def _deleted_index_comes_back(patch: pytest.MonkeyPatch) -> None:
    """Write to the index itself, which engines create when it does not exist."""
    written, created = MemoryEngine._written, MemoryEngine._create
    patch.setattr(index, "_writes", lambda name: name)
    patch.setattr(MemoryEngine, "_written", lambda engine, name, _: written(engine, name, {}))
    patch.setattr(MemoryEngine, "_create", lambda engine, name, body: created(engine, name, {**body, "aliases": {}}))


def _no_first_watermark(patch: pytest.MonkeyPatch) -> None:
    write: Callable[..., Any] = index.Index.write_watermark
    patch.setattr(index.Index, "write_watermark", lambda one, offset: write(one, offset) if offset else None)


@pytest.mark.parametrize("wrong", [_records_only, _index_only, _early_watermark, _no_first_watermark])
def test_a_wrong_rule_is_detected(wrong: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch):
    wrong(monkeypatch)
    with pytest.raises(Exception, match=r"differ from a fresh run|still cause work"):
        run(_HISTORIES, 1, SearchedHistories, shrink=False)


def _found_after_a_deletion() -> set[str]:
    """Return the works that a search finds after the unfinished index was deleted between two of its three works."""
    pipeline = Pipeline(hits=20)
    searching = pipeline.searching
    assert searching is not None
    for slot in library.SLOTS[:3]:
        pipeline.load(library.work(slot, library.SUBJECTS[0], frozenset(), ()))
    for limit in (0, 2):
        searching.work(0, limit)
    assert searching.delete_index(0) is not None
    for _ in range(5):
        searching.work(0)
        pipeline.clock.advance(6.0)
    assert searching.complete()
    serving = searching.version()
    assert serving is not None
    found = searching.engine.indexes[serving.index].visible.values()
    return {source["id"] for source in found if "id" in source and "mark" not in source}


def test_an_index_deleted_before_it_served_is_built_again_from_the_beginning():
    assert _found_after_a_deletion() == set(library.SLOTS[:3])


def test_an_index_that_comes_back_by_a_write_is_detected(monkeypatch: pytest.MonkeyPatch):
    _deleted_index_comes_back(monkeypatch)
    assert _found_after_a_deletion() == {library.SLOTS[2]}


def test_an_index_keeps_the_newest_version_and_shows_it_after_a_refresh():
    stored = Stored()
    assert stored.write("a", 2, {"id": "a", "words": "new"})
    assert not stored.write("a", 1, {"id": "a", "words": "old"})
    assert stored.visible == {}
    stored.refresh()
    assert stored.visible == {"a": {"id": "a", "words": "new"}}
