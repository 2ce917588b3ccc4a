"""Agreement of single fields: real spellings and properties."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Ids, Reference, Work
from reflink.verdict import evidence
from reflink.verdict.rules import CUT, MISSPELT, UNSEEN, WEAK
from tests.reflink.verdict import plain

#: A field that one of the records lacks.
SILENT = pytest.approx(math.nan, nan_ok=True)

venue_names = st.text(max_size=40) | st.lists(
    st.sampled_from("J Journal of the National Natl. Acad. Academy Sciences Sci (London) JNAS Cell B Biol Biology".split()),
    max_size=6,
).map(" ".join)


def _reference(**given: object) -> Reference:
    return Reference.from_dict({"id": "a#1", "citing": "a", "position": 1, **given})


def _work(**given: object) -> Work:
    return Work.from_dict({"id": "doi:10.1/x", **given})


def venue_similarity(a: str, b: str) -> float:
    return evidence(_reference(venue=a), _work(venue=b)).venue


def authors(reference: Reference, work: Work) -> tuple[float, float, float]:
    found = evidence(reference, work)
    return found.agreeing, found.authors, found.first_author


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
def test_spellings_of_one_venue_are_similar(a: str, b: str) -> None:
    similarity = venue_similarity(a, b)
    assert similarity >= 0.75
    assert similarity == venue_similarity(b, a)


@pytest.mark.parametrize(("a", "b"), [("Nature", "Plant Cell"), ("Journal of Virology", "Blood"), ("Lancet", "BMJ")])
def test_different_venues_have_similarity_zero(a: str, b: str) -> None:
    assert venue_similarity(a, b) == 0


@given(venue_names, venue_names)
def test_venue_similarity_is_symmetric_and_equals_the_plain_definition(a: str, b: str) -> None:
    similarity = venue_similarity(a, b)
    assert similarity == pytest.approx(venue_similarity(b, a), nan_ok=True)
    assert math.isnan(similarity) or 0 <= similarity <= 1
    assert similarity == pytest.approx(plain.venues(a, b), nan_ok=True, abs=1e-12)


@given(venue_names)
def test_a_venue_equals_itself(a: str) -> None:
    assert math.isnan(venue_similarity(a, a)) or venue_similarity(a, a) == 1.0


def test_the_fields_of_a_work_are_found_in_an_untagged_citation() -> None:
    side = _reference(raw_text="Müller A, Smith B. Some title. J Cell Biol 2014;14:531–43.")
    work = _work(authors=("Mueller", "Smith"), year=2014, volume="14", fpage="531", venue="J. Cell Biol.")
    found = evidence(side, work)
    assert authors(side, work) == (2.0, 1.0, 1.0)
    assert (found.year, found.volume, found.page, found.venue) == (0.0, 1.0, 1.0, 1.0)
    other = _work(authors=("Jones",), year=2010, volume="99", fpage="777", venue="Plant Physiology")
    found = evidence(side, other)
    assert authors(side, other) == (0.0, 0.0, 0.0)
    # A name that is not found in a text may be abbreviated there.
    assert (found.year, found.volume, found.page, found.venue) == (4.0, UNSEEN, UNSEEN, SILENT)


def test_single_digits_match_only_as_an_adjacent_volume_and_page() -> None:
    work = _work(volume="3", fpage="9")
    for text in ("Li, Wu. Wheat. J 1999;3:9-13", "Li, Wu. Wheat. J 1999;3(4):9", "Li. Wheat 3 9"):
        found = evidence(_reference(raw_text=text), work)
        assert (found.volume, found.page) == (1.0, 1.0)
    for text in ("Li. 9 kinds of wheat. J 1999;3", "Li. Wheat 3 of 4 or 5 and 9"):
        found = evidence(_reference(raw_text=text), work)
        assert (found.volume, found.page) == (UNSEEN, UNSEEN)


@pytest.mark.parametrize(
    ("reference", "work", "agree"),
    [("12", "12", 1.0), ("Vol. 12", "XII", 1.0), ("12", "112", CUT), ("121", "12", CUT), ("12", "13", 0.0)],
)
def test_tagged_volumes(reference: str, work: str, agree: float) -> None:
    assert evidence(_reference(volume=reference), _work(volume=work)).volume == agree
    assert evidence(_reference(volume=work), _work(volume=reference)).volume == agree


@pytest.mark.parametrize(
    ("reference", "work", "agree"),
    [
        ("531", "531-543", 1.0),
        ("S12", "12", 1.0),
        ("S12", "e12", 0.0),
        ("12", "13", 0.0),
        ("1", "1", WEAK),
        ("e1", "1", WEAK),
        ("CD001234", "CD001234", WEAK),
        ("n/a", "12", 0.0),
    ],
)
def test_tagged_pages(reference: str, work: str, agree: float) -> None:
    assert evidence(_reference(first_page=reference), _work(fpage=work)).page == agree
    assert evidence(_reference(first_page=work), _work(fpage=reference)).page == agree


@pytest.mark.parametrize(
    ("reference", "work", "agree"),
    [
        (["Li", "Wu"], ["Li", "Wu"], (2.0, 1.0, 1.0)),
        (["Li"], ["Li", "Wu", "Sato"], (1.0, 1.0, 1.0)),
        (["Wu", "Li"], ["Li", "Sato"], (1.0, 0.5, 0.0)),
        (["Kurata", "Li"], ["Kruata", "Li"], (1.0 + MISSPELT, (1.0 + MISSPELT) / 2, MISSPELT)),
        (["Ngo"], ["Li"], (0.0, 0.0, 0.0)),
        ([], ["Li"], (SILENT, SILENT, SILENT)),
        (["Li"], [], (SILENT, SILENT, SILENT)),
    ],
)
def test_tagged_authors(reference: list[str], work: list[str], agree: tuple[float, float, float]) -> None:
    assert authors(_reference(last_names=reference), _work(authors=work)) == agree


def test_the_text_of_a_group_is_no_evidence_about_unnamed_persons() -> None:
    work = _work(authors=["Sato", "Li"])
    assert authors(_reference(collab="The Group", raw_text="The Group 1999"), work) == (SILENT, SILENT, SILENT)
    assert authors(_reference(raw_text="The Group 1999"), work) == (0.0, 0.0, 0.0)
    assert authors(_reference(collab="The Group", raw_text="The Group and Li 1999"), work) == (1.0, 0.5, 0.0)


def test_a_name_of_several_words_matches_only_as_a_whole() -> None:
    work = _work(authors=["Garcia-Li"])
    assert authors(_reference(raw_text="Garcia Li 1999"), work) == (1.0, 1.0, 1.0)
    assert authors(_reference(raw_text="Li 1999"), work) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "year", "difference"), [("1999 2005", 2004, 1), ("2003 2005", 2004, 1), ("1999", 2004, 5), ("none", 2004, SILENT)]
)
def test_the_nearest_year_in_a_text_counts(text: str, year: int, difference: float) -> None:
    assert evidence(_reference(raw_text=text), _work(year=year)).year == difference


def test_a_missing_subtitle_is_an_extension_and_a_missing_part_number_is_not() -> None:
    def extends(a: str, b: str) -> bool:
        return evidence(_reference(title=a), _work(title=b)).beginning == 1.0

    title = "Less hidden celiac disease"
    assert extends(title, title + ": findings from a survey")
    assert extends(title + ": findings from a survey", title)
    assert not extends(title, title + ". Part II")
    assert not extends(title, title)
    assert not extends("Wheat", "Wheat breeding in the last century")


@pytest.mark.parametrize(
    ("reference", "work", "agree"),
    [
        (Ids(doi="10.1/x"), Ids(doi="10.1/x", pmid="1"), 1.0),
        (Ids(doi="10.1/x", pmid="1"), Ids(doi="10.1/y", pmid="1"), 1.0),
        (Ids(doi="10.1/x"), Ids(doi="10.1/y"), 0.0),
        (Ids(doi="10.1/x"), Ids(pmid="1"), SILENT),
        (Ids(), Ids(), SILENT),
    ],
)
def test_identifiers(reference: Ids, work: Ids, agree: float) -> None:
    assert evidence(_reference(ids=reference.to_dict()), _work(ids=work.to_dict())).identifier == agree
