"""Locator keys do not depend on the typesetting of names, volumes and pages."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.blocking.locators import MAX_WORDS, name_words, number, reference_places, work_places
from reflink.entities import Ids, Inferred, Reference, Work

latin = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x17F), max_size=20)
numbers = st.integers(0, 10**6)


def reference(**fields: Any) -> Reference:
    return Reference(id="r", citing="c", position=1, **fields)


@pytest.mark.parametrize(
    ("spellings", "words"),
    [
        (("Müller", "Mueller", "MULLER", "Mu\u0308ller", "Muller"), ("muller",)),
        (("Goethe", "Göthe"), ("gothe",)),
        (("Sørensen", "Sörensen", "Soerensen"), ("sorensen",)),
        (("O'Brien", "O’Brien", "OBrien"), ("obrien",)),
        (("García-López", "Garcia Lopez", "Garcia\u2010Lopez"), ("garcia", "lopez")),
        (("van der Waals", "Waals", "Van Der Waals"), ("waals",)),
        (("Smith Jr.", "Smith", "J Smith"), ("smith",)),
        (("Weiß", "Weiss"), ("weiss",)),
        (("Łoś", "Los"), ("los",)),
        (("Yıldız", "YILDIZ", "Yildiz"), ("yildiz",)),
        (("Du",), ("du",)),
        (("World Health Organization Committee on Names",), ("world", "health", "organization")),
        (("Иванов", "ИВАНОВ"), ("иванов",)),
        (("", " ", "-", "B.", "李"), ()),
    ],
)
def test_spellings_of_a_name_give_the_same_words(spellings: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert {spelling: name_words(spelling) for spelling in spellings} == dict.fromkeys(spellings, words)


@given(latin)
def test_name_words_ignore_case_and_the_form_of_accents(name: str) -> None:
    words = name_words(name)
    assert words == name_words(unicodedata.normalize("NFD", name)) == name_words(unicodedata.normalize("NFC", name))
    assert words == name_words(name.upper()) == name_words(name.lower())


@given(st.text(max_size=60))
def test_name_words_are_bounded_in_number_and_have_two_letters(name: str) -> None:
    words = name_words(name)
    assert len(set(words)) == len(words) <= MAX_WORDS
    assert all(len(word) > 1 and word.isalnum() for word in words)


@pytest.mark.parametrize(
    ("spellings", "expected"),
    [
        (("12", "012", "Vol. 12(3)", "XII", "xii", "12-19", "pp. 12–19", "12 Suppl 1", "１２"), "12"),
        (("31", "S31", "31S", "e0031", "S31-S40", "L 31", "pone.0000031", "xxxi", "XXXI."), "31"),
        (("0", "000"), "0"),
        (("New series", "newseries", "NEW  SERIES"), "newseries"),
        (("", " ", "–", "()"), ""),
    ],
)
def test_a_volume_or_page_is_its_first_number(spellings: tuple[str, ...], expected: str) -> None:
    assert {spelling: number(spelling) for spelling in spellings} == dict.fromkeys(spellings, expected)


@given(numbers, numbers, st.sampled_from(["", "S", "e", "W", "p. ", "Suppl. "]), st.integers(0, 3))
def test_letters_and_leading_zeros_and_the_rest_after_the_number_are_dropped(n: int, end: int, before: str, zeros: int) -> None:
    assert number(f"{before}{'0' * zeros}{n}") == number(f"{n}-{end}") == number(f"{n}{before}") == str(n)


def test_a_reference_and_its_work_have_the_same_locator_keys() -> None:
    work = Work(id="w", authors=("Pérez-Müller", "Li"), year=2010, volume="31", fpage="S455")
    cited = reference(last_names=("Perez-Mueller",), year=2010, volume="031", first_page="455-461")
    keys = ("a:perez:31:455", "a:muller:31:455", "y:2010:31:455")
    assert work_places(work) == reference_places(cited) == keys


@given(st.lists(latin, max_size=3), st.none() | st.integers(1900, 2030), st.none() | latin, st.none() | latin)
def test_a_locator_key_needs_volume_and_page(names: list[str], year: int | None, volume: str | None, page: str | None) -> None:
    work = Work(id="w", authors=tuple(names), year=year, volume=volume, fpage=page)
    keys = work_places(work)
    assert keys == reference_places(reference(last_names=tuple(names), year=year, volume=volume, first_page=page))
    if not (volume and number(volume) and page and number(page)):
        assert keys == ()
    else:
        assert len(set(keys)) == len(keys) == len(name_words(names[0]) if names else ()) + (year is not None)


@pytest.mark.parametrize(
    ("doi", "page"),
    [
        ("10.3389/fpsyg.2016.01385", "1385"),
        ("10.1371/journal.pgen.1004655", "e1004655"),
        ("10.1038/s41598-017-12778-6", "12778"),  # a check digit follows the number
        ("10.1186/1472-6947-8-53", None),  # too short: it may be an issue or a part
        ("10.1038/msb.2011.75", None),
        ("10.1016/j.cmet", None),
        ("10.5555/" + "1" * 100_000 + "x", None),
        (None, None),
    ],
)
def test_a_work_without_page_has_the_article_number_of_its_doi(doi: str | None, page: str | None) -> None:
    work = Work(id="w", ids=Ids(doi=doi), venue="Journal of Examples", year=2016, volume="7")
    assert work_places(work) == work_places(work.model_copy(update={"fpage": page}))
    assert bool(work_places(work)) == (page is not None)


def test_the_page_of_a_work_outranks_its_doi_and_a_work_without_venue_has_no_article_number() -> None:
    work = Work(id="w", ids=Ids(doi="10.1371/journal.pgen.1004655"), venue="PLoS Genet", year=2014, volume="10", fpage="12")
    assert work_places(work) == ("y:2014:10:12",)
    assert work_places(work.model_copy(update={"fpage": None, "venue": None})) == ()


def test_a_locator_has_the_first_author_or_the_group_if_there_is_none() -> None:
    place = {"volume": "1", "first_page": "2"}
    assert reference_places(reference(last_names=("Meyer", "Li"), collab="Consortium", **place)) == ("a:meyer:1:2",)
    assert reference_places(reference(collab="The Consortium", **place)) == ("a:the:1:2", "a:consortium:1:2")
    assert reference_places(reference(last_names=("", "Li"), year=2000, **place)) == ("y:2000:1:2",)


def test_an_untagged_reference_has_the_locators_of_its_recognised_fields() -> None:
    inferred = Inferred(last_names=("Trott",), year=2010, volume="31", first_page="455")
    assert reference_places(reference(raw_text="…", inferred=inferred)) == ("a:trott:31:455", "y:2010:31:455")
    assert reference_places(reference(raw_text="Trott 2010 31 455")) == ()


def test_long_fields_are_cut_before_they_are_cached() -> None:
    long = "x" * 1_000_000
    before = number.cache_info().currsize
    assert work_places(Work(id="w", authors=("Li " + long,), year=2001, volume="12" + long, fpage="7" + long))
    assert number.cache_info().currsize <= before + 2
