"""The compared form of the fields: volumes, pages, titles, texts, and their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from reflink.verdict import evidence
from reflink.verdict.evidence import TAGGED, WRITTEN
from reflink.verdict.rules import AUTHOR_LIMIT, RAW_LIMIT, TITLE_LIMIT, WEAK
from tests.reflink.verdict import plain

texts = st.text() | st.text(alphabet="eS0123 ivx.-(é²", max_size=8)


def reference(**given: Any) -> Reference:
    return Reference.from_dict({"id": "a#1", "citing": "a", "position": 1, **given})


@pytest.mark.parametrize(
    ("text", "key"),
    [("Vol. 12(3)", "12"), ("XII", "12"), ("012", "12"), ("Suppl", "suppl"), ("0", "0"), ("", None), (None, None)],
)
def test_a_volume_is_its_number(text: str | None, key: str | None) -> None:
    assert (plain.volume_key(text) or None) == key
    found = evidence(reference(volume=text), Work(id="x", volume=key)).volume
    assert found == 1.0 if key else np.isnan(found)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("531–543", "531"), ("E0012", "e12"), ("S 12", "12"), ("S12-19", "s12"), ("iv", "4"), ("i v", "4"), ("pp. 7", "7"),
        ("CD001234", "cd1234"), ("e100-e109", "e100"), ("n/a", "na"), (".", None), (None, None),
    ],
)  # fmt: skip
def test_a_page_is_its_first_number_and_letters(text: str | None, key: str | None) -> None:
    assert (plain.page_key(text) or None) == key
    found = evidence(reference(first_page=text), Work(id="x", fpage=key)).page
    assert found in (WEAK, 1.0) if key else np.isnan(found)


@given(texts, texts, texts, texts)
def test_volumes_and_pages_agree_as_in_the_plain_definition(volume: str, page: str, other: str, first: str) -> None:
    for a, b in ((other, first), (volume, page)):
        pair = reference(volume=volume, first_page=page), Work(id="x", volume=a, fpage=b)
        np.testing.assert_array_equal(evidence(*pair), plain.evidence(*pair))


def test_weak_pages() -> None:
    weak = {page: evidence(reference(first_page=page), Work(id="x", fpage=page)).page == WEAK for page in PAGES}
    assert [page for page, is_weak in weak.items() if is_weak] == ["1", "9", "cd1234"]


PAGES = ("1", "9", "12", "e1", "cd1234", "cd12", "s12")


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
def test_the_field_used_as_the_title_of_a_reference(given_: dict[str, Any], title: str) -> None:
    equal = [letter for letter in "abc" if evidence(reference(**given_), Work(id="x", title=letter)).equal == 1.0]
    assert equal == list(title)


def test_a_book_title_replaces_the_title_of_a_work_and_a_journal_title_does_not() -> None:
    def letters(**given: Any) -> float:
        return evidence(reference(), Work(id="a", **given)).length

    assert letters(venue="The Wheat Book") == len("thewheatbook")
    assert letters(venue="Crop Science", volume="1") == 0
    assert letters(title="Wheat", venue="Crop Science") == len("wheat")


def test_known_identifiers_are_removed_from_the_text() -> None:
    work = Work(id="x", volume="10", fpage="1")
    assert evidence(reference(raw_text="Wheat. 10.1/x", raw_noid="Wheat 7."), work).volume < 1.0
    assert evidence(reference(raw_text="Wheat. 10.1/x"), work).volume == 1.0


@pytest.mark.parametrize(
    ("given_", "group"),
    [
        ({"collab": "The Group"}, 1.0), ({"collectives": ["The Group"]}, 1.0),
        ({"collab": "The Group", "last_names": ["Li"]}, 0.0), ({}, 0.0),
    ],
)  # fmt: skip
def test_a_reference_is_by_a_group_only_without_persons(given_: dict[str, Any], group: float) -> None:
    assert evidence(reference(**given_), Work(id="x")).group == group


@pytest.mark.parametrize(
    ("given_", "card"),
    [
        ({"year": 1999}, WRITTEN), ({"raw_text": "A"}, WRITTEN), ({"last_names": ["Li"]}, TAGGED),
        ({"venue": "A", "volume": "1"}, TAGGED), ({"volume": "1"}, TAGGED), ({"first_page": "1"}, TAGGED),
    ],
)  # fmt: skip
def test_a_field_other_than_the_title_makes_a_reference_tagged(given_: dict[str, Any], card: int) -> None:
    assert evidence(reference(**given_), Work(id="x")).card == card


def test_long_fields_of_broken_records_are_cut() -> None:
    long = reference(title="a" * 1000, raw_text="b " * 4000 + "wheat", last_names=["Li"] * 900)
    found = evidence(long, Work(id="x", title="a" * TITLE_LIMIT, authors=("Li",) * 900))
    assert (found.equal, found.length, found.agreeing) == (1.0, TITLE_LIMIT, AUTHOR_LIMIT)
    assert evidence(reference(raw_text="b " * (RAW_LIMIT // 2) + "wheat"), Work(id="x", title="wheat")).contained == 0.0
