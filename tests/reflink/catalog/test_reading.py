from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reflink.catalog.reading import read_works, work_from
from reflink.entities import Ids, Work
from reflink.errors import BadRecord
from tests.data import shared_data

GOOD = Work(id="doi:10.1000/a", ids=Ids(doi="10.1000/a", pmid="1"), title="T", authors=("A", "B"), year=2001, volume="7")


def test_a_flat_and_a_nested_record_give_the_same_work() -> None:
    ids = {"id": "doi:10.1000/a", "doi": "10.1000/a", "pmid": 1}
    flat = {**ids, "title": "T", "authors": ["A", "B"], "year": 2001, "volume": 7}
    assert work_from(flat) == work_from(GOOD.to_dict()) == GOOD


def test_identifiers_are_normalised_and_supply_a_missing_id() -> None:
    made = work_from({"doi": "https://doi.org/10.1234/ABC", "pmid": "none", "pmcid": None})
    assert made == Work(id="doi:10.1234/abc", ids=Ids(doi="10.1234/abc"))
    assert work_from({"id": " W1 "}).id == "W1"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "not a JSON object"),
        ({}, "id: missing"),
        ({"id": 7}, "id: not a string"),
        ({"title": "T"}, "id: missing"),
        ({"id": "a", "ids": [1]}, "ids"),
        ({"id": "a", "year": "two thousand"}, "year"),
        ({"id": "a", "authors": "Meyer"}, "authors"),
        ({"id": "a", "title": 5}, "title"),
    ],
)
def test_a_record_that_is_not_a_work_is_refused_with_the_field(record: Any, message: str) -> None:
    with pytest.raises(BadRecord, match=message):
        work_from(record)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["id", "ids", "doi", "pmid", "title", "authors", "year", "volume"]), json_values))
def test_any_json_is_a_work_or_a_bad_record(record: Any) -> None:
    try:
        answer = work_from(record).id
    except BadRecord as error:
        answer = str(error)
    assert answer
    assert "\n" not in answer or answer == record["id"].strip()


identifiers = (
    st.text(max_size=12)
    | st.from_regex(r"(doi: ?|https://doi\.org/)?10\.[0-9]{4}/[a-z(\[%2.,;/#&<>\"\\ ]{1,12}")
    | st.integers(0)
)


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "doi", "pmid", "pmcid", "arxiv", "title", "volume"), identifiers))
)
@example({"doi": "10.1/a%2525b"})
@example({"doi": "https://doi.org/doi:10.1/a&amp;amp;lt;b"})
def test_a_work_survives_reading_as_json(record: Any) -> None:
    """Events, stores and snapshots contain works as JSON."""
    try:
        work = work_from(record)
    except BadRecord:
        return
    assert Work.from_json(work.to_json()) == work
    assert work_from(json.loads(work.to_json())) == work


def test_invalid_lines_are_reported_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "works.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.to_json() + b"\r\n\n{broken\n" + b'{"id":"\xff"}\n[]\n{"id":"b"}')
    read = list(read_works(path))
    assert read[0] == GOOD
    assert [str(bad).split(": ")[0] for bad in read[1:4]] == [f"{path}:{line}" for line in (3, 4, 5)]
    assert read[4:] == [Work(id="b")]


def test_gzip_is_recognised_by_its_content(tmp_path: Path) -> None:
    path, read = tmp_path / "works", []
    path.write_bytes(gzip.compress(GOOD.to_json() + b"\n"))
    assert list(read_works(path, progress=read.append)) == [GOOD]
    assert read == [path.stat().st_size]


def test_a_cut_archive_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "works.jsonl.gz"
    lines = b"".join(json.dumps({"id": str(n), "title": str(n * 7919)}).encode() + b"\n" for n in range(2000))
    path.write_bytes(gzip.compress(lines)[:-100])
    with pytest.raises(BadRecord, match="cannot be decompressed after line"):
        list(read_works(path))


def test_the_shared_works_are_read_without_loss(tmp_path: Path) -> None:
    source = shared_data() / "works.jsonl.gz"
    with gzip.open(source) as lines:
        records = [json.loads(next(lines)) for _ in range(5000)]
    sample = tmp_path / "works.jsonl"
    sample.write_text("\n".join(map(json.dumps, records)))
    for work, record in zip(read_works(sample), records, strict=True):
        assert isinstance(work, Work)
        for name in ("id", "title", "year", "venue", "volume", "fpage", "meta", "title_group"):
            assert getattr(work, name, None) == record.get(name)
        assert work.ids.pmid == record.get("pmid")
        assert list(work.authors) == record.get("authors", [])
