"""Selections of links: matching, parsing, and comparison with another selection."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.links import link
from workers.replay.selection import ANY, UNKNOWN, BadSelection, Selection, differences, moment, probabilities

NOW = 1_000_000_000_000
DAY = 86_400_000
A = link(
    "doi:10.1/a#r1", "doi:10.1/x", judged=NOW - DAY, method="semantic", probability=0.8, model="minilm@53aa", policy="0a1b2c3d"
)
B = link("doi:10.1/b#r1", None, judged=NOW - 3 * DAY, probability=0.2, model="other")
C = link("doi:10.1/c#r1", None, judged=NOW - 9 * DAY, unresolved="empty")
ALL = {"a": A, "b": B, "c": C}


@pytest.mark.parametrize(
    ("criteria", "selected"),
    [
        ({}, "abc"),
        ({"since": "2d"}, "a"),
        ({"until": "2d"}, "bc"),
        ({"since": "4d", "until": "2d"}, "b"),
        ({"since": datetime.fromtimestamp((NOW - 4 * DAY) / 1000, UTC).isoformat()}, "ab"),
        ({"citing": {"doi:10.1/b", "doi:10.1/c"}}, "bc"),
        ({"methods": {"semantic"}}, "a"),
        ({"methods": {"lexical"}}, ""),
        ({"unresolved": {ANY}}, "bc"),
        ({"unresolved": {"empty"}}, "c"),
        ({"probability": (0.5, 0.9)}, "a"),
        ({"probability": (0.0, 1.0)}, "ab"),
        ({"models": {"minilm"}}, "a"),
        ({"models": {"minilm@53aa"}}, "a"),
        ({"models": {"minilm@53ab"}}, ""),
        ({"not_models": {"minilm@53ab"}}, "abc"),
        ({"models": {UNKNOWN}}, "c"),
        ({"not_models": {"minilm"}}, "bc"),
        ({"policies": {"0a1b2c3d"}}, "a"),
        ({"not_policies": {"0a1b2c3d"}}, "bc"),
        ({"not_policies": {"0a1b2c3d", UNKNOWN}}, ""),
        ({"cited": {"doi:10.1/x"}}, "a"),
        ({"cited": {"doi:10.1/y"}}, ""),
        ({"since": "4d", "unresolved": {ANY}, "not_models": {"minilm"}}, "b"),
    ],
)
def test_a_selection_contains_the_links_that_match_all_its_criteria(criteria: dict[str, Any], selected: str):
    selection = Selection(**{name: frozenset(value) if isinstance(value, set) else value for name, value in criteria.items()})
    matches = selection.as_of(NOW)
    assert "".join(name for name, event in ALL.items() if matches(event)) == selected
    for event in ALL.values():  # the check of the key alone excludes no match
        assert selection.may_include(event.link.reference.encode()) or not matches(event)


def test_the_key_alone_determines_the_paper():
    selection = Selection(citing=frozenset({"doi:10.1/a"}))
    assert selection.may_include(b"doi:10.1/a#x")
    assert not any(selection.may_include(key) for key in (b"doi:10.1/ab#x", b"\xff#1", b"", None))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", NOW - 90_000),
        ("30m", NOW - 1_800_000),
        ("3h", NOW - 10_800_000),
        ("1.5d", NOW - 3 * DAY // 2),
        ("2001-09-09T01:46:40", NOW),
        ("2001-09-09T01:46:40Z", NOW),
        ("2001-09-09T03:46:40+02:00", NOW),
        ("1970-01-02", DAY),
    ],
)
def test_a_time_is_an_age_or_iso_8601(text: str, expected: int):
    assert moment(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "d", "-2d", "2 weeks", "yesterday", "2026-13-01", "3", "1e5d"])
def test_an_invalid_time_is_refused(text: str):
    with pytest.raises(BadSelection, match="is not a time"):
        moment(text, NOW)


def test_a_range_of_probabilities_includes_both_ends_and_may_be_open():
    assert probabilities("0.5..0.9") == (0.5, 0.9)
    assert probabilities("0.97..") == (0.97, 1.0)
    assert probabilities("..0.2") == (0.0, 0.2)
    assert Selection(probability=(0.8, 0.8)).as_of(NOW)(A)


@pytest.mark.parametrize("text", ["", "..", "0.5", "0.9..0.5", "-1..0.5", "0.5..2", "a..b", "nan..1", "0.1..0.2..0.3"])
def test_an_invalid_range_is_refused(text: str):
    with pytest.raises(BadSelection, match="is not a range"):
        probabilities(text)


NAMES = st.frozensets(st.sampled_from("abcdefgh"))


@given(one=NAMES, other=NAMES)
def test_only_equal_selections_have_equal_digests(one: frozenset[str], other: frozenset[str]):
    first, second = Selection(citing=one), Selection(citing=other)
    assert (first.digest() == second.digest()) == (one == other)
    assert (differences(first.criteria(), second.criteria()) == "") == (one == other)
    assert first.digest() != Selection(cited=one).digest() or not one


def test_the_criteria_contain_the_length_of_a_long_list():
    many = Selection(citing=frozenset(f"doi:10.1/{n}" for n in range(10_000)))
    assert str(many.criteria()["citing"]).startswith("10000, digest ")
    assert differences(many.criteria(), Selection(since="2d").criteria()) == "citing, since"
