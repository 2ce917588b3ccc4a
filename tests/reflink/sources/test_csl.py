import json

import pytest
from hypothesis import given, settings

from reflink.errors import BadRecord
from reflink.sources.csl import Csl, record
from tests.data import shared_data
from tests.profiles import examples
from tests.reflink.sources.strategies import check, hostile, records_of

SOURCE = Csl()
PATHS = """id DOI PMID PMCID type title author author.0 author.0.family author.0.given author.0.literal
    author.0.non-dropping-particle editor.0.family container-title container-title-short journalAbbreviation issued
    issued.date-parts issued.date-parts.0.0 issued.raw issued.year volume issue page page-first number article-number ISSN
    language original-title""".split()


def test_an_article():
    found = record({
        "id": "doe 2020", "type": "article-journal", "title": "On tests", "original-title": "Über Tests", "page": "12–19",
        "author": [{"family": "Gogh", "given": "V.", "non-dropping-particle": "van"}, {"literal": "The Group"}],
        "container-title": "Journal of Tests", "container-title-short": "J. Test.", "issued": {"date-parts": [["2020", 1]]},
        "volume": 5, "issue": "2", "DOI": "10.5555/X", "PMID": "17", "ISSN": "1234-5679, 2041-1723", "language": "en-US",
    }, 4)  # fmt: skip
    assert (found.key, found.version) == ("10.5555/x", 4)
    assert found.work.to_dict() == {
        "id": "doi:10.5555/x", "ids": {"doi": "10.5555/x", "pmid": "17"}, "title": "On tests",
        "translated_titles": ["Über Tests"],
        "authors": ["van Gogh", "The Group"], "collectives": ["The Group"], "venue": "Journal of Tests",
        "venue_abbreviations": ["J. Test."], "issns": ["1234-5679", "2041-1723"], "year": 2020, "volume": "5", "issue": "2",
        "fpage": "12", "lpage": "19", "type": "journal-article", "language": "en",
    }  # fmt: skip


def test_items_of_two_libraries_with_one_id_stay_apart():
    one, two = (record({"id": "doe 2020", "title": title}) for title in ("One", "Two"))
    assert one.key != two.key
    assert one.key == record({"id": "doe 2020", "title": "One", "note": "read"}).key
    assert one.work.id == f"csl:{one.key}"
    assert one.key.startswith("doe_2020~")


@pytest.mark.parametrize("value", [{}, {"title": "T"}, {"id": "x"}, {"id": "x", "title": "…"}])
def test_an_item_without_id_or_title_is_bad(value):
    with pytest.raises(BadRecord):
        record(value)


@settings(max_examples=examples(400))
@given(records_of(PATHS))
def test_any_record_gives_a_state_or_is_bad(value):
    check(record, {"id": "x", "title": "T", **value})
    check(record, value)


def test_long_texts_take_bounded_time_and_give_small_works():
    for value in hostile(PATHS):
        for found in check(record, {"id": "x", "title": "T", **value}):
            assert found.work is None or len(found.work.to_json()) < 100_000


def test_lists_are_read(tmp_path):
    path = tmp_path / "library.json"
    path.write_text(json.dumps([{"id": 1, "title": "A"}, 17, {"id": 2, "title": "B"}], indent=1))
    (file,) = SOURCE.files([tmp_path])
    first, bad, last = SOURCE.read(file)
    assert (first.work.title, last.work.title) == ("A", "B")
    assert "library.json:item 2: not a JSON object" in str(bad)
    assert first.version == file.version > 0


def test_the_shared_items_are_read():
    folder = shared_data() / "sources" / "csl"
    for name in ("citeproc.json", "citeproc-no-author.json", "citeproc-no-categories.json"):
        (file,) = SOURCE.files([folder / name])
        (found,) = SOURCE.read(file)
        item = json.loads((folder / name).read_text())
        assert found.key == item["DOI"]
        assert (found.work.title, found.work.year) == (item["title"], 2016)
        assert list(found.work.authors) == [each["family"] for each in item.get("author", [])]
