"""The log of changes equals a simple log in memory after every step and after every opening."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.blocking.keys import hashed, work_key, work_keys
from reflink.catalog.works import Works
from reflink.entities import Ids, Work
from tests.profiles import examples
from tests.workers.ledger.changelogs import MemoryChangeLog, canonical_ids
from workers.ledger.stores.change_log import ChangeLog

Record = tuple[int, int, Work | str]

PMIDS, DOIS, NAMES = ("1", "2", "3"), ("10.1/a", "10.1/b"), ("w1", "w2")
NODES = (*(f"pmid:{pmid}" for pmid in PMIDS), *(f"doi:{doi}" for doi in DOIS), *NAMES, "pmid:9")
KEYS_OF_NODES = [hashed(work_key(node)) for node in NODES]

works = st.builds(
    Work,
    id=st.sampled_from(NODES[:-1]),
    ids=st.builds(Ids, doi=st.none() | st.sampled_from(DOIS), pmid=st.none() | st.sampled_from(PMIDS)),
    title=st.sampled_from((None, "A title of some length", "Another title, as long")),
    year=st.sampled_from((None, 2001)),
)
changes = st.lists(works | st.sampled_from(NODES), max_size=5)
#: Batches of changes, how many offsets each leaves out, the offset before which the log is trimmed after it, and whether it is
#: opened again then.
histories = st.lists(st.tuples(changes, st.integers(0, 3), st.integers(0, 40), st.booleans()), max_size=8)


def opened(folder: Path, topic_id: str | None = "t", stale_after_s: float = 1e9, recent_keys: int = 20) -> ChangeLog:
    return ChangeLog(folder, topic_id=topic_id, stale_after_s=stale_after_s, recent_keys=recent_keys)


def records(what: Iterable[Work | str], start: int) -> list[Record]:
    return [(start + n, 1000 + start + n, each) for n, each in enumerate(what)]


def assert_same(log: ChangeLog, plain: MemoryChangeLog) -> None:
    assert (log.start, log.offset, log.end) == (plain.start, plain.offset, plain.end)
    found = log.changes(0, 1000)
    assert found == plain.changes(0, 1000)
    keys = {key for change in found for key in change.keys} | set(KEYS_OF_NODES)
    for key in keys:
        for offset in (0, log.start, log.start + 1, log.offset):
            assert log.changed_since([key], offset) == plain.changed_since([key], offset)


@settings(max_examples=examples(60))
@given(histories, st.integers(0, 5))
def test_the_log_equals_the_log_in_memory(history: list[tuple[list[Work | str], int, int, bool]], begin: int):
    plain = MemoryChangeLog()
    with tempfile.TemporaryDirectory() as folder:
        log = opened(Path(folder) / "changes")
        for each in (log, plain):
            if begin:
                each.begin(begin)
        for batch, left_out, trimmed, again in history:
            came = records(batch, plain.offset + left_out)
            end = plain.offset + left_out + len(batch)
            for each in (log, plain):
                each.apply(came, end)
                each.trim(trimmed)
            assert_same(log, plain)
            if again:
                log.close()
                log = opened(Path(folder) / "changes")
                assert_same(log, plain)
        log.close()


@settings(max_examples=examples(60))
@given(st.lists(works | st.sampled_from(NODES), max_size=15))
def test_a_change_that_moves_a_canonical_id_has_a_key_of_its_former_work(what: list[Work | str]):
    """So a link is found by the ids of its work at the time of its decision, although the log knows no other work."""
    catalog, log = Works(), MemoryChangeLog()
    for offset, each in enumerate(what):
        before = {node: (catalog.canonical(node), catalog.nodes(node)) for node in NODES if catalog.bearers(node)}
        if isinstance(each, str):
            catalog.delete(each)
        else:
            catalog.put(each)
        log.apply([(offset, 7, each)], offset + 1)
        keys = {key for change in log.changes(offset, 9) for key in change.keys}
        for node, (canonical, nodes) in before.items():
            if node == canonical and catalog.canonical(canonical) != canonical:
                assert not keys.isdisjoint(hashed(work_key(each)) for each in nodes)


@given(st.lists(works, max_size=8, unique_by=lambda work: work.id))
def test_the_nodes_of_a_work_are_those_of_its_component(what: list[Work]):
    catalog = Works()
    for work in what:
        catalog.put(work)
    ids = canonical_ids({work.id: work for work in what})
    for node in NODES:
        assert catalog.nodes(node) == {each for each, canonical in ids.items() if canonical == ids.get(node)}


@settings(max_examples=examples(30))
@given(changes, changes, st.integers(0, 10))
def test_applying_again_from_an_earlier_offset_changes_nothing(first: list[Work | str], second: list[Work | str], start: int):
    plain = MemoryChangeLog()
    with tempfile.TemporaryDirectory() as folder:
        log = opened(Path(folder) / "changes")
        came = records([*first, *second], 0)
        for each in (log, plain):
            each.apply(came[: len(first)], len(first))
        plain.apply(came[len(first) :], len(came))
        log.apply(came[start : len(first)], min(start, len(first)))
        log.apply(came[min(start, len(first)) :], len(came))
        assert_same(log, plain)
        log.close()


@pytest.fixture
def log(tmp_path: Path):
    found = opened(tmp_path / "changes")
    yield found
    found.close()


def test_a_change_has_the_keys_of_its_work_and_its_state(log: ChangeLog):
    work = Work(id="x:1", ids=Ids(doi="10.1/a", pmid="5"), title="A title of some length")
    log.apply(records([work, "x:1"], 3), 5)
    put, removed = log.changes(0, 9)
    assert set(put.keys) == set(map(hashed, (*work_keys(work), "w:x:1", "w:doi:10.1/a", "w:pmid:5")))
    assert (put.offset, put.arrived, put.work, put.state(), put.removed) == (3, 1003, "x:1", work, False)
    assert (removed.keys, removed.state(), removed.removed) == ((hashed("w:x:1"),), None, True)


def test_the_log_is_read_from_any_offset_to_its_current_end(log: ChangeLog):
    log.apply(records([Work(id=f"w{n}") for n in range(10)], 300), 400)
    assert [change.offset for change in log.changes(305, 3)] == [305, 306, 307]
    assert [change.offset for change in log.changes(305, 100)] == [305, 306, 307, 308, 309]
    assert log.changes(310, 5) == []
    assert log.changes(0, 0) == []
    log.apply(records([Work(id="w10")], 400), 401)
    assert [change.offset for change in log.changes(308, 100)] == [308, 309, 400]
    assert [change.offset for change in log.changes(308, 100)] == [308, 309, 400]


def test_a_log_that_begins_again_has_no_earlier_change(log: ChangeLog):
    key = hashed(work_key("w1"))
    log.apply(records([Work(id="w1")], 5), 8)
    assert log.changed_since([key], 5) == 5
    log.begin(7)
    assert log.changed_since([key], 7) is None
    log.apply(records([Work(id="w1")], 9), 10)
    assert log.changed_since([key], 7) == 9


def test_the_last_change_of_a_key_counts(log: ChangeLog):
    one, other = hashed(work_key("w1")), hashed(work_key("w2"))
    log.apply(records([Work(id="w1"), Work(id="w2"), Work(id="w1", year=2)], 5), 8)
    assert log.changed_since([one, other], 0) == 7
    assert log.changed_since([one], 7) == 7
    assert log.changed_since([one], 8) is None
    assert log.changed_since([other], 7) is None
    assert log.changed_since([], 0) is None


def test_an_existing_log_is_opened_with_its_filters(tmp_path: Path):
    """RocksDB would read the options from its file, which has no filters."""
    for _ in range(2):
        found = opened(tmp_path / "changes")
        newest = max((tmp_path / "changes").glob("OPTIONS-*"))
        found.close()
        assert "filter_policy=bloomfilter" in newest.read_text()


def test_an_unchanged_work_adds_no_change(log: ChangeLog):
    work = Work.from_json(b'{"id": "w1", "year": 2, "b": 1, "a": 2}')
    same = Work.from_json(b'{"id": "w1", "year": 2, "a": 2, "b": 1}')
    log.apply(records([work, work, "w2", same], 0), 4)
    log.apply(records([work, "w2"], 4), 6)
    assert [change.offset for change in log.changes(0, 9)] == [0]
    log.trim(6)
    log.apply(records([work, "w1", "w1", work], 6), 10)
    assert [change.offset for change in log.changes(0, 99)] == [7, 9]
    log.apply([], 12)
    assert log.offset == 12


def test_a_work_that_was_never_read_counts_as_changed(log: ChangeLog):
    """A log that began behind the start of the topic cannot know whether the catalog had the work."""
    log.apply(records([Work(id="w1")], 0), 1)
    log.begin(5)
    log.apply(records([Work(id="w1"), "w2", "w2"], 5), 8)
    assert [change.offset for change in log.changes(0, 9)] == [5, 6]
    assert log.changed_since([], 4) == 4


def test_a_trimmed_log_takes_no_more_space_than_its_digests(log: ChangeLog):
    log.apply(records([Work(id=f"w{n}", title=f"A title of the work {n}") for n in range(500)], 0), 500)
    for _ in range(3):
        log.trim(490, limit=200)
    assert log.start == 490
    assert len(list(log._rocks.rows(b"l"))) == 10
    assert all(int.from_bytes(row) >= 490 for _, row in log._rocks.rows(b"k"))
    assert len(list(log._rocks.rows(b"d"))) == 500


def random_history(seed: int, length: int) -> list[Work | str]:
    draw = random.Random(seed)
    found: list[Work | str] = []
    for _ in range(length):
        node = draw.choice(NODES[:-1])
        ids = Ids(doi=draw.choice((None, *DOIS)), pmid=draw.choice((None, *PMIDS)))
        found.append(node if draw.random() < 0.3 else Work(id=node, ids=ids, year=draw.randrange(9), title="x" * 40))
    return found
