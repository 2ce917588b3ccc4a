"""How single fields agree: real-life spellings, and laws."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Ids, Reference, Work
from reflink.verdict import describe_reference, describe_work, fields
from reflink.verdict.description import fold, name_tokens, page_key, volume_key


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Ménière’s disease", "menieres disease"),
        ("β-catenin", "beta catenin"),
        ("Łódź  Straße", "lodz strasse"),
        ("CO₂ ﬁxation", "co2 fixation"),
        ("non‐small\u00adcell", "non smallcell"),
        ("", ""),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


@settings(deadline=None)
@given(st.text())
def test_fold_is_stable(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("a", "b"), [("Müller", "Mueller"), ("van der Berg", "Berg"), ("García-López", "Garcia"), ("Smith JR", "Smith")]
)
def test_names_that_are_one(a: str, b: str) -> None:
    assert name_tokens(a) & name_tokens(b)


@pytest.mark.parametrize(
    ("text", "key"), [("Vol. 12(3)", "12"), ("XII", "12"), ("012", "12"), ("Suppl", "suppl"), ("", None), (None, None)]
)
def test_volume_key(text: str | None, key: str | None) -> None:
    assert volume_key(text) == key


@pytest.mark.parametrize(
    ("text", "key"), [("531–543", "531"), ("E0012", "e12"), ("S 12", "12"), ("iv", "4"), (None, None), ("pp. 7", "7")]
)
def test_page_key(text: str | None, key: str | None) -> None:
    assert page_key(text) == key


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


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_venue_similarity_is_a_symmetric_share(a: str, b: str) -> None:
    similarity = fields.venue_similarity(a, b)
    assert similarity == fields.venue_similarity(b, a)
    assert similarity is None or 0 <= similarity <= 1


def _reference(**given: object) -> Reference:
    return Reference.from_dict({"id": "a#1", "citing": "a", "position": 1, **given})


def test_untagged_citation_is_searched_for_authors_year_volume_and_page() -> None:
    side = describe_reference(_reference(raw_text="Müller A, Smith B. Some title. J Cell Biol 2014;14:531–43."))
    work = describe_work(Work(id="doi:10.1/x", authors=("Mueller", "Smith"), year=2014, volume="14", fpage="531"))
    assert fields.authors(side, work) == (1.0, True)
    assert fields.year_difference(side, work) == 0
    assert fields.volume(side, work) is True
    assert fields.page(side, work) is True
    other = describe_work(Work(id="doi:10.1/y", authors=("Jones",), year=2010, volume="99", fpage="777"))
    assert fields.authors(side, other) == (0.0, False)
    assert fields.year_difference(side, other) == 4
    assert fields.volume(side, other) is None  # not found in a text is no contradiction
    assert fields.page(side, other) is None


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
