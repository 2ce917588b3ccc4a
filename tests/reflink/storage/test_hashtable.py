"""Hash tables against a plain dictionary: narrow and wide, in memory and through a temporary file, with colliding hashes."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.storage.hashtable import ARRAYS, WIDE_ARRAYS, HashTable, HashTableBuilder
from tests.profiles import examples
from tests.reflink.catalog.works_of import colliding

Pairs = list[tuple[str, int]]
pairs_of_few = st.lists(st.tuples(st.text(max_size=2), st.integers(0, 40)), max_size=80)


def built(pairs: Pairs, *, wide: bool, folder: Path | None, without: list[int] | None = None) -> HashTable:
    builder = HashTableBuilder(wide=wide, folder=folder, waiting=16)
    for key, row in pairs:
        builder.add(key, row)
    builder.build()  # a table can be built more than once
    return builder.build(None if without is None else np.array(without, np.uint32))


def rows_by_key(pairs: Pairs) -> dict[str, list[int]]:
    rows: defaultdict[str, set[int]] = defaultdict(set)
    for key, row in pairs:
        rows[key].add(row)
    return {key: sorted(found) for key, found in rows.items()}


@settings(max_examples=examples(150))
@given(pairs=pairs_of_few, wide=st.booleans(), spilled=st.booleans(), without=st.sets(st.integers(0, 40)))
def test_a_table_equals_a_dictionary_also_without_some_rows(pairs: Pairs, wide: bool, spilled: bool, without: set[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) if spilled else None
        table = built(pairs, wide=wide, folder=place)
        for key, rows in rows_by_key(pairs).items():
            assert table.candidates(key) == rows
        assert sorted(table.shared()) == sorted(rows for rows in rows_by_key(pairs).values() if len(rows) > 1)
        assert not list(Path(folder).iterdir())
        kept = [(key, row - sum(other < row for other in without)) for key, row in pairs if row not in without]
        table = built(pairs, wide=wide, folder=place, without=sorted(without))
        for key in dict(pairs):
            assert table.candidates(key) == rows_by_key(kept).get(key, [])
        for name, (dtype, dimensions) in (WIDE_ARRAYS if wide else ARRAYS).items():
            assert (table.arrays()[name].dtype, table.arrays()[name].ndim) == (dtype, dimensions)


@settings(max_examples=examples(60))
@given(pairs=pairs_of_few, wide=st.booleans(), spilled=st.booleans())
def test_keys_of_equal_hashes_have_the_rows_of_all(pairs: Pairs, wide: bool, spilled: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, colliding():
        table = built(pairs, wide=wide, folder=Path(folder) if spilled else None)
        for key, rows in rows_by_key(pairs).items():
            assert {*table.candidates(key)} >= {*rows}
        found = [{*rows} for rows in table.shared()]
        assert all(any({*rows} <= group for group in found) for rows in rows_by_key(pairs).values() if len(rows) > 1)
        assert len(found) <= 2


@pytest.mark.parametrize("spilled", [True, False])
def test_a_large_table_has_many_buckets_and_few_false_candidates(tmp_path: Path, spilled: bool) -> None:
    builder = HashTableBuilder(folder=tmp_path if spilled else None, waiting=1000)
    for row in range(30_000):
        builder.add(f"key {row // 2}", row)
    table = builder.build()
    assert 8 * (len(table.starts) - 1) <= 30_000 < 16 * (len(table.starts) - 1)
    exact = sum(table.candidates(f"key {number}") == [2 * number, 2 * number + 1] for number in range(15_000))
    assert exact > 14_900
    assert all({2 * number, 2 * number + 1} <= {*table.candidates(f"key {number}")} for number in range(15_000))
    assert sum(bool(table.candidates(f"absent {number}")) for number in range(15_000)) < 100


def test_an_empty_table_has_no_rows(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        with nullcontext(HashTableBuilder(folder=folder).build()) as table:
            assert (table.candidates("key"), list(table.shared())) == ([], [])
