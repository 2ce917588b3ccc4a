"""Tests of citations of several works: ids, identifiers and tags of their parts."""

from __future__ import annotations

import pytest

from reflink.entities import Ids, Reference
from reflink.errors import TooLarge
from reflink.jats import Limits, parse
from tests.reflink.jats.articles import article, assert_fields, real, references

FIRST = "X. Wang, Angew. Chem. 2004, 43, 1"
SECOND = "Z. Chen, Small 2005, 4, 5"


def written(inside: str) -> tuple[Reference, ...]:
    return references(f'<ref id="r1"><label>7</label><mixed-citation>{inside}</mixed-citation></ref>')


@pytest.mark.parametrize("joined", [f"{FIRST}; {SECOND}", f"(a) {FIRST}; (b) {SECOND}", f"{FIRST}; and {SECOND}"])
def test_each_work_is_a_reference(joined: str) -> None:
    found = written(joined)
    assert [(ref.id, ref.position, ref.label, ref.raw_text) for ref in found] == [
        ("doi:10.1000/own#r1.1", 1, "7", FIRST), ("doi:10.1000/own#r1.2", 2, "7", SECOND),
    ]  # fmt: skip
    assert [(ref.inferred.year, ref.inferred.volume) if ref.inferred else None for ref in found] == [(2004, "43"), (2005, "4")]


def test_the_query_has_the_omitted_journal() -> None:
    second = written(f"{FIRST}; ibid. 2006, 45, 7")[1]
    assert_fields(second, raw_text="ibid. 2006, 45, 7", raw_noid="X. Wang, Angew. Chem. 2006, 45, 7")


def test_identifiers_belong_to_the_work_in_whose_text_they_are() -> None:
    first, second = written(f"{FIRST}, doi:10.1000/a; {SECOND}, doi:10.1000/b")
    assert (first.ids_weak, second.ids_weak) == (Ids(doi="10.1000/a"), Ids(doi="10.1000/b"))
    assert (first.raw_noid, second.raw_noid) == (FIRST, SECOND)
    first, second = written(f'{FIRST}; {SECOND}, <pub-id pub-id-type="pmid">123456</pub-id>')
    assert (first.ids, second.ids, second.raw_noid) == (Ids(), Ids(pmid="123456"), SECOND)


def test_a_citation_with_an_identifier_that_its_text_does_not_have_is_not_divided() -> None:
    link = '<ext-link xmlns:x="http://www.w3.org/1999/xlink" ext-link-type="doi" x:href="10.1000/a">CrossRef</ext-link>'
    (only,) = written(f"{FIRST}; {SECOND}. {link}")
    assert only.ids == Ids(doi="10.1000/a")


def test_the_first_work_keeps_the_tags() -> None:
    tagged = "<source>Angew. Chem.</source> <year>2004</year>, <volume>43</volume>, <fpage>1</fpage>"
    first, second = written(f"<name><surname>Wang</surname></name>, {tagged}; {SECOND}")
    assert_fields(first, last_names=("Wang",), venue="Angew. Chem.", year=2004, inferred=None)
    assert_fields(second, last_names=(), venue=None, year=None)
    assert second.inferred is not None


def test_a_tagged_citation_of_one_work_is_not_divided() -> None:
    tagged = "<article-title>A; B 2001, 1, 2</article-title> <year>2004</year>, <volume>43</volume>, <fpage>1</fpage>"
    assert len(written(f"Wang X. {tagged}; discussion 2005, 44, 3")) == 1


def test_divided_works_count_as_references() -> None:
    refs = f"<ref><mixed-citation>{FIRST}; {SECOND}</mixed-citation></ref>"
    assert len(parse(article(refs), limits=Limits(references=2)).references) == 2
    with pytest.raises(TooLarge, match="more than 1 references"):
        parse(article(refs), limits=Limits(references=1))


def test_a_work_and_its_retraction() -> None:
    first, second = [ref for ref in real("tigr2ess__PMC6140444").references if ref.xml_id == "bib39"]
    assert_fields(first, year=2012, first_page="658", ids=Ids(pmid="22854406"))
    assert second.ids == Ids()
    assert_fields(second.inferred, year=2015, volume="102", first_page="715")


@pytest.mark.parametrize(
    ("text", "kind"), [("Smith J. A method. US patent US20090038027A1", "patent"), ("Ibid., p. 12.", "note")]
)
def test_a_kind_of_mere_text(text: str, kind: str) -> None:
    (ref,) = written(text)
    assert ref.inferred is not None
    assert ref.inferred.kind == kind
