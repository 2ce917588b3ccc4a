"""One side of a pair, prepared: keys of fields, what stands for a title, what a text gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from reflink.verdict import describe_reference, describe_work
from reflink.verdict.description import AUTHOR_LIMIT, RAW_LIMIT, TITLE_LIMIT, is_weak, name_tokens, page_key, volume_key
from reflink.verdict.grams import grams
from tests.reflink.verdict import plain

texts = st.text() | st.text(alphabet="eS0123 ivx.-(é²", max_size=8)


def reference(**given: Any) -> Reference:
    return Reference.from_dict({"id": "a#1", "citing": "a", "position": 1, **given})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("van der Berg", {"berg"}),
        ("Müller", {"muller"}),
        ("Mueller", {"muller"}),
        ("Smith JR", {"smith"}),
        ("García-López", {"garcia", "lopez"}),
        ("de la", {"de", "la"}),
        ("J. Smith", {"smith"}),
        ("", set()),
        ("王", {"王"}),
    ],
)
def test_the_words_of_a_name_that_identify_it(name: str, words: set[str]) -> None:
    assert name_tokens(name) == words == plain.name_words(name)


@pytest.mark.parametrize(
    ("text", "key"),
    [("Vol. 12(3)", "12"), ("XII", "12"), ("012", "12"), ("Suppl", "suppl"), ("0", "0"), ("", None), (None, None)],
)
def test_a_volume_is_known_by_its_number(text: str | None, key: str | None) -> None:
    assert volume_key(text) == key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("531–543", "531"), ("E0012", "e12"), ("S 12", "12"), ("S12-19", "s12"), ("iv", "4"), ("i v", "4"), ("pp. 7", "7"),
        ("CD001234", "cd1234"), ("e100-e109", "e100"), ("n/a", "na"), (".", None), (None, None),
    ],
)  # fmt: skip
def test_a_page_is_known_by_its_first_number_and_letters(text: str | None, key: str | None) -> None:
    assert page_key(text) == key


@given(texts)
def test_keys_are_those_of_the_plain_reading_and_keys_of_themselves(text: str) -> None:
    assert volume_key(text) == (plain.volume_key(text) or None)
    assert page_key(text) == (plain.page_key(text) or None)
    for key, of in ((volume_key(text), volume_key), (page_key(text), page_key)):
        assert key is None or (key and of(key) == key)


def test_pages_that_say_little() -> None:
    assert [page for page in ("1", "9", "12", "e1", "cd1234", "cd12", "s12") if is_weak(page)] == ["1", "9", "cd1234"]


@pytest.mark.parametrize(
    ("given_", "title"),
    [
        ({"title": "A", "chapter_title": "B", "venue": "C"}, "a"),
        ({"chapter_title": "B", "venue": "C"}, "b"),
        ({"venue": "C"}, "c"),
        ({"venue": "C", "volume": "1"}, ""),
        ({}, ""),
    ],
)
def test_what_stands_for_the_title_of_a_reference(given_: dict[str, Any], title: str) -> None:
    assert describe_reference(reference(**given_)).title == title


def test_the_name_of_a_book_stands_for_a_works_title_and_that_of_a_journal_does_not() -> None:
    assert describe_work(Work(id="a", venue="The Wheat Book")).title == "thewheatbook"
    assert describe_work(Work(id="a", venue="Crop Science", volume="1")).title == ""
    assert describe_work(Work(id="a", title="Wheat", venue="Crop Science")).title == "wheat"


def test_numbers_of_a_title_are_without_its_years_and_years_without_its_numbers() -> None:
    side = describe_work(Work(id="a", title="Cancer statistics 2019: part II of 12"))
    assert (side.title_numbers, side.title_years) == ({"2", "12"}, {2019})


def test_years_are_the_tagged_one_or_those_in_the_text() -> None:
    text = "Smith 1999. Wheat 3000. J 2001;12:19991"
    assert describe_reference(reference(year=0, raw_text=text)).years == {0}
    assert describe_reference(reference(raw_text=text)).years == {1999, 2001}
    assert describe_reference(reference()).years == set()


def test_a_text_in_words_numbers_and_ordinals() -> None:
    side = describe_reference(reference(raw_text="Müller, Jaeger. Wheat, 2nd ed. Part B, 12(XII).", ids={"doi": "10.1/x"}))
    assert {"muller", "jaeger", "jager", "wheat"} <= side.raw_words
    assert side.raw_numbers == {"2", "b", "12"}
    assert side.raw_ordinals == {"2"}
    assert side.raw_compact == "mullerjaegerwheat2ndedpartb12xii"
    assert side.raw_grams.tolist() == grams(side.raw_compact).tolist()


def test_identifiers_in_a_text_are_left_out_where_that_is_known() -> None:
    assert describe_reference(reference(raw_text="Wheat. 10.1/x", raw_noid="Wheat.")).raw == "wheat"


def test_a_group_is_one_only_where_no_person_is_named() -> None:
    assert describe_reference(reference(collab="The Group")).group
    assert describe_reference(reference(collectives=["The Group"])).group
    assert not describe_reference(reference(collab="The Group", last_names=["Li"])).group
    assert not describe_reference(reference()).group


@pytest.mark.parametrize(
    ("given_", "tagged"),
    [
        ({"title": "A"}, False), ({"year": 1999}, False), ({"raw_text": "A"}, False), ({"last_names": ["Li"]}, True),
        ({"venue": "A"}, True), ({"volume": "1"}, True), ({"first_page": "1"}, True),
    ],
)  # fmt: skip
def test_fields_besides_the_title_make_a_reference_tagged(given_: dict[str, Any], tagged: bool) -> None:
    assert describe_reference(reference(**given_)).tagged is tagged


def test_broken_records_are_cut() -> None:
    side = describe_reference(reference(title="a" * 1000, raw_text="b " * 4000, last_names=["Li"] * 900))
    assert (len(side.title), len(side.raw_compact), len(side.names)) == (TITLE_LIMIT, RAW_LIMIT // 2, AUTHOR_LIMIT)


def test_each_part_is_computed_when_it_is_first_asked_for() -> None:
    side = describe_reference(reference(title="Wheat", raw_text="Wheat 1999"))
    assert "raw_words" not in side.__dict__
    assert side.raw_words is side.raw_words
    assert "raw_words" in side.__dict__
