"""Every layout gives the records that a plain reading with json gives, however the file is cut into chunks."""

import gzip
import io
import json

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import BadRecord
from reflink.sources.documents import documents
from reflink.storage.decompression import decompressed
from tests.profiles import examples
from tests.reflink.sources.strategies import until_fault

SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=8
)  # fmt: skip
KEYS = st.text('ab"\\{[,]}é', max_size=3)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)  # fmt: skip
RECORDS = st.lists(st.dictionaries(st.sampled_from(["DOI", "id", "a\\", '"', "x,y"]), JSON, max_size=4), max_size=6)


class Dripping(io.RawIOBase):
    """A file that gives few bytes at once, as a decompressor does."""

    def __init__(self, data: bytes, size: int) -> None:
        self._file, self._size = io.BytesIO(data), size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        return self._file.readinto(memoryview(buffer)[: self._size])


def read(data: bytes, size: int = 1 << 20, **options):
    return list(documents(io.BufferedReader(Dripping(data, size), max(size, 2)), "f", **options))


def values(data: bytes, size: int = 1 << 20):
    return [each if isinstance(each, BadRecord) else each[1] for each in read(data, size)]


def page(records, indent):
    return json.dumps(
        {"status": "ok", "n": {"a": [1]}, "message": {"total": 3, "items": records, "next": {"x": "]}"}}}, indent=indent
    )


@settings(max_examples=examples(200))
@given(RECORDS, st.integers(1, 300), st.sampled_from([None, 1]))
def test_lists_in_any_place_and_cut_anywhere_give_all_records(records, size, indent):
    expected = json.loads(json.dumps(records))
    for text in (
        json.dumps(records, indent=indent),
        json.dumps({"items": records}, indent=indent),
        json.dumps({"meta": {"data": 1}, "results": records, "more": [1, "]"]}, indent=indent),
        page(records, indent),
        "\ufeff" + json.dumps({"data": records, "included": []}, ensure_ascii=False, indent=indent),
    ):
        assert values(text.encode(), size) == expected
    assert values((page(records, indent) + "\n" + page(records, None)).encode(), size) == expected * 2


@settings(max_examples=examples(100))
@given(RECORDS.filter(len), st.integers(1, 300))
def test_lines_and_single_documents_give_all_records(records, size):
    expected = json.loads(json.dumps(records))
    lines = "\n".join(map(json.dumps, records))
    assert values(lines.encode(), size) == expected
    assert values(("\n" + lines + "\n\n").encode(), size) == expected
    assert values(json.dumps(records[0], indent=1).encode(), size) == expected[:1]
    assert values(json.dumps({"message": records[0]}).encode(), size) == expected[:1]
    assert values(json.dumps({"data": records[0]}, indent=1).encode(), size) == expected[:1]
    wrapped = "\n".join(json.dumps({"message": record}) for record in records)
    assert values(wrapped.encode(), size) == expected
    pages = "\n".join(json.dumps({"n": 1, "message": {"items": [record]}}) for record in records)
    assert values(pages.encode(), size) == expected


@settings(max_examples=examples(300))
@given(
    st.binary(max_size=200) | JSON.map(orjson.dumps) | st.text('{}[]",:\\ \nadtmessgi1', max_size=80).map(str.encode),
    st.integers(1, 99),
)
def test_any_bytes_give_records_and_faults(data, size):
    found, fault = until_fault(documents(io.BufferedReader(Dripping(data, size), max(size, 2)), "f"))
    assert fault is None or "does not end" in str(fault)
    assert all(isinstance(each, BadRecord) or type(each[1]) is dict for each in found)


def test_a_bad_record_costs_only_itself():
    good = b'{"DOI": "10.1/%d"}'
    bad = [b'{"DOI": "\xff"}', b"{,}", b"17", b'"text"', b'{"a": [1}]', b"[" * 2000 + b"]" * 2000]
    for each in bad:
        in_list = read(b'{"items": [' + b",".join((good % 1, each, good % 2)) + b"]}")
        assert [item[1] for item in (in_list[0], in_list[-1])] == [{"DOI": "10.1/1"}, {"DOI": "10.1/2"}]
        assert len(in_list) == 3
        assert str(in_list[1]).startswith("f:item 2: not ")
        in_lines = read(b"\n".join((good % 1, each, good % 2)))
        assert [item[0] for item in (in_lines[0], in_lines[-1])] == [1, 3]
        assert str(in_lines[1]).startswith("f:2: not ")


def test_a_record_that_is_too_long_is_skipped_in_a_list_and_in_lines():
    long = json.dumps({"DOI": "x", "title": '\\"]}' * 300_000}).encode()
    small = b'{"DOI": "y"}'
    for data in (b"[" + b",".join((small, long, small)) + b"]", b"\n".join((small, long, small)) + b"\n"):
        for size in (1000, 70_001):
            first, bad, last = read(data, size, limit=100_000)
            assert first[1] == last[1] == {"DOI": "y"}
            assert "longer than 100000 bytes" in str(bad)


def test_a_list_that_does_not_end_gives_the_records_before():
    data = json.dumps({"items": [{"DOI": "a"}, {"DOI": "b"}, {"DOI": "c"}]}).encode()
    found, fault = until_fault(documents(io.BytesIO(data[:-8]), "f"))
    assert "does not end" in str(fault)
    assert [value for _, value in found] == [{"DOI": "a"}, {"DOI": "b"}]


def test_a_long_line_in_the_beginning_needs_no_list():
    record = {"title": "x" * 500_000, "DOI": "10.1/x"}
    assert values(json.dumps(record).encode() + b"\n" + json.dumps(record).encode()) == [record, record]


def test_a_truncated_file_with_a_bad_first_line_gives_the_lines_before_its_end():
    data = b"bad\n" + b"".join(b'{"a":%d}\n' % (number * 7919 % 100_003) for number in range(60_000))
    packed = io.BytesIO(gzip.compress(data)[:-100])
    found, fault = until_fault(documents(decompressed(packed.getvalue()[:6], packed), "f"))
    assert isinstance(fault, EOFError)
    assert isinstance(found[0], BadRecord)
    assert len(found) > 59_000
    assert all(not isinstance(each, BadRecord) for each in found[1:])


def test_a_compressed_file_can_be_given():
    with gzip.open(io.BytesIO(gzip.compress(b'{"items":[{"a":1},{"a":2}]}'))) as content:
        assert [value for _, value in documents(content, "f")] == [{"a": 1}, {"a": 2}]
