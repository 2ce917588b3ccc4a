import gzip
import json

import pytest
from hypothesis import given, settings

from reflink.errors import BadRecord
from reflink.sources.s2 import SemanticScholar, record
from reflink.sources.source import SourceRecord
from tests.data import shared_data
from tests.profiles import examples
from tests.reflink.sources.strategies import check, hostile, records_of

SOURCE = SemanticScholar()
PATHS = """corpusid corpusId externalids externalIds externalids.DOI externalids.PubMed externalids.PubMedCentral
    externalids.ArXiv externalids.CorpusId title authors authors.0 authors.0.name venue year publicationtypes
    publicationtypes.0 publicationTypes publicationdate journal journal.name journal.pages journal.volume publicationVenue
    publicationVenue.issn publicationVenue.alternate_names updated citedPaper citedPaper.corpusId""".split()


def test_a_paper():
    found = record({
        "corpusid": 17, "externalids": {"DOI": "10.5555/X", "PubMed": "123", "PubMedCentral": "456", "ArXiv": "1706.03762"},
        "title": "On tests", "authors": [{"authorId": "1", "name": "A. van der Berg"}, {"name": None}],
        "venue": "Int. Conf. Test.", "year": 2020, "publicationtypes": ["JournalArticle", "Conference"],
        "journal": {"name": "Tests", "pages": "1 - 9",
        "volume": "5"}, "publicationdate": "2020-05-01",
    }, 8)  # fmt: skip
    assert (found.key, found.version) == ("17", 8)
    assert found.work.to_dict() == {
        "id": "doi:10.5555/x", "ids": {"doi": "10.5555/x", "pmid": "123", "pmcid": "PMC456", "arxiv": "1706.03762"},
        "title": "On tests", "authors": ["van der Berg"], "venue": "Tests", "venue_abbreviations": ["Int. Conf. Test."],
        "year": 2020, "volume": "5", "fpage": "1", "lpage": "9", "type": "proceedings-article",
    }  # fmt: skip


def test_a_paper_without_identifiers_has_its_corpus_id():
    assert record({"corpusid": 5, "title": "T"}).work.id == "s2:5"


def test_a_line_of_a_diff_with_the_key_alone_deletes_and_other_datasets_are_refused():
    assert record({"corpusid": 5}, 3) == SourceRecord("5", 3, None)
    for value in ({"corpusid": 5, "abstract": "x"}, {"corpusid": 5, "sha": "x", "primary": True}):
        with pytest.raises(BadRecord, match="not a record of the dataset papers"):
            record(value)
    with pytest.raises(BadRecord, match="no corpus id"):
        record({"title": "T"})


@settings(max_examples=examples(400))
@given(records_of(PATHS))
def test_any_record_gives_a_state_or_is_bad(value):
    check(record, {"corpusid": 5, "title": "T", **value})
    check(record, value)


def test_long_texts_take_bounded_time_and_give_small_works():
    for value in hostile(PATHS):
        for found in check(record, {"corpusid": 5, "title": "T", **value}):
            assert found.work is None or len(found.work.to_json()) < 100_000


def test_files_of_a_release_have_any_name(tmp_path):
    (tmp_path / "20260917_070055_00026_x1").with_suffix(".gz").write_bytes(
        gzip.compress(b'{"corpusid":1,"title":"a"}\n{"corpusid":2}\n')
    )
    (file,) = SOURCE.files([tmp_path])
    assert [(each.key, each.work is None) for each in SOURCE.read(file)] == [("1", False), ("2", True)]


def test_the_shared_answer_is_read():
    path = shared_data() / "sources" / "s2orc" / "s2ag_Reference.json"
    (file,) = SOURCE.files([path])
    (found,) = SOURCE.read(file)
    paper = json.loads(path.read_text())["citedPaper"]
    assert found.key == str(paper["corpusId"])
    assert (found.work.title, found.work.year, found.work.fpage) == (paper["title"], paper["year"], "1791")
    assert found.work.authors == ("Mnih", "Gregor")
    assert found.work.venue_abbreviations == ("ICML", "Int Conf Mach Learn")
