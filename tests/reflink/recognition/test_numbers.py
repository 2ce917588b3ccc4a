"""Tests of volumes and pages that are tagged as one string."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reflink.recognition import labels as tag
from reflink.recognition.labels import label_runs
from reflink.recognition.numbers import divide_pages, divide_volume
from reflink.recognition.tokens import Tokens, tokenise


def divided(text: str, divide: Callable[[Tokens, int, int], list[int]], *wanted: int) -> tuple[str, ...]:
    tokens = tokenise(text)
    runs = list(label_runs(divide(tokens, 0, len(tokens.words))))
    found = {mark: text[tokens.starts[start] : tokens.ends[stop - 1]] for mark, start, stop in runs}
    assert len([mark for mark, _, _ in runs if mark in wanted]) <= len(wanted)
    return tuple(found.get(mark, "") for mark in wanted)


@pytest.mark.parametrize(
    ("text", "volume", "issue"),
    [
        ("79:", "79", ""), ("79(2):", "79", "2"), ("(Vol. 3, Part A,", "3", ""), ("No. 134, Part 3", "", "134"),
        ("n°54.", "", "54"), ("Vol. 39, No. 9,", "39", "9"), ("60(8-B),", "60", "8-B"), ("A757", "A757", ""),
        ("B 39", "B 39", ""), ("XII", "XII", ""), ("12-13", "12-13", ""), ("in press", "", ""),
        ("2012;30(15)", "30", "15"), ("2011 44(4)", "44", "4"), ("2004", "2004", ""), ("2004(3)", "2004", "3"),
        ("2004-2005", "2004-2005", ""),
    ],
)  # fmt: skip
def test_volumes(text: str, volume: str, issue: str):
    assert divided(text, divide_volume, tag.N, tag.I) == (volume, issue)


def test_the_year_before_a_volume_is_the_year():
    assert divided("2012;30(15)", divide_volume, tag.Y, tag.N) == ("2012", "30")


def test_a_number_behind_the_word_for_issue_is_an_issue():
    tokens = tokenise("(2014), no. 11")
    assert divide_volume(tokens, len(tokens.words) - 1, len(tokens.words)) == [tag.I]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("pp. 12–19,", "12", "19"), ("1477--81.", "1477", "81"), ("S12-S20", "S12", "S20"), ("e1000097", "e1000097", ""),
        ("p. 143", "143", ""), ("321 p.", "", ""), ("(p. 401-434).", "401", "434"), ("xii, 321 p.", "", ""),
        ("ix-xii", "ix", "xii"), ("246002 (9pp)", "246002", ""), ("12-14, 20", "12", "14"), ("", "", ""),
    ],
)  # fmt: skip
def test_pages(text: str, first: str, last: str):
    assert divided(text, divide_pages, tag.F, tag.E) == (first, last)
