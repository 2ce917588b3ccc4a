import gzip
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import BadDump, BadRecord, DamagedFile
from reflink.sources.openalex import OpenAlex, record
from reflink.sources.openalex.works import gone
from reflink.sources.source import SourceFile, SourceRecord
from reflink.sources.values import milliseconds
from tests.data import shared_data
from tests.profiles import examples
from tests.reflink.sources.strategies import check, hostile, records_of, until_fault

SOURCE = OpenAlex()
PATHS = """id doi ids ids.doi ids.pmid ids.pmcid title display_name authorships authorships.0 authorships.0.raw_author_name
    authorships.0.author authorships.0.author.display_name primary_location primary_location.source
    primary_location.source.display_name primary_location.source.type primary_location.source.issn
    primary_location.raw_source_name biblio biblio.volume biblio.issue biblio.first_page biblio.last_page type type_crossref
    is_paratext is_retracted language publication_year updated_date host_venue host_venue.display_name""".split()
DAY = 86_400_000


def line(number: int, **fields) -> dict:
    return {"id": f"https://openalex.org/W{number}", "updated_date": "2026-06-24", "type": "article", **fields}


def partition(works: Path, date: str, part: str, *records: dict) -> dict:
    """Write a part of a partition, and return its entry in the manifest."""
    path = works / f"updated_date={date}" / part
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(b"".join(json.dumps(each).encode() + b"\n" for each in records)))
    url = f"s3://openalex/data/jsonl/works/updated_date={date}/{part}"
    return {"url": url, "meta": {"content_length": path.stat().st_size, "record_count": len(records)}}


def read(*paths: Path):
    return [each for file in SOURCE.files(paths) for each in SOURCE.read(file)]


def test_an_article():
    found = record({
        "id": "https://openalex.org/W27", "doi": "https://doi.org/10.5555/Abc", "updated_date": "2026-06-24T01:02:03.456789",
        "ids": {"pmid": "https://pubmed.ncbi.nlm.nih.gov/123", "pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/456789"},
        "title": "On <i>E. coli</i>", "type": "article", "language": "en", "publication_year": 2020, "is_retracted": True,
        "authorships": [
            {"raw_author_name": "Beckman, Christine M.", "author": {"display_name": "Someone Else"}},
            {"author": {"display_name": "Ludwig van der Berg"}}, {"raw_author_name": "The ABC Consortium"}, {"author": None},
        ],
        "primary_location": {"raw_source_name": "J. Test.", "source": {
            "display_name": "Journal of Tests", "issn": ["1234-5679"], "type": "journal"}},
        "biblio": {"volume": "5", "issue": None, "first_page": "7", "last_page": "7"},
        "abstract_inverted_index": {"On": [0]},
    })  # fmt: skip
    assert found.key == "W27"
    assert found.version == datetime(2026, 6, 24, 1, 2, 3, 456_000, UTC).timestamp() * 1000
    assert found.work.to_dict() == {
        "id": "doi:10.5555/abc", "ids": {"doi": "10.5555/abc", "pmid": "123", "pmcid": "PMC456789"}, "title": "On E. coli",
        "authors": ["Beckman", "van der Berg", "The ABC Consortium"], "collectives": ["The ABC Consortium"],
        "venue": "Journal of Tests", "venue_abbreviations": ["J. Test."], "issns": ["1234-5679"], "year": 2020, "volume": "5",
        "fpage": "7", "type": "journal-article", "language": "en", "status": "retracted",
    }  # fmt: skip


def test_a_work_without_identifiers_has_its_id_in_openalex():
    assert record(line(5)).work.id == "openalex:W5"


def test_a_repository_is_the_venue_of_preprints_only():
    location = {"source": {"display_name": "arXiv", "type": "repository", "issn": None}}
    assert record(line(5, type="preprint", primary_location=location)).work.venue == "arXiv"
    assert record(line(5, type="dissertation", primary_location=location)).work.venue is None


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"type": "article", "type_crossref": "proceedings-article"}, "proceedings-article"),
        ({"type": "preprint"}, "posted-content"),
        ({"type": "book-chapter"}, "book-chapter"),
        ({"type": "something new"}, "other"),
        ({"type": None}, None),
    ],
)
def test_types_become_those_of_crossref(fields, kind):
    assert record(line(1, **fields)).work.type == kind


@pytest.mark.parametrize(
    "fields", [{"type": "paratext"}, {"is_paratext": True}, {"type": "peer-review"}, {"type_crossref": "component"}]
)
def test_what_is_no_work_is_withdrawn(fields):
    assert record(line(1, **fields)).work is None


@pytest.mark.parametrize("value", [{}, {"id": None}, {"id": "https://openalex.org/A5"}, {"id": "W1 "}])
def test_a_record_without_an_id_is_bad(value):
    with pytest.raises(BadRecord, match="no id"):
        record(value)


@settings(max_examples=examples(400))
@given(records_of(PATHS))
def test_any_record_gives_a_state_or_is_bad(value):
    check(record, {"id": "W1", **value})
    check(record, value)


def test_long_texts_take_bounded_time_and_give_small_works():
    for value in hostile(PATHS):
        for found in check(record, {"id": "W1", **value}):
            assert found.work is None or len(found.work.to_json()) < 100_000


def test_merged_and_deleted_works_are_newer_than_the_updates_of_their_day():
    merged, deleted = gone("W1", "2022-06-06", "W2"), gone("W3", "2026-08-15")
    assert (merged.work, merged.replaced_by, deleted.work, deleted.replaced_by) == (None, "W2", None, None)
    assert merged.version > record(line(1, updated_date="2022-06-06T23:59:59.998")).version
    assert merged.version < record(line(1, updated_date="2022-06-07")).version
    assert gone("W1", "2022-06-06", "W1").replaced_by is None


def test_the_layout_of_2026(tmp_path):
    data = tmp_path / "data"
    works = data / "jsonl" / "works"
    entries = [
        partition(works, "2026-06-24", "part_0000.gz", line(1), line(2)),
        partition(works, "2026-06-25", "part_0000.gz", line(1, updated_date="2026-06-25", title="New")),
    ]
    (works / "manifest.json").write_text(json.dumps({"entity": "works", "record_count": 3, "files": entries}))
    (data / "jsonl" / "manifest.json").write_text(json.dumps({"entities": [{"entity": "works", "files": entries}]}))
    (works / "deleted_ids.csv.gz").write_bytes(
        gzip.compress(b"work_id,deleted_date\nhttps://openalex.org/W2,2026-07-01\nbad,row\n")
    )
    partition(data / "jsonl" / "authors", "2026-06-24", "part_0000.gz", {"id": "A1"})
    partition(works, "2026-03-01", "part_0000.gz", line(9))  # left from an earlier release
    for path in (tmp_path, data, data / "jsonl", works):
        files = SOURCE.files([path])
        assert sorted(file.expected for file in files if file.expected) == [1, 2]
        *records, deleted, bad = read(path)
        assert [(each.key, each.work.title) for each in records] == [("W1", None), ("W2", None), ("W1", "New")]
        assert (deleted.key, deleted.work, deleted.replaced_by) == ("W2", None, None)
        assert "deleted_ids.csv.gz:3: no id" in str(bad)
    assert [each.key for each in read(works / "updated_date=2026-06-25")] == ["W1"]
    (part,) = SOURCE.files([works / "updated_date=2026-06-24" / "part_0000.gz"])
    assert (part.expected, part.version) == (2, milliseconds("2026-06-24"))


def test_the_layout_before_2026(tmp_path):
    works = tmp_path / "data" / "works"
    entry = partition(works, "2023-05-16", "part_000.gz", line(1, updated_date="2023-05-16"))
    (works / "manifest").write_text(json.dumps({"entries": [entry], "meta": {"record_count": 1}}))
    for entity in ("works", "authors"):
        table = tmp_path / "data" / "merged_ids" / entity / "2023-06-06.csv.gz"
        table.parent.mkdir(parents=True)
        table.write_bytes(gzip.compress(f"merge_date,id,merge_into_id\n2023-06-06,{entity[0].upper()}1,W7\n".encode()))
    first, merged = read(tmp_path)
    assert (first.key, merged) == ("W1", SourceRecord("W1", milliseconds("2023-06-07") - 1, None, replaced_by="W7"))


@given(st.binary(max_size=200))
def test_any_table_gives_states_and_faults(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("table") / "deleted_ids.csv"
    path.write_bytes(b"work_id,deleted_date\n" + data + b'\n"W7","2026-07-01"\n')
    *_, last = SOURCE.read(SourceFile(path, path.name))
    assert last.key == "W7"


def test_an_incomplete_copy_is_refused(tmp_path):
    works = tmp_path / "works"
    entries = [partition(works, "2026-06-24", f"part_000{number}.gz", line(number)) for number in range(3)]
    manifest = works / "manifest.json"
    manifest.write_text(json.dumps({"files": entries}))
    part = works / "updated_date=2026-06-24" / "part_0001.gz"
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.raises(BadDump, match=r"1 files have another size .*part_0001\.gz"):
        SOURCE.files([works])
    part.unlink()
    with pytest.raises(BadDump, match=r"1 of the 3 files of the manifest are missing: .*part_0001\.gz"):
        SOURCE.files([tmp_path])
    manifest.write_text("{")
    with pytest.raises(BadDump, match="not a manifest"):
        SOURCE.files([works])
    manifest.write_text('{"files": [null, {"url": 5}], "entries": 7, "entities": {"files": null}}')
    assert len(SOURCE.files([works])) == 2
    shutil.rmtree(works)
    works.mkdir()
    with pytest.raises(BadDump, match="no file of"):
        SOURCE.files([works])


def test_parquet_gives_the_same_works_and_is_read_only_without_json(tmp_path):
    works = [
        line(1, title="One", ids={"doi": "https://doi.org/10.5555/1", "pmid": None}, biblio={"volume": "3", "first_page": "1"},
             authorships=[{"raw_author_name": "A. Bee"}], publication_year=2001, is_retracted=False),
        {"id": None, "title": "no id"},
    ]  # fmt: skip
    folder = tmp_path / "data" / "parquet" / "works" / "updated_date=2026-06-24"
    folder.mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(works), folder / "part_0000.parquet")
    first, bad = read(tmp_path)
    assert first == record(works[0])
    assert "part_0000.parquet:row 2: no id" in str(bad)
    (folder / "part_0001.parquet").write_bytes(b"PAR1 not Parquet")
    with pytest.raises(DamagedFile, match=r"part_0001\.parquet"):
        read(folder)
    partition(tmp_path / "data" / "jsonl" / "works", "2026-06-24", "part_0000.gz", line(5))
    assert [each.key for each in read(tmp_path)] == ["W5"]


def test_a_page_of_the_interface(tmp_path):
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"meta": {"count": 2}, "results": [line(1), line(2)], "group_by": []}))
    assert [each.key for each in read(path)] == ["W1", "W2"]


def test_a_truncated_part_is_reported_behind_its_records(tmp_path):
    partition(
        tmp_path / "works", "2026-06-24", "part_0000.gz", *(line(number, title=str(number * 7919)) for number in range(3000))
    )
    (file,) = SOURCE.files([tmp_path])
    file.path.write_bytes(file.path.read_bytes()[:-30])
    found, fault = until_fault(SOURCE.read(file))
    assert isinstance(fault, DamagedFile)
    assert len(found) > 2900


def test_the_shared_works_are_read():
    path = shared_data() / "sources" / "openalex" / "works_part_test.gz"
    expected = [json.loads(each) for each in gzip.decompress(path.read_bytes()).splitlines()]
    found = list(SOURCE.read(SourceFile(path, path.name)))
    assert [each.key for each in found] == [each["id"].rpartition("/")[2] for each in expected]
    uncited = [each for each in expected if each["type"] in ("journal", "peer-review", "book-set") or each["is_paratext"]]
    assert [each.key for each in found if each.work is None] == [each["id"].rpartition("/")[2] for each in uncited]
    for each, value in zip(found, expected, strict=True):
        check(record, value)
        assert each.version == milliseconds(value["updated_date"])
        if each.work:
            assert (each.work.year, each.work.volume) == (value["publication_year"], value["biblio"]["volume"])
            assert len(each.work.authors) == len(value["authorships"])
            assert (each.work.ids.doi or "") == (value["doi"] or "").lower().removeprefix("https://doi.org/")


def test_the_shared_manifest_names_the_files_that_are_missing():
    folder = shared_data() / "sources" / "openalex" / "snapshot"
    entries = json.loads((folder / "works" / "manifest").read_text())["entries"]
    with pytest.raises(BadDump, match=f"{len(entries)} of the {len(entries)} files of the manifest are missing"):
        SOURCE.files([folder])
