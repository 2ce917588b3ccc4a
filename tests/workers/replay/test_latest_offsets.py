"""The newest record of a key, compared with a plain table."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workers.replay.latest_offsets import Newest

RECORDS = st.lists(st.tuples(st.sampled_from([f"key {n}".encode() for n in range(40)]), st.booleans()), max_size=200)


@given(RECORDS)
def test_with_space_for_all_keys_exactly_the_newest_records_are_not_superseded(records: list[tuple[bytes, bool]]):
    newest = Newest(len(records))
    last: dict[bytes, tuple[int, bool]] = {}
    for offset, (key, counted) in enumerate(records):
        newest.put(key, offset, counted=counted)
        last[key] = offset, counted
    kept = [offset for offset, (key, _) in enumerate(records) if not newest.superseded(key, offset)]
    assert newest.forgotten == 0
    assert kept == sorted(offset for offset, _ in last.values())
    assert newest.counted == sum(counted for _, counted in last.values())


@given(RECORDS)
def test_without_space_the_newest_record_of_a_key_is_never_superseded(records: list[tuple[bytes, bool]]):
    newest = Newest(len(records), max_slots=4)
    last: dict[bytes, int] = {}
    for offset, (key, counted) in enumerate(records):
        newest.put(key, offset, counted=counted)
        last[key] = offset
    assert not any(newest.superseded(key, offset) for key, offset in last.items())
    assert newest.counted >= sum(dict(records).values())
    assert newest.forgotten >= len(last) - 4
