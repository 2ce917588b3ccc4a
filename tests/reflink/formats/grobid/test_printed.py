"""Corrections of GROBID's fields by the printed citation."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.formats.grobid.printed import corrected, unbroken
from tests.profiles import examples


@pytest.mark.parametrize(("first", "last", "printed", "expected"), [
    ("1361", "1363", "Br Med J 1950; 16: 1361-2.", ("1361", "1362")),  # GROBID adds 2
    ("895", "904", "London: Butterworth, 1990: 895–9.", ("895", "899")),
    ("161", "243", "1995;33:161 -82.", ("161", "182")),
    ("161", "82", "1995;33:161-82.", ("161", "82")),  # as printed
    ("409", "411", "J. Appl. Cryst. 24, 409-411.", ("409", "411")),
    ("433", "440", "Am J Physiol 241, F433-F440.", ("F433", "F440")),
    ("433", "440", "Am J Physiol 241, F433-40.", ("F433", "F40")),
    ("1", "3", "Tests 1, 21-2, 1-2.", ("1", "3")),  # as long as the first page: not shortened
    ("F433", "F440", "241, F433-40", ("F433", "F440")),
    ("12", "15", "Tests 5.", ("12", "15")),
])  # fmt: skip
def test_pages(first: str, last: str, printed: str, expected: tuple[str, str]):
    fields: dict[str, Any] = {"first_page": first, "last_page": last}
    corrected(fields, printed)
    assert (fields["first_page"], fields["last_page"]) == expected


def test_initials_are_no_authors():
    fields: dict[str, Any] = {"last_names": ("Tan", "Ronco", "C", "O"), "given_names": ("H", "", "", "Paul")}
    corrected(fields, "Tan H, Ronco C, O Paul")
    assert fields == {"last_names": ("Tan", "Ronco", "O"), "given_names": ("H", "", "Paul")}
    only: dict[str, Any] = {"last_names": ("V",)}
    corrected(only, "V")
    assert only == {"last_names": ("V",)}


@pytest.mark.parametrize(("printed", "expected"), [
    ("hypophospha- taemia in alco- holics", "hypophosphataemia in alcoholics"),
    ("pre- and postnatal, Vor- und Nachteile", "pre- and postnatal, Vor- und Nachteile"),
    ("a low- Mach flow, A- lpha, 205- 244", "a low- Mach flow, A- lpha, 205- 244"),
    ("vergröße- rung", "vergrößerung"),
])  # fmt: skip
def test_words_divided_at_the_ends_of_lines(printed: str, expected: str):
    assert unbroken(printed) == expected


@settings(max_examples=examples(200))
@given(
    st.text(max_size=80), st.text("0123456789F", max_size=6), st.text("0123456789F", max_size=6), st.lists(st.text(max_size=3))
)
def test_every_first_page_stays_in_the_text(printed: str, first: str, last: str, names: list[str]):
    fields: dict[str, Any] = {"first_page": first, "last_page": last, "last_names": tuple(names)}
    corrected(fields, printed)
    assert fields["first_page"] == first or fields["first_page"] in printed
    assert set(fields["last_names"]) <= set(names)
    assert bool(fields["last_names"]) == bool(names)
    assert unbroken(unbroken(printed)) is not None
    assert unbroken(printed).replace("- ", "") == unbroken(printed.replace("- ", "")) or "- " in printed
