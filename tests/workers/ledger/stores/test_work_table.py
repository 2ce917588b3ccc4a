"""The table of works equals a simple table in memory after every step and after every opening."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.blocking.keys import hashed, work_key, work_keys
from reflink.catalog.works import Works
from reflink.entities import Ids, Work
from tests.profiles import examples
from tests.workers.ledger.worktables import MemoryWorkTable
from workers.ledger.stores import connected_components
from workers.ledger.stores.rocksdb import Rocks
from workers.ledger.stores.work_table import Change, WorkTable

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
#: Batches of changes, how many offsets each leaves out, and whether the table is opened again after it.
histories = st.lists(st.tuples(changes, st.integers(0, 3), st.booleans()), max_size=8)


def opened(folder: Path, topic_id: str | None = "t", stale_after_s: float = 1e9) -> WorkTable:
    return WorkTable(folder, topic_id=topic_id, stale_after_s=stale_after_s)


def records(what: Iterable[Work | str], start: int) -> list[Record]:
    return [(start + n, 1000 + start + n, each) for n, each in enumerate(what)]


def comparable(change: Change) -> tuple[object, ...]:
    return change.offset, change.arrived, change.work, sorted(change.keys), sorted(change.gone)


def assert_same(table: WorkTable, plain: MemoryWorkTable) -> None:
    assert table.offset == plain.offset
    assert len(table) == len(plain)
    for node in NODES:
        assert table.get(node) == plain.get(node)
        assert table.canonical(node) == plain.canonical(node)
        assert table.alive(node) == plain.alive(node)
    found = table.changes(0, 1000)
    assert list(map(comparable, found)) == list(map(comparable, plain.changes(0, 1000)))
    keys = {key for change in found for key in change.keys} | set(KEYS_OF_NODES)
    for key in keys:
        last = plain.changed_since([key], 0)
        assert table.changed_since([key], 0) == last
        assert table.changed_since([key], (-1 if last is None else last) + 1) is None


def put(works: Works, what: Work | str) -> None:
    if isinstance(what, str):
        works.delete(what)
    else:
        works.put(what)


@settings(max_examples=examples(60))
@given(histories)
def test_the_table_equals_the_table_in_memory(history: list[tuple[list[Work | str], int, bool]]):
    plain, catalog = MemoryWorkTable(), Works()
    with tempfile.TemporaryDirectory() as folder:
        table = opened(Path(folder) / "works")
        for batch, left_out, again in history:
            came = records(batch, plain.offset + left_out)
            for each in (table, plain):
                each.apply(came, plain.offset + left_out + len(batch))
            for what in batch:
                put(catalog, what)
            assert [table.canonical(node) for node in NODES] == [catalog.canonical(node) for node in NODES]
            assert_same(table, plain)
            if again:
                table.close()
                table = opened(Path(folder) / "works")
                assert_same(table, plain)
        table.close()


@settings(max_examples=examples(60))
@given(st.lists(works | st.sampled_from(NODES), max_size=15))
def test_a_change_has_the_keys_of_all_nodes_whose_canonical_id_changed(what: list[Work | str]):
    catalog = Works()
    with tempfile.TemporaryDirectory() as folder:
        table = opened(Path(folder) / "works")
        for offset, each in enumerate(what):
            before = {node: catalog.canonical(node) for node in NODES}
            borne = {node for node in NODES if catalog.bearers(node)}
            put(catalog, each)
            table.apply([(offset, 7, each)], offset + 1)
            moved = {node for node in NODES if catalog.canonical(node) != before[node]}
            gone = {node for node in borne if not catalog.bearers(node)}
            found = table.changes(offset, 9)
            assert {hashed(work_key(node)) for node in moved} <= {key for change in found for key in change.keys}
            assert gone == {node for change in found for node in change.gone}
            for change in found:
                assert (change.offset, change.arrived) == (offset, 7)
                assert set(map(hashed, work_keys(each) if isinstance(each, Work) else ())) <= set(change.keys)
                assert hashed(work_key(change.work)) in change.keys
        table.close()


@settings(max_examples=examples(30))
@given(changes, changes, st.integers(0, 10))
def test_applying_again_from_an_earlier_offset_changes_nothing(first: list[Work | str], second: list[Work | str], start: int):
    plain = MemoryWorkTable()
    with tempfile.TemporaryDirectory() as folder:
        table = opened(Path(folder) / "works")
        came = records([*first, *second], 0)
        for each in (table, plain):
            each.apply(came[: len(first)], len(first))
        plain.apply(came[len(first) :], len(came))
        table.apply(came[start : len(first)], min(start, len(first)))
        table.apply(came[min(start, len(first)) :], len(came))
        assert_same(table, plain)
        table.close()


@pytest.fixture
def table(tmp_path: Path):
    found = opened(tmp_path / "works")
    yield found
    found.close()


def test_the_log_is_read_from_any_offset_to_its_current_end(table: WorkTable):
    table.apply(records([Work(id=f"w{n}") for n in range(10)], 300), 400)
    assert [change.offset for change in table.changes(305, 3)] == [305, 306, 307]
    assert [change.offset for change in table.changes(305, 100)] == [305, 306, 307, 308, 309]
    assert table.changes(310, 5) == []
    assert table.changes(0, 0) == []
    table.apply(records([Work(id="w10")], 400), 401)
    assert [change.offset for change in table.changes(308, 100)] == [308, 309, 400]
    assert [change.offset for change in table.changes(308, 100)] == [308, 309, 400]


def test_the_last_change_of_a_key_counts(table: WorkTable):
    one, other = hashed(work_key("w1")), hashed(work_key("w2"))
    table.apply(records([Work(id="w1"), Work(id="w2"), Work(id="w1", year=2)], 5), 8)
    assert table.changed_since([one, other], 0) == 7
    assert table.changed_since([one], 7) == 7
    assert table.changed_since([one], 8) is None
    assert table.changed_since([other], 7) is None
    assert table.changed_since([], 0) is None


def test_an_existing_table_is_opened_with_its_filters(tmp_path: Path):
    """RocksDB would read the options from its file, which has no filters."""
    for _ in range(2):
        found = opened(tmp_path / "works")
        newest = max((tmp_path / "works").glob("OPTIONS-*"))
        found.close()
        assert "filter_policy=bloomfilter" in newest.read_text()


def test_an_unchanged_work_adds_no_change(table: WorkTable):
    work = Work.from_json(b'{"id": "w1", "year": 2, "b": 1, "a": 2}')
    same = Work.from_json(b'{"id": "w1", "year": 2, "a": 2, "b": 1}')
    table.apply(records([work, work, "w2", same], 0), 4)
    table.apply(records([work, "w2"], 4), 6)
    assert [change.offset for change in table.changes(0, 9)] == [0]
    assert table.offset == 6
    table.apply([], 9)
    assert table.offset == 9


def shared(numbers: Iterable[int]) -> list[Work | str]:
    return [Work(id=f"w{n:05}", ids=Ids(pmid="1")) for n in numbers]


def chained(numbers: Iterable[int]) -> list[Work | str]:
    return [Work(id=f"w{n:05}", ids=Ids(pmid=str(n), doi=f"10.1/{n + 1}", arxiv=str(n // 2))) for n in numbers]


@pytest.mark.parametrize("many", [shared, chained])
def test_a_work_of_a_thousand_records_is_read_once_per_call(table: WorkTable, monkeypatch: pytest.MonkeyPatch, many):
    """Ids descend, so each addition or removal changes the canonical id of all."""
    monkeypatch.setattr(connected_components, "MAX_REPORTED", 20)
    read, get_many = [0], Rocks.get_many

    def counted(rocks: Rocks, keys: Sequence[bytes]) -> list[bytes | None]:
        read[0] += len(keys)
        return get_many(rocks, keys)

    monkeypatch.setattr(Rocks, "get_many", counted)
    total = 2000
    what = [*many(range(total, 0, -1)), *(f"w{n:05}" for n in range(1, total, 3)), *(f"w{n:05}" for n in range(total, 0, -7))]
    catalog = Works()
    for start in range(0, len(what), 250):
        read[0], batch = 0, what[start : start + 250]
        table.apply(records(batch, start), start + len(batch))
        assert read[0] <= 6 * (total + 250), "each row at most once"
        for each in batch:
            put(catalog, each)
        for change in table.changes(start, 250):
            assert len(change.keys) < 40
        nodes = [f"w{n:05}" for n in range(1, total + 1, 37)] + ["pmid:1"]
        read[0] = 0
        assert [table.canonical(node) for node in nodes] == [catalog.canonical(node) for node in nodes]
        assert read[0] <= 6 * total, "traversed components are cached"


def test_a_change_of_a_large_component_has_the_keys_that_links_can_name(table: WorkTable, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connected_components, "MAX_REPORTED", 20)

    def keys_at(offset: int) -> set[bytes]:
        (change,) = table.changes(offset, 1)
        return set(change.keys)

    table.apply(records([*shared(range(10, 60)), *shared([5]), "w00005"], 0), 52)
    old, new = hashed(work_key("w00010")), hashed(work_key("w00005"))
    assert {old, new} <= keys_at(50)
    assert {old, new} <= keys_at(51)
    assert hashed(work_key("w00040")) not in keys_at(50) | keys_at(51)


def random_history(seed: int, length: int) -> list[Work | str]:
    draw = random.Random(seed)
    found: list[Work | str] = []
    for _ in range(length):
        node = draw.choice(NODES[:-1])
        ids = Ids(doi=draw.choice((None, *DOIS)), pmid=draw.choice((None, *PMIDS)))
        found.append(node if draw.random() < 0.3 else Work(id=node, ids=ids, year=draw.randrange(9), title="x" * 40))
    return found
