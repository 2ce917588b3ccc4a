import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.storage.idtable import ABSENT, IdTable

ids = st.lists(st.text(min_size=1, max_size=6), unique=True, max_size=30)


@given(ids)
def test_rows_have_the_order_of_python_strings(names: list[str]) -> None:
    table, order = IdTable.build(names)
    assert table.decode(range(len(table))) == sorted(names)
    assert [names[at] for at in order] == sorted(names)


@given(ids, ids)
def test_find_gives_the_row_or_absent(names: list[str], others: list[str]) -> None:
    table, _ = IdTable.build(names)
    rank = {name: row for row, name in enumerate(sorted(names))}
    wanted = names + others
    assert table.find(wanted).tolist() == [rank.get(name, ABSENT) for name in wanted]


@given(ids, st.data())
def test_merge_keeps_the_selected_rows_in_order(names: list[str], data: st.DataObject) -> None:
    split = data.draw(st.integers(0, len(names)))
    tables = [IdTable.build(part)[0] for part in (names[:split], names[split:])]
    keeps = [np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_) for n in map(len, tables)]
    merged = tables[0].merge(keeps[0], tables[1], keeps[1])
    alive = [table[row] for table, keep in zip(tables, keeps, strict=True) for row in np.flatnonzero(keep).tolist()]
    assert merged.table.decode(range(len(merged.table))) == sorted(alive)
    for table, keep, rows in zip(tables, keeps, (merged.first, merged.second), strict=True):
        for old, (kept, new) in enumerate(zip(keep, rows, strict=True)):
            assert merged.table[new] == table[old] if kept else new == ABSENT


def test_arrays_cannot_be_changed() -> None:
    table, _ = IdTable.build(["a"])
    with pytest.raises(ValueError, match="read-only"):
        table.blob[0] = 1
