"""The ledger's store on disk."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.data import ROOT
from tests.profiles import examples
from workers.ledger.stores.outcome_store import TABLES, PartitionStore, Table

HOUR = 3600.0


def opened(folder: Path, stale_after_s: float = HOUR) -> PartitionStore:
    return PartitionStore(folder, stale_after_s=stale_after_s)


@pytest.fixture
def store(tmp_path: Path):
    store = opened(tmp_path / "0")
    yield store
    store.close()


def test_a_new_store_is_empty_with_offset_zero(store: PartitionStore):
    for table in TABLES:
        assert store.get(table, "a") is None
        assert store.next_offset(table) == 0
        assert list(store.rows(table)) == []


def test_tables_are_independent(store: PartitionStore):
    store.write([("links", "a", b"link"), ("manifests", "a", b"state")], {"links": 3})
    assert (store.get("links", "a"), store.get("manifests", "a")) == (b"link", b"state")
    assert (store.next_offset("links"), store.next_offset("manifests")) == (3, 0)
    store.write([("links", "a", None), ("links", "never there", None)], {})
    assert (store.get("links", "a"), store.get("manifests", "a")) == (None, b"state")
    assert store.next_offset("links") == 3


def test_a_reopened_store_has_its_rows_and_offsets(tmp_path: Path):
    store = opened(tmp_path / "0")
    store.write([("links", "a", b"1")], {"links": 7, "manifests": 2})
    store.close()
    store = opened(tmp_path / "0")
    assert (store.get("links", "a"), store.next_offset("links"), store.next_offset("manifests")) == (b"1", 7, 2)
    store.close()


def test_a_failing_write_changes_nothing(store: PartitionStore):
    store.write([("links", "a", b"old")], {"links": 1})

    def rows():
        yield "links", "a", b"new"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.write(rows(), {"links": 2})
    assert (store.get("links", "a"), store.next_offset("links")) == (b"old", 1)


def test_a_wiped_store_is_empty(store: PartitionStore):
    store.write([("links", "a", b"1")], {"links": 7})
    store.wipe()
    assert (store.get("links", "a"), store.next_offset("links"), list(store.rows("links"))) == (None, 0, [])
    store.write([("links", "b", b"2")], {"links": 1})
    assert store.get("links", "b") == b"2"


def test_a_stale_store_is_rebuilt_and_a_fresh_store_is_not(tmp_path: Path):
    store = opened(tmp_path / "0")
    store.write([("links", "a", b"1")], {"links": 7})
    store.close()
    store = opened(tmp_path / "0", stale_after_s=HOUR)
    assert store.next_offset("links") == 7
    store.close()
    time.sleep(0.05)
    store = opened(tmp_path / "0", stale_after_s=0.01)
    assert (store.next_offset("links"), list(store.rows("links"))) == (0, [])
    store.close()


def test_long_keys_are_distinct(store: PartitionStore):
    start = "doi:10.1/" + "x" * 600
    keys = [start + "a", start + "b", start[:499], start[:500], start[:501], "é" * 250, "é" * 251, "é" * 400]
    store.write([("links", key, key.encode()) for key in keys], {})
    assert [store.get("links", key) for key in keys] == [key.encode() for key in keys]
    store.write([("links", keys[0], None)], {})
    assert store.get("links", keys[0]) is None
    assert store.get("links", keys[1]) == keys[1].encode()


keys = st.text(max_size=5) | st.text(alphabet="aé", min_size=480, max_size=700)
writes = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from(TABLES), keys, st.none() | st.binary(max_size=20)), max_size=8),
        st.dictionaries(st.sampled_from(TABLES), st.integers(0, 2**62)),
    ),
    max_size=5,
)


@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
@given(writes)
def test_the_store_equals_dictionaries(store: PartitionStore, writes: list):
    store.wipe()
    tables: dict[Table, dict[str, bytes]] = {table: {} for table in TABLES}
    offsets: dict[Table, int] = dict.fromkeys(TABLES, 0)
    for rows, next_offsets in writes:
        store.write(rows, next_offsets)
        offsets.update(next_offsets)
        for table, key, value in rows:
            if value is None:
                tables[table].pop(key, None)
            else:
                tables[table][key] = value
    for table in TABLES:
        assert store.next_offset(table) == offsets[table]
        assert list(store.rows(table)) == sorted(tables[table].items(), key=lambda row: row[0].encode())
        for after in filter(None, tables[table]):
            assert [key for key, _ in store.rows(table, after)] == sorted(key for key in tables[table] if key > after)
        assert all(store.get(table, key) == value for key, value in tables[table].items())


def test_a_killed_writer_leaves_whole_transactions(tmp_path: Path):
    """Rows and offset are written together or not at all, wherever the kill falls."""
    script = f"""
        from pathlib import Path
        from workers.ledger.stores.outcome_store import PartitionStore
        store = PartitionStore(Path({str(tmp_path / "0")!r}), stale_after_s=1e9)
        for number in range(1, 10**6):
            store.write([("links", str(key), b"%d" % number) for key in range(50)], {{"links": number}})
            print(number, flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert process.stdout is not None
    reported = 0
    while reported < 20:
        reported = int(process.stdout.readline())
    process.kill()
    process.wait()
    store = opened(tmp_path / "0", stale_after_s=1e9)
    number = store.next_offset("links")
    assert number >= 20
    assert {store.get("links", str(key)) for key in range(50)} == {b"%d" % number}
    store.close()
