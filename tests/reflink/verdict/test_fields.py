"""Agreement of single fields: real spellings and properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Ids, Reference, Work
from reflink.journals.table import Journal, Journals
from reflink.verdict import evidence
from reflink.verdict.batch import compare_all
from reflink.verdict.evidence import COLUMN
from reflink.verdict.rules import CUT, MISSPELT, NEAR, UNSEEN, WEAK
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
    assert (found.year, found.volume, found.page, found.venue) == (4.0, UNSEEN, UNSEEN, 0.0)


@pytest.mark.parametrize(
    ("text", "venue", "agree"),
    [
        ("J Exp Bot 2014;65:1", "Journal of Experimental Botany", 1.0),
        (
            "Proc Natl Acad Sci 111:1",
            "Proceedings of the National Academy of Sciences of the USA",
            4 / 5,
        ),
        ("PNAS 111:1", "Proceedings of the National Academy of Sciences", 1.0),
        ("J Am Med Assoc 1992;1:2", "JAMA", 1.0),
        ("Bioinform 2014;65:1", "Bioinformatics", 1.0),
        ("Cell 2014;65:1", "Cell", 1.0),
        ("Cell walls of maize. Planta 2014;65:1", "Cell", 0.0),
        ("J Bot 2014;65:1", "Plant Physiology", 0.0),
        ("Wu J, Eder A.", "Journal of Experimental Botany", 0.0),
        ("2014", "…", SILENT),
    ],
)
def test_a_citation_without_a_tagged_venue_is_searched_for_it(text: str, venue: str, agree: float) -> None:
    written = f"Li A, Ngo B. Yields of wheat in dry fields. {text}"
    assert evidence(_reference(raw_text=written), _work(venue=venue)).venue == agree


@pytest.mark.parametrize(
    ("text", "work", "agree"),
    [
        ("Li. Yields of wheat in dry fields. J Bot 6:e20429", {"volume": "6", "fpage": "20429"}, (1.0, 1.0)),
        ("Li. Yields of wheat in dry fields. J Bot 6:e020429", {"volume": "6", "fpage": "e20429"}, (1.0, 1.0)),
        ("Li. Yields of wheat in dry fields. J Bot 50:20-32", {"volume": "50", "fpage": "S20"}, (1.0, 1.0)),
        ("Li. Yields of wheat in dry fields. Chest 124, 26s–32s", {"volume": "124", "fpage": "26S"}, (1.0, 1.0)),
        ("Li. Yields of wheat in dry fields and S20. J Bot 50:7", {"volume": "20", "fpage": "7"}, (UNSEEN, UNSEEN)),
    ],
)
def test_letters_of_pages_in_a_text_are_optional(text: str, work: dict[str, str], agree: tuple[float, float]) -> None:
    found = evidence(_reference(raw_text=text), _work(**work))
    assert (found.volume, found.page) == agree


def test_a_text_without_volume_and_page_is_no_evidence_about_them() -> None:
    work = _work(title="Wheat in 12 fields", volume="40", fpage="915")
    found = evidence(_reference(raw_text="Li et al (2021a) Wheat in 12 fields. Plant Cell Rep."), work)
    assert (found.volume, found.page) == (SILENT, SILENT)
    found = evidence(_reference(raw_text="Li et al (2021a) Wheat in 12 fields. Plant Cell Rep. 39"), work)
    assert (found.volume, found.page) == (UNSEEN, UNSEEN)


def test_a_text_whose_only_number_is_the_volume_says_nothing_about_the_page() -> None:
    work = _work(title="Wheat in 12 fields", volume="7", fpage="e40397")
    found = evidence(_reference(raw_text="Li. Wheat in 12 fields. PLoS One 2012 7"), work)
    assert (found.volume, found.page) == (1.0, SILENT)
    found = evidence(_reference(raw_text="Li. Wheat in 12 fields. PLoS One 2012 7 6"), work)
    assert (found.volume, found.page) == (UNSEEN, UNSEEN)
    assert evidence(_reference(volume="7", raw_text="Li. Wheat in 12 fields. 2012 7"), work).page == SILENT


def test_years_of_a_title_do_not_date_a_text() -> None:
    work = _work(title="2013 guideline for heart failure", year=2013)
    assert evidence(_reference(raw_text="Li (2017) update of the 2013 guideline for heart failure"), work).year == 4
    assert evidence(_reference(raw_text="Li (2013) 2013 guideline for heart failure. Accessed 2019"), work).year == 0
    assert evidence(_reference(raw_text="Li. 2013 guideline for heart failure"), work).year == 0


def test_the_years_of_data_are_no_instalment() -> None:
    title = "Less celiac disease in the United States"
    work = _work(title=f"{title}: findings from 2009 to 2014", year=2016)
    assert evidence(_reference(title=title, year=2017), work).title_year == SILENT
    assert evidence(_reference(raw_text=f"Li. {title}. 2017"), work).title_year == SILENT
    assert evidence(_reference(title=work.title, year=2017), _work(title=title, year=2016)).title_year == SILENT
    yearly = _work(title="Cancer statistics, 2016", year=2016)
    assert evidence(_reference(title="Cancer statistics", year=2017), yearly).title_year == 0.0


@pytest.mark.parametrize(
    ("doi", "cited", "work", "agree"),
    [
        ("10.1371/journal.pone.0020429", "e20429", None, 1.0),
        ("10.3389/fmicb.2012.00012", "12", "1", 1.0),
        ("10.1038/s41598-017-12778-6", "12778", "1", 1.0),
        ("10.1038/srep22855", "22856", None, SILENT),
        ("10.1016/j.abb.2004.08.015", "15", None, SILENT),
        ("10.1152/japplphysiol.00739.2012", "2012", None, SILENT),
    ],
)
def test_the_article_number_of_a_doi_is_a_page_of_the_work(doi: str, cited: str, work: str | None, agree: float) -> None:
    found = evidence(_reference(first_page=cited), _work(ids={"doi": doi}, fpage=work))
    assert found.page == agree


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
        ("1312", "1321", NEAR),
        ("1312", "132", NEAR),
        ("131", "13", 0.0),
        ("cd001234", "cd001235", 0.0),
        ("1", "10234", SILENT),
        ("2", "10234", 0.0),
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
        (["Li"], ["World Health Organization"], (SILENT, SILENT, SILENT)),
        (["Li"], ["World Health Organization", "Sato"], (0.0, 0.0, 0.0)),
    ],
)
def test_tagged_authors(reference: list[str], work: list[str], agree: tuple[float, float, float]) -> None:
    assert authors(_reference(last_names=reference), _work(authors=work)) == agree


def test_the_text_of_a_group_is_no_evidence_about_unnamed_persons() -> None:
    work = _work(authors=["Sato", "Li"])
    assert authors(_reference(collab="The Group", raw_text="The Group 1999"), work) == (SILENT, SILENT, SILENT)
    assert authors(_reference(raw_text="The Group 1999"), work) == (0.0, 0.0, 0.0)
    assert authors(_reference(collab="The Group", raw_text="The Group and Li 1999"), work) == (1.0, 0.5, 0.0)


def test_one_word_of_a_name_of_two_suffices_in_a_text() -> None:
    work = _work(authors=["Garcia-Li"])
    assert authors(_reference(raw_text="Garcia Li 1999"), work) == (1.0, 1.0, 1.0)
    assert authors(_reference(raw_text="Li 1999"), work) == (1.0, 1.0, 1.0)
    assert authors(_reference(raw_text="Li 1999"), _work(authors=["Garcia-Li-Sato", "Wu"])) == (0.0, 0.0, 0.0)


def test_et_al_hides_the_authors_after_the_last_one_found() -> None:
    work = _work(authors=["Sato", "Li", "Wu"])
    assert authors(_reference(raw_text="Sato K. 1999"), work) == (1.0, 1 / 3, 1.0)
    assert authors(_reference(raw_text="Sato K et al. 1999"), work) == (1.0, 1.0, 1.0)
    assert authors(_reference(raw_text="Li K et al. 1999"), work) == (1.0, 0.5, 0.0)
    assert authors(_reference(raw_text="Ngo K et al. 1999"), work) == (0.0, 0.0, 0.0)


def test_a_citation_that_begins_with_its_title_names_nobody() -> None:
    work = _work(title="Guidelines for exercise testing", authors=["Sato", "Li"])
    assert authors(_reference(raw_text="Guidelines for exercise testing. Chest 1999"), work) == (SILENT, SILENT, SILENT)
    assert authors(_reference(raw_text="Ngo. Guidelines for exercise testing. Chest 1999"), work) == (0.0, 0.0, 0.0)
    tagged = _reference(title="The society's guidelines for tests", raw_text="The society's guidelines for tests. Chest 1999")
    assert authors(tagged, work) == (SILENT, SILENT, SILENT)


def test_a_letter_lists_other_authors_in_second_place() -> None:
    def second(a: list[str], b: list[str]) -> float:
        return evidence(_reference(last_names=a), _work(authors=b)).second_author

    assert second(["Sato", "Wu", "Li"], ["Sato", "Li"]) == 0.0
    assert second(["Sato", "Wu"], ["Sato", "Wu", "Li"]) == 1.0
    assert second(["Sato", "Kurata"], ["Sato", "Kruata"]) == MISSPELT
    assert second(["Sato"], ["Sato", "Wu"]) == SILENT


@pytest.mark.parametrize(
    ("doi", "fields", "deposit"),
    [
        ("10.1101/002832", {"venue": "Genome Biol"}, 1.0),
        ("10.1101/002832", {"venue": "bioRxiv"}, 0.0),
        ("10.1101/002832", {"raw_text": "Li. Wheat. Preprint, 2014"}, 0.0),
        ("10.1101/gr.215087.116", {"venue": "Genome Res"}, SILENT),
        (None, {"venue": "Genome Biol"}, SILENT),
    ],
)
def test_the_doi_of_a_preprint_or_data_set(doi: str | None, fields: dict[str, str], deposit: float) -> None:
    assert evidence(_reference(**fields), _work(ids={"doi": doi})).deposit == deposit


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


def test_the_publisher_is_the_venue_of_a_book():
    book = {"venue": "Statistical power analysis", "year": 1988}
    work = _work(title="Statistical power analysis", venue="Erlbaum Associates", year=1988)
    assert evidence(_reference(**book), work).venue == 0.0
    assert evidence(_reference(**book, publisher="Erlbaum Associates"), work).venue == 1.0


def test_a_volume_with_the_letter_of_a_section_is_found_in_a_text():
    found = evidence(_reference(raw_text="Li A (2015). Wheat yields. Acta Cryst. C71, 3-8."), _work(volume="71", fpage="3"))
    assert (found.volume, found.page) == (1.0, 1.0)


def test_the_table_of_journals_joins_names_of_a_venue_and_parts_none() -> None:
    journals = Journals.of([Journal(names=("Journal of Examples", "JOE")), Journal(names=("Journal of Exams",))])
    references = [
        _reference(venue="JOE", volume="46", last_names=("Smith",)),
        _reference(raw_text="JOE. 2009;46(2):516-21"),
        _reference(raw_text="Smith J, 2009, JOE, 46, 516"),
    ]
    works = [
        _work(title="A title", venue=venue) for venue in ("Journal of Examples", "Journal of Exams", "Journal of Others", None)
    ]
    pairs = np.array([(row, at) for row in range(len(references)) for at in range(len(works))])
    before, after = (compare_all(references, works, pairs, journals=table)[:, COLUMN["venue"]] for table in (None, journals))
    assert (after[::4] == 1.0).all()
    assert (before[::4] < 1).all()
    for at in (1, 2, 3):
        np.testing.assert_array_equal(after[at::4], before[at::4])
    titled = [_reference(title="A title", venue="JOE", last_names=("Smith",))]
    one, other = (compare_all(titled, works, pairs[:4], journals=table) for table in (None, journals))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        ("水稻抗旱性研究进展", "水稻抗旱性研究进展。", True),
        ("水稻抗旱性研究进展", "玉米籽粒淀粉合成的调控", False),
        ("イネの耐乾性", "イネの耐乾性 ", True),
        ("Устойчивость пшеницы к засухе", "УСТОЙЧИВОСТЬ ПШЕНИЦЫ К ЗАСУХЕ", True),
        ("Устойчивость пшеницы к засухе", "Продуктивность кукурузы на юге", False),
    ],
)
def test_titles_of_other_scripts_are_compared(a: str, b: str, alike: bool) -> None:
    found = evidence(_reference(title=a), _work(title=b))
    assert (found.equal, found.title >= 0.9, found.cover >= 0.9) == (alike, alike, alike)
    assert (evidence(_reference(raw_text=f"Li. {a}. 2009"), _work(title=b)).contained >= 0.9) == alike
