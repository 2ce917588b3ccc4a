"""How single fields agree: real-life spellings, and laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Ids, Reference, Work
from reflink.verdict import Description, describe_reference, describe_work, fields
from reflink.verdict.names import MISSPELT
from tests.reflink.verdict import plain

venue_names = st.text(max_size=40) | st.lists(
    st.sampled_from("J Journal of the National Natl. Acad. Academy Sciences Sci (London) JNAS Cell B Biol Biology".split()),
    max_size=6,
).map(" ".join)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Proc Natl Acad Sci U S A", "Proceedings of the National Academy of Sciences of the United States of America"),
        ("J. Am. Chem. Soc.", "Journal of the American Chemical Society"),
        ("PNAS", "Proceedings of the National Academy of Sciences"),
        ("JAMA", "Journal of the American Medical Association"),
        ("Int J Environ Res Public Health", "International Journal of Environmental Research and Public Health"),
        ("PLoS One", "PLOS ONE"),
    ],
)
def test_venues_that_are_one(a: str, b: str) -> None:
    similarity = fields.venue_similarity(a, b)
    assert similarity is not None
    assert similarity >= 0.75
    assert similarity == fields.venue_similarity(b, a)


@pytest.mark.parametrize(("a", "b"), [("Nature", "Plant Cell"), ("Journal of Virology", "Blood"), ("Lancet", "BMJ")])
def test_venues_that_differ(a: str, b: str) -> None:
    assert fields.venue_similarity(a, b) == 0


@given(venue_names, venue_names)
def test_venue_similarity_is_a_symmetric_share_and_that_of_the_plain_reading(a: str, b: str) -> None:
    similarity = fields.venue_similarity(a, b)
    assert similarity == fields.venue_similarity(b, a)
    assert similarity is None or 0 <= similarity <= 1
    expected = plain.venues(a, b)
    assert similarity == (None if math.isnan(expected) else expected)


@given(venue_names)
def test_a_venue_is_itself(a: str) -> None:
    assert fields.venue_similarity(a, a) in (None, 1.0)


def _reference(**given: object) -> Description:
    return describe_reference(Reference.from_dict({"id": "a#1", "citing": "a", "position": 1, **given}))


def _work(**given: object) -> Description:
    return describe_work(Work.from_dict({"id": "doi:10.1/x", **given}))


def test_an_untagged_citation_is_searched_for_authors_year_volume_page_and_venue() -> None:
    side = _reference(raw_text="Müller A, Smith B. Some title. J Cell Biol 2014;14:531–43.")
    work = _work(authors=("Mueller", "Smith"), year=2014, volume="14", fpage="531", venue="J. Cell Biol.")
    assert fields.authors(side, work) == (2.0, 1.0, 1.0)
    assert fields.year_difference(side, work) == 0
    assert (fields.volume(side, work), fields.page(side, work), fields.venue(side, work)) == (1.0, 1.0, 1.0)
    other = _work(authors=("Jones",), year=2010, volume="99", fpage="777", venue="Plant Physiology")
    assert fields.authors(side, other) == (0.0, 0.0, 0.0)
    assert fields.year_difference(side, other) == 4
    assert (fields.volume(side, other), fields.page(side, other)) == (fields.UNSEEN, fields.UNSEEN)
    assert fields.venue(side, other) is None  # a name that is not found in a text may be abbreviated there


def test_a_digit_alone_is_volume_or_page_only_where_both_stand_together() -> None:
    work = _work(volume="3", fpage="9")
    for text in ("Li. Wheat. J 1999;3:9-13", "Li. Wheat. J 1999;3(4):9", "Li. Wheat 3 9"):
        assert (fields.volume(_reference(raw_text=text), work), fields.page(_reference(raw_text=text), work)) == (1.0, 1.0)
    for text in ("Li. 9 kinds of wheat. J 1999;3", "Li. Wheat 3 of 4 or 5 and 9"):
        side = _reference(raw_text=text)
        assert (fields.volume(side, work), fields.page(side, work)) == (fields.UNSEEN, fields.UNSEEN)


@pytest.mark.parametrize(
    ("reference", "work", "agree"),
    [("12", "12", 1.0), ("Vol. 12", "XII", 1.0), ("12", "112", fields.CUT), ("121", "12", fields.CUT), ("12", "13", 0.0)],
)
def test_tagged_volumes(reference: str, work: str, agree: float) -> None:
    assert fields.volume(_reference(volume=reference), _work(volume=work)) == agree
    assert fields.volume(_reference(volume=work), _work(volume=reference)) == agree


@pytest.mark.parametrize(
    ("reference", "work", "agree"),
    [
        ("531", "531-543", 1.0),
        ("S12", "12", 1.0),
        ("S12", "e12", 0.0),
        ("12", "13", 0.0),
        ("1", "1", fields.WEAK),
        ("e1", "1", fields.WEAK),
        ("CD001234", "CD001234", fields.WEAK),
        ("n/a", "12", 0.0),
    ],
)
def test_tagged_pages(reference: str, work: str, agree: float) -> None:
    assert fields.page(_reference(first_page=reference), _work(fpage=work)) == agree
    assert fields.page(_reference(first_page=work), _work(fpage=reference)) == agree


@pytest.mark.parametrize(
    ("reference", "work", "agree"),
    [
        (["Li", "Wu"], ["Li", "Wu"], (2.0, 1.0, 1.0)),
        (["Li"], ["Li", "Wu", "Sato"], (1.0, 1.0, 1.0)),
        (["Wu", "Li"], ["Li", "Sato"], (1.0, 0.5, 0.0)),
        (["Kurata", "Li"], ["Kruata", "Li"], (1.0 + MISSPELT, (1.0 + MISSPELT) / 2, MISSPELT)),
        (["Ngo"], ["Li"], (0.0, 0.0, 0.0)),
        ([], ["Li"], None),
        (["Li"], [], None),
    ],
)
def test_tagged_authors(reference: list[str], work: list[str], agree: tuple[float, float, float] | None) -> None:
    assert fields.authors(_reference(last_names=reference), _work(authors=work)) == agree


def test_the_text_of_a_group_says_nothing_about_persons_it_does_not_name() -> None:
    work = _work(authors=["Sato", "Li"])
    assert fields.authors(_reference(collab="The Group", raw_text="The Group 1999"), work) is None
    assert fields.authors(_reference(raw_text="The Group 1999"), work) == (0.0, 0.0, 0.0)
    assert fields.authors(_reference(collab="The Group", raw_text="The Group and Li 1999"), work) == (1.0, 0.5, 0.0)


def test_a_name_of_several_words_is_found_in_a_text_only_as_a_whole() -> None:
    work = _work(authors=["Garcia-Li"])
    assert fields.authors(_reference(raw_text="Garcia Li 1999"), work) == (1.0, 1.0, 1.0)
    assert fields.authors(_reference(raw_text="Li 1999"), work) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "year", "difference"), [("1999 2005", 2004, 1), ("2003 2005", 2004, -1), ("1999", 2004, -5), ("none", 2004, None)]
)
def test_the_nearest_year_of_a_text_counts(text: str, year: int, difference: int | None) -> None:
    assert fields.year_difference(_reference(raw_text=text), _work(year=year)) == difference


def test_a_subtitle_left_out_is_an_extension_but_a_part_number_is_not() -> None:
    title = "lesshiddenceliacdisease"
    assert fields.extends(title, title + "findingsfromasurvey")
    assert fields.extends(title + "findingsfromasurvey", title)
    assert not fields.extends(title, title + "partii")
    assert not fields.extends(title, title)
    assert not fields.extends("wheat", "wheatbreedinginthelastcentury")


@pytest.mark.parametrize(
    ("reference", "work", "agree"),
    [
        (Ids(doi="10.1/x"), Ids(doi="10.1/x", pmid="1"), True),
        (Ids(doi="10.1/x", pmid="1"), Ids(doi="10.1/y", pmid="1"), True),
        (Ids(doi="10.1/x"), Ids(doi="10.1/y"), False),
        (Ids(doi="10.1/x"), Ids(pmid="1"), None),
        (Ids(), Ids(), None),
    ],
)
def test_identifiers(reference: Ids, work: Ids, agree: bool | None) -> None:
    assert fields.identifiers(reference, work) is agree
