import json
from typing import Any

import pytest

from reflink.errors import NotAPaper, TooLarge
from reflink.formats import Content, Options, parse
from reflink.limits import Limits
from tests.reflink.formats.reading import fields, parsed, recognising
from tests.reflink.formats.samples import sample, samples

WORK: dict[str, Any] = {
    "DOI": "10.5555/a", "type": "journal-article", "title": ["On tests"], "publisher": "Press",
    "author": [{"given": "Jane", "family": "Doe"}], "issued": {"date-parts": [[2020]]}, "reference-count": 1,
}  # fmt: skip


def of(*references: dict[str, Any]) -> bytes:
    return json.dumps({"message-type": "work", "message": {**WORK, "reference": list(references)}}).encode()


def test_a_reference_with_fields():
    stated = {
        "key": "ref1", "author": "SB Prusiner", "article-title": "<i>Prions</i>", "journal-title": "PNAS", "year": "1998a",
        "volume": "95", "issue": "23", "first-page": "13363-8", "DOI": "10.1073/PNAS.95.23.13363",
        "doi-asserted-by": "publisher",
    }  # fmt: skip
    assert fields(of(stated)) == [{
        "xml_id": "ref1", "last_names": ["Prusiner"], "given_names": ["SB"], "title": "Prions", "venue": "PNAS", "year": 1998,
        "volume": "95", "issue": "23", "first_page": "13363", "last_page": "13368", "ids": {"doi": "10.1073/pnas.95.23.13363"},
    }]  # fmt: skip


def test_a_doi_that_crossref_matched_is_weak_unless_it_is_all_that_is_known():
    matched = {"key": "1", "author": "Amon", "DOI": "10.5555/m", "doi-asserted-by": "crossref"}
    assert fields(of(matched)) == [{"xml_id": "1", "last_names": ["Amon"], "ids_weak": {"doi": "10.5555/m"}}]
    alone = {"key": "1", "DOI": "10.5555/m", "doi-asserted-by": "crossref"}
    assert fields(of(alone)) == [{"xml_id": "1", "ids": {"doi": "10.5555/m"}}]
    own = {"key": "1", "unstructured": "Amon 1996 doi:10.5555/own", "DOI": "10.5555/m", "doi-asserted-by": "crossref"}
    assert fields(of(own)) == [{"xml_id": "1", "ids_weak": {"doi": "10.5555/own"}}]


@pytest.mark.parametrize(
    ("stated", "title", "venue"),
    [
        ({"volume-title": "Convex Analysis"}, "Convex Analysis", None),
        ({"volume-title": "Convex Analysis", "series-title": "Lecture Notes"}, "Convex Analysis", "Lecture Notes"),
        ({"article-title": "A chapter", "volume-title": "A book"}, "A chapter", "A book"),
        ({"series-title": "Lecture Notes"}, None, "Lecture Notes"),
        ({"volume-title": "Part B", "journal-title": "A journal"}, None, "A journal"),
    ],
)
def test_books_chapters_and_series(stated: dict[str, str], title: str | None, venue: str | None):
    (found,) = fields(of({"key": "1", **stated}))
    assert (found.get("title"), found.get("venue")) == (title, venue)


def test_the_work_itself():
    ((paper,),) = ([each.paper for each in parsed(of())],)
    assert paper.to_dict() == {
        "id": "doi:10.5555/a", "ids": {"doi": "10.5555/a"}, "title": "On tests", "authors": ["Doe"], "publisher": "Press",
        "year": 2020, "article_type": "journal-article",
    }  # fmt: skip


def test_pages_lists_and_lines_hold_several_works():
    works = [{**WORK, "DOI": f"10.5555/{number}", "reference": [{"key": "1", "year": "2001"}]} for number in range(3)]
    page = json.dumps({"status": "ok", "message-type": "work-list", "message": {"items": works}}).encode()
    lines = b"\n".join(json.dumps(each).encode() for each in works)
    for data in (page, json.dumps(works).encode(), json.dumps({"items": works}).encode(), lines):
        found = parsed(data, source="file")
        assert [each.paper.id for each in found] == ["doi:10.5555/0", "doi:10.5555/1", "doi:10.5555/2"]
        assert [len(each.paper.references) for each in found] == [1, 1, 1]
        assert recognising(data) == ["crossref"]


def test_references_are_limited_in_all_and_broken_lines_are_refused():
    works = [{**WORK, "DOI": f"10.5555/{number}", "reference": [{"key": "1", "year": "2001"}] * 2} for number in range(3)]
    content = Content(json.dumps(works).encode())
    with pytest.raises(TooLarge):
        parse(content, options=Options(limits=Limits(references=5)))
    assert len(parse(content, options=Options(limits=Limits(references=6)))) == 3
    with pytest.raises(NotAPaper, match="line 2"):
        parsed(json.dumps(works[0]).encode() + b"\n{broken")


def test_the_same_work_twice_is_one_paper():
    works = [{**WORK, "reference": [{"key": str(at), "year": "2001"} for at in range(count)]} for count in (1, 3, 2)]
    assert [len(each.paper.references) for each in parsed(json.dumps(works))] == [3]


def test_every_reference_of_the_real_works_is_read():
    count = 0
    for path in samples("crossref/*.json"):
        content = Content(path.read_bytes(), path.stem)
        if isinstance(content.json, dict) and isinstance(work := content.json.get("message", content.json), dict):
            stated = work.get("reference", [])
            (first, *_) = parse(content, options=Options(infer=False))
            if "items" not in work:
                assert [each.xml_id for each in first.paper.references] == [each["key"] for each in stated]
                count += len(stated)
    assert count > 200


def test_a_real_reference():
    found = fields(sample("crossref/hepcrawl_s1463-4988(99)00060-3.json"))
    assert found[0] == {
        "xml_id": "10.1016/S1463-4988(99)00060-3_BIB1", "last_names": ["Amon"], "year": 1996, "volume": "41",
        "first_page": "41",
        "title": "Bacterial utilization of different size classes of dissolved organic matter", "venue": "Limnol. Oceanogr.",
        "ids_weak": {"doi": "10.4319/lo.1996.41.1.0041"},
    }  # fmt: skip
