import gzip
import io
import json
import tarfile

import pytest
import zstandard
from hypothesis import given, settings

from reflink.errors import BadRecord
from reflink.sources.datacite import DataCite, record
from reflink.sources.source import SourceRecord
from reflink.sources.values import milliseconds
from tests.data import shared_data
from tests.profiles import examples
from tests.reflink.sources.strategies import check, hostile, records_of

SOURCE = DataCite()
PATHS = """id attributes doi updated state types types.resourceTypeGeneral types.resourceType types.ris titles titles.0
    titles.0.title titles.0.titleType titles.1.title creators creators.0 creators.0.name creators.0.nameType
    creators.0.familyName container container.title container.firstPage container.lastPage container.identifier
    container.identifierType relatedItems.0.relationType relatedItems.0.titles.0.title publicationYear dates dates.0.date
    dates.0.dateType language identifiers.0.identifier identifiers.0.identifierType relatedIdentifiers.0.relationType
    relatedIdentifiers.0.relatedIdentifier relatedIdentifiers.0.relatedIdentifierType""".split()


def dois(**attributes) -> dict:
    known = {"doi": "10.5072/X", "types": {"resourceTypeGeneral": "Preprint"}, "updated": "2021-02-03T04:05:06.000Z"}
    return {"id": "10.5072/x", "type": "dois", "attributes": {**known, **attributes}}


def test_a_preprint():
    found = record(dois(
        titles=[{"title": "Zwei"}, {"title": "Two", "titleType": "TranslatedTitle"},
                {"title": "Teil", "titleType": "Subtitle"}],
        creators=[
            {"name": "Doe, Jane", "nameType": "Personal", "familyName": "Doe"}, {"name": "Roe, J."}, {"name": "(:Unav)"},
            {"name": "CERN", "nameType": "Organizational"}, {"name": "The Belle Collaboration"},
        ],
        container={"type": "Journal", "title": "Tests", "volume": "1", "issue": "2", "firstPage": "3", "lastPage": "4",
                   "identifier": "1234-5679", "identifierType": "ISSN"},
        publicationYear=2020, language="ger", identifiers=[{"identifier": "arXiv:2101.00001v2", "identifierType": "arXiv"}],
        relatedIdentifiers=[
            {"relationType": "IsVersionOf", "relatedIdentifier": "10.5072/Other", "relatedIdentifierType": "DOI"},
            {"relationType": "References", "relatedIdentifier": "10.5072/y", "relatedIdentifierType": "DOI"},
        ],
    ))  # fmt: skip
    assert (found.key, found.version) == ("10.5072/x", milliseconds("2021-02-03T04:05:06Z"))
    assert found.work.to_dict() == {
        "id": "doi:10.5072/x", "ids": {"doi": "10.5072/x", "arxiv": "2101.00001"}, "title": "Zwei: Teil",
        "translated_titles": ["Two"], "authors": ["Doe", "Roe", "CERN", "The Belle Collaboration"],
        "collectives": ["CERN", "The Belle Collaboration"], "venue": "Tests", "issns": ["1234-5679"], "year": 2020,
        "volume": "1", "issue": "2", "fpage": "3", "lpage": "4", "type": "posted-content", "language": "de",
        "related": [{"kind": "version-of", "ids": {"doi": "10.5072/other"}, "stated": "IsVersionOf"}],
    }  # fmt: skip


def test_an_arxiv_doi_gives_the_arxiv_id():
    assert record(dois(doi="10.48550/arXiv.1706.03762")).work.ids.arxiv == "1706.03762"


@pytest.mark.parametrize(
    ("types", "kind"),
    [
        ({"resourceTypeGeneral": "Text", "resourceType": "Journal Article"}, "journal-article"),
        ({"resourceTypeGeneral": "Text", "resourceType": "Something", "ris": "THES"}, "dissertation"),
        ({"resourceTypeGeneral": "Text", "ris": "RPRT"}, "other"),
        ({"resourceTypeGeneral": "ConferencePaper", "resourceType": "x"}, "proceedings-article"),
        ({"resourceType": "Thesis"}, "dissertation"),
    ],
)
def test_texts_have_crossrefs_types(types, kind):
    assert record(dois(types=types)).work.type == kind


@pytest.mark.parametrize(
    "attributes",
    [{"types": {"resourceTypeGeneral": "Dataset", "resourceType": "Article"}}, {"types": {}}, {"state": "registered"},
     {"types": {"resourceTypeGeneral": "PeerReview"}}],
)  # fmt: skip
def test_other_resources_and_hidden_dois_are_no_works(attributes):
    assert record(dois(**attributes)) == SourceRecord("10.5072/x", milliseconds("2021-02-03T04:05:06Z"), None)


def test_a_related_item_is_the_container():
    item = {"relationType": "IsPublishedIn", "titles": [{"title": "Tests"}], "volume": "9", "firstPage": "1", "lastPage": "1",
            "relatedItemIdentifier": {"relatedItemIdentifier": "1234-5679", "relatedItemIdentifierType": "ISSN"}}  # fmt: skip
    work = record(dois(container={}, relatedItems=[item])).work
    assert (work.venue, work.volume, work.fpage, work.lpage, work.issns) == ("Tests", "9", "1", None, ("1234-5679",))


def test_dois_that_differ_in_their_last_character_are_different_records():
    assert {record(dois(doi=doi)).key for doi in ("10.5072/a", "10.5072/a*", "10.5072/A")} == {"10.5072/a", "10.5072/a*"}


def test_a_record_without_a_doi_is_bad():
    with pytest.raises(BadRecord, match="no DOI"):
        record({"id": "x"})


@settings(max_examples=examples(400))
@given(records_of(PATHS))
def test_any_record_gives_a_state_or_is_bad(value):
    check(record, {"attributes": {"doi": "10.5072/x", "types": {"resourceTypeGeneral": "Text"}, **value}})
    check(record, value)


def test_long_texts_take_bounded_time_and_give_small_works():
    for value in hostile(PATHS):
        for found in check(record, {"doi": "10.5072/x", **value, "types": {"resourceTypeGeneral": "Text"}}):
            assert found.work is None or len(found.work.to_json()) < 100_000


def test_tar_and_lines_of_the_monthly_file(tmp_path):
    lines = b"".join(json.dumps(dois(doi=f"10.5072/{number}")).encode() + b"\n" for number in range(5))
    folder = tmp_path / "dump" / "dois" / "updated_2024-01"
    folder.mkdir(parents=True)
    (folder / "part_0000.jsonl.gz").write_bytes(gzip.compress(lines))
    (folder / "part_0001.jsonl.zst").write_bytes(zstandard.compress(lines))
    (folder / "2024-01.csv.gz").write_bytes(gzip.compress(b"doi,state\n"))
    (tmp_path / "dump" / "MANIFEST.json").write_text("{}")
    with tarfile.open(tmp_path / "DataCite.tar", "w") as archive:
        archive.add(tmp_path / "dump", "dump")
    (tmp_path / "page.json").write_text(json.dumps({"data": [dois(doi="10.5072/0")], "meta": {"total": 1}}))
    for path, count in ((tmp_path / "dump", 10), (tmp_path / "DataCite.tar", 10), (tmp_path / "page.json", 1)):
        found = [each for file in SOURCE.files([path]) for each in SOURCE.read(file)]
        assert len(found) == count
        assert {each.key for each in found} <= {f"10.5072/{number}" for number in range(5)}


def test_the_shared_files_are_read():
    folder = shared_data() / "sources" / "datacite"
    for file in SOURCE.files([folder]):
        if file.name.startswith("docs/"):
            continue
        data = file.path.read_bytes()
        if file.name.endswith(".gz"):
            data = gzip.decompress(data)
        elif file.name.endswith(".zst"):
            data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
        try:
            expected = json.loads(data)["data"]
        except (ValueError, KeyError):
            expected = [json.loads(line) for line in data.splitlines()]
        found = list(SOURCE.read(file))
        assert [each.key for each in found] == [each["id"].lower() for each in expected], file.name
        for each, value in zip(found, expected, strict=True):
            check(record, value)
            if each.work and value["attributes"]["publicationYear"]:
                assert each.work.year == int(value["attributes"]["publicationYear"])
