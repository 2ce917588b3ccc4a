import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings

from reflink.errors import BadDump, BadRecord, DamagedFile
from reflink.sources.crossref import Crossref, record
from reflink.sources.source import SourceFile, SourceRecord
from tests.data import shared_data
from tests.profiles import examples
from tests.reflink.sources.strategies import check, hostile, records_of, until_fault

SOURCE = Crossref()
PATHS = """DOI type title title.0 title.1 subtitle subtitle.0 original-title author author.0 author.0.family author.0.given
    author.0.name editor editor.0.family container-title short-container-title.0 ISSN ISSN.0 issued issued.date-parts
    issued.date-parts.0.0 published-print.date-parts.0.0 published-online.date-parts.0.0 posted volume issue
    journal-issue journal-issue.issue journal-issue.published-print.date-parts.0.0 page article-number language
    relation relation.has-preprint relation.is-version-of.0.id relation.is-version-of.0.id-type update-to
    update-to.0.DOI update-to.0.type updated-by.0.DOI updated-by.0.type indexed indexed.timestamp
    indexed.timestamp.$numberLong deposited.timestamp alternative-id alternative-id.0 aliases aliases.0""".split()


def work(**fields):
    return record(
        {"DOI": "10.5555/A.1", "type": "journal-article", **{key.replace("_", "-"): value for key, value in fields.items()}}
    ).work


def date(*parts):
    return {"date-parts": [list(parts)]}


def read(path: Path):
    return [each for file in SOURCE.files([path]) for each in SOURCE.read(file)]


def test_an_article():
    found = record({
        "DOI": "10.5555/A.1", "type": "journal-article", "indexed": {"timestamp": 1700000000123},
        "deposited": {"timestamp": 5},
        "title": ["The <i>Drosophila</i>\n   genome &amp;amp; H<sub>2</sub>O"], "subtitle": ["A survey"],
        "original-title": ["Le génome"],
        "author": [{"family": "Müller", "given": "A.", "suffix": "Jr."}, {"name": "The Genome Group"},
                   {"given": "Ana Suharto"}, {}],
        "container-title": ["Journal of Tests"], "short-container-title": ["J. Test."], "ISSN": ["1234-5679", "bad"],
        "published-print": date(2020, 1), "published-online": date(2019, 12, 31), "issued": date(2019), "volume": "5",
        "issue": "2",
        "page": "101-9", "language": "eng", "alternative-id": ["S1234", "PMID: 123", "PMC77123"],
    })  # fmt: skip
    assert (found.key, found.version) == ("10.5555/a.1", 1700000000123)
    assert found.work.to_dict() == {
        "id": "doi:10.5555/a.1", "ids": {"doi": "10.5555/a.1", "pmid": "123", "pmcid": "PMC77123"},
        "title": "The Drosophila genome & H2O: A survey", "translated_titles": ["Le génome"],
        "authors": ["Müller", "The Genome Group", "Suharto"], "collectives": ["The Genome Group"],
        "venue": "Journal of Tests", "venue_abbreviations": ["J. Test."], "issns": ["1234-5679"],
        "year": 2020, "online_year": 2019, "volume": "5", "issue": "2", "fpage": "101", "lpage": "109",
        "type": "journal-article", "language": "en",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "year", "online"),
    [
        ({"published_print": date(2020), "published_online": date(2020)}, 2020, None),
        ({"published_online": date(2019), "issued": date(2019), "journal_issue": {"published-print": date(2020)}}, 2020, 2019),
        ({"published_online": date(2019), "issued": date(2019)}, 2019, None),
        ({"issued": {"date-parts": [[None]]}}, None, None),
        ({"issued": {"date-parts": ["2013", 11]}}, 2013, None),
        ({"posted": date(2021)}, 2021, None),
    ],
)
def test_the_year_is_that_of_print(fields, year, online):
    found = work(**fields)
    assert (found.year, found.online_year) == (year, online)


def test_a_title_that_contains_its_subtitle_and_a_repeated_original_title_stay_single():
    found = work(title=["Maps: a survey", "Cartes"], subtitle=["A Survey"], original_title=["Maps: A survey"])
    assert (found.title, found.translated_titles) == ("Maps: a survey", ("Cartes",))
    assert work(original_title=["Nur so"]).title == "Nur so"


def test_books_without_authors_have_their_editors():
    editors = [{"family": "Ed"}]
    assert work(type="edited-book", editor=editors).authors == ("Ed",)
    assert work(type="book-chapter", editor=editors).authors == ()


def test_an_article_number_replaces_pages():
    assert work(article_number="e17").fpage == "e17"


def test_relations_and_the_status_of_the_updated_work():
    found = work(
        relation={"has-preprint": [{"id-type": "doi", "id": "10.5555/pre"}], "cites": [{"id-type": "doi", "id": "10.5555/c"}],
                  "is-version-of": [{"id-type": "doi", "id": "10.5555/a.1"}, {"id-type": "uri", "id": "https://x.example"}]},
        updated_by=[{"DOI": "10.5555/Notice", "type": "retraction"}, {"DOI": "10.5555/e", "type": "erratum"}],
        update_to=[{"DOI": "10.5555/old", "type": "expression_of_concern"}],
    )  # fmt: skip
    assert [(each.kind, each.ids.doi, each.stated) for each in found.related] == [
        ("has-preprint", "10.5555/pre", "has-preprint"), ("concerns", "10.5555/old", "expression_of_concern"),
        ("retracted-by", "10.5555/notice", "retraction"), ("corrected-by", "10.5555/e", "erratum"),
    ]  # fmt: skip
    assert found.status == "retracted"
    assert work(updated_by=[{"DOI": "10.5555/n", "type": "expression_of_concern"}]).status == "concern"
    notice = work(update_to=[{"DOI": "10.5555/other", "type": "retraction"}])
    assert (notice.status, notice.related[0].kind) == (None, "retracts")
    withdrawn_in_place = work(update_to=[{"DOI": "10.5555/a.1", "type": "withdrawal"}])
    assert (withdrawn_in_place.status, withdrawn_in_place.related) == ("retracted", ())


def test_titles_and_relations_without_number_are_cut_and_the_status_stays():
    many = [f"T{number}" for number in range(2000)]
    others = [{"id-type": "doi", "id": f"10.5555/v{number}"} for number in range(3000)]
    found = work(title=many, container_title=many, relation={"has-version": others},
                 updated_by=[{"DOI": "10.5555/n", "type": "retraction"}])  # fmt: skip
    assert (found.status, found.related[-1].kind) == ("retracted", "retracted-by")
    assert len(found.to_json()) < 100_000


def test_records_that_are_no_works_are_withdrawn():
    found = record({"DOI": "10.5555/fig1", "type": "component", "indexed": {"timestamp": 7}})
    assert found == SourceRecord("10.5555/fig1", 7, None)


def test_aliases_are_replaced_by_the_work():
    prime, alias = SOURCE.records(
        {"DOI": "10.5555/new", "aliases": ["10.5555/OLD", "10.5555/new"], "indexed": {"timestamp": 3}}, 0
    )
    assert prime.key == "10.5555/new"
    assert alias == SourceRecord("10.5555/old", 3, None, replaced_by="10.5555/new")


@pytest.mark.parametrize("value", [{}, {"DOI": None}, {"DOI": "no doi"}, {"DOI": ["10.5555/x"]}])
def test_a_record_without_a_doi_is_bad(value):
    with pytest.raises(BadRecord, match="no DOI"):
        record(value)


@settings(max_examples=examples(400))
@given(records_of(PATHS))
def test_any_record_gives_a_state_or_is_bad(value):
    check(lambda record: SOURCE.records(record, 1), {"DOI": "10.5555/x", **value})
    check(record, value)


def test_long_texts_take_bounded_time_and_give_small_works():
    for value in hostile(PATHS):
        for found in check(record, {"DOI": "10.5555/x", **value}):
            assert found.work is None or len(found.work.to_json()) < 100_000


def test_the_newest_state_wins_in_any_order_of_the_files():
    old = {"DOI": "10.5555/x", "title": ["Old"], "indexed": {"timestamp": 1}}
    new = {"DOI": "10.5555/X", "title": ["New"], "indexed": {"timestamp": {"$numberLong": "2"}}}
    for order in ((old, new), (new, old)):
        newest = max((record(value, 9) for value in order), key=lambda each: each.version)
        assert newest.work.title == "New"


def items(*numbers: int) -> bytes:
    return json.dumps({"items": [{"DOI": f"10.5555/{number}"} for number in numbers]}).encode()


def test_tar_folder_lines_and_pages_give_the_same_records(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, number in (("0.json.gz", 0), ("2.json.gz", 2), ("10.json.gz", 10)):
        (folder / name).write_bytes(gzip.compress(items(number)))
    (folder / "README.txt").write_text("not JSON")
    (tmp_path / "lines.jsonl").write_text("".join(f'{{"DOI":"10.5555/{number}"}}\n' for number in (0, 2, 10)))
    (tmp_path / "page.json").write_bytes(b'{"status":"ok","message":' + items(0, 2, 10) + b"}")
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        archive.add(folder, "dump")
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        archive.add(folder, "dump")
    expected = ["10.5555/0", "10.5555/2", "10.5555/10"]
    for path in (folder, tmp_path / "lines.jsonl", tmp_path / "page.json"):
        assert [each.key for each in read(path)] == expected
    for path in (tmp_path / "all.tar", tmp_path / "all.tar.gz"):
        assert sorted(each.key for each in read(path)) == sorted(expected)


def test_a_damaged_member_costs_its_rest_and_a_truncated_archive_is_reported_behind_its_records(tmp_path):
    whole, path = gzip.compress(items(*range(2000))), tmp_path / "dump.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in (("0.json.gz", whole[:-40]), ("1.json.gz", gzip.compress(items(9999)))):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    *records, fault, last = read(path)
    assert last.key == "10.5555/9999"
    assert isinstance(fault, BadRecord)
    assert "dump.tar:0.json.gz: truncated or damaged" in str(fault)
    assert [each.key for each in records] == [f"10.5555/{number}" for number in range(len(records))]
    assert len(records) > 1900
    path.write_bytes(path.read_bytes()[: len(whole) // 2])
    found, fault = until_fault(SOURCE.read(SourceFile(path, "dump.tar")))
    assert isinstance(fault, DamagedFile)
    assert "dump.tar: truncated or damaged" in str(fault)
    assert len([each for each in found if isinstance(each, SourceRecord)]) > 600


def test_a_truncated_file_is_reported_behind_its_records(tmp_path):
    path = tmp_path / "0.jsonl.gz"
    lines = b"".join(b'{"DOI": "10.5555/%d", "title": ["%d"]}\n' % (number, number * 7919) for number in range(5000))
    path.write_bytes(gzip.compress(lines)[:-20])
    found, fault = until_fault(SOURCE.read(SourceFile(path, path.name)))
    assert isinstance(fault, DamagedFile)
    assert "0.jsonl.gz: truncated or damaged" in str(fault)
    assert len(found) > 4900
    assert all(isinstance(each, SourceRecord) for each in found)


def test_missing_paths_and_folders_without_files_are_named(tmp_path):
    with pytest.raises(BadDump, match="there is no such file"):
        SOURCE.files([tmp_path / "absent"])
    with pytest.raises(BadDump, match="no file of crossref"):
        SOURCE.files([tmp_path])


def plain_items(path: Path) -> list[dict]:
    """Return the records of a shared file by a plain reading."""
    if path.suffixes[-2:] == [".tar", ".gz"]:
        with tarfile.open(path) as archive:
            return [item for member in archive for item in json.load(archive.extractfile(member))["items"]]
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    try:
        value = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    value = value.get("message", value)
    return value.get("items", [value])


def test_all_shared_files_are_read():
    folder = shared_data() / "sources" / "crossref"
    files = SOURCE.files([folder])
    assert len(files) >= 16
    for file in files:
        expected, found = plain_items(file.path), list(SOURCE.read(file))
        assert [each.key for each in found] == [each["DOI"].lower() for each in expected], file.name
        for each, item in zip(found, expected, strict=True):
            if item["type"] in ("journal-article", "book-chapter", "proceedings-article"):
                people = [person.get("family") or person.get("name") for person in item.get("author", [])]
                assert [name for name in people if name] == list(each.work.authors), file.name
                assert each.work.volume == item.get("volume")
                assert each.version > 10**12
                check(record, item)


def test_the_time_of_indexing_may_be_a_date_alone():
    assert record({"DOI": "10.1000/a", "indexed": {"date-time": "2024-01-01T00:00:00Z"}}).version == 1_704_067_200_000
