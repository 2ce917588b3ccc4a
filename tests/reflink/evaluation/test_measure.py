"""Figures of outcomes, by hand and against plain counting."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.evaluation.measure import figures
from reflink.evaluation.outcomes import Outcome
from tests.profiles import examples
from tests.reflink.evaluation.outcomes import drawn, outcome


def test_figures_of_ten_outcomes() -> None:
    outcomes = [
        *[outcome(right=True)] * 6, outcome("v"), outcome(None), outcome(present=False, kind="cocite"),
        outcome(None, present=False, kind="cocite"),
    ]  # fmt: skip
    opened = figures(outcomes, closed=False)
    assert (opened["precision"], opened["recall"], opened["false_link"], opened["f1"]) == (0.75, 0.75, 0.5, 0.75)
    assert (opened["queries"], opened["present"], opened["absent"], opened["links"], opened["right"]) == (10, 8, 2, 8, 6)
    assert opened["kinds"]["cocite"]["recall"] == 0
    closed = figures(outcomes[:8], closed=True)
    assert closed["error"] == 0.25
    assert closed["methods"] == {"not-in-catalog": 1, "semantic": 7}
    assert {"calibration", "thresholds"} <= opened.keys()
    assert not {"calibration", "thresholds"} & closed.keys()


@settings(max_examples=examples(25))
@given(st.lists(drawn(), max_size=30))
def test_figures_equal_plain_counting(outcomes: list[Outcome]) -> None:
    links = [each for each in outcomes if each.link.cited]
    right = [each for each in links if each.right]
    present = [each for each in outcomes if each.present]
    false = [each for each in links if not each.present]
    absent = len(outcomes) - len(present)
    found = figures(outcomes, closed=False)
    precision = len(right) / len(links) if links else 0
    recall = len(right) / len(present) if present else 0
    assert found["precision"] == pytest.approx(precision, abs=1e-6)
    assert found["recall"] == pytest.approx(recall, abs=1e-6)
    assert found["f1"] == pytest.approx(2 * precision * recall / (precision + recall) if right else 0, abs=1e-6)
    assert found["false_link"] == pytest.approx(len(false) / absent if absent else 0, abs=1e-6)
    for name in ("precision", "recall", "f1", "false_link"):
        low, high = found[f"{name}_interval"]
        assert 0 <= low <= high <= 1
    assert sum(of["queries"] for of in found["kinds"].values()) == len(outcomes)


def test_figures_without_suspects_are_given_separately() -> None:
    outcomes = [*[outcome(right=True)] * 3, replace(outcome("v"), suspect="an identifier of another work")]
    for closed in (True, False):
        found = figures(outcomes, closed=closed)
        name, all_of_them, without = ("error", 0.25, 0) if closed else ("precision", 0.75, 1)
        assert (found["queries"], found[name]) == (4, all_of_them)
        assert (found["without_suspects"]["queries"], found["without_suspects"][name]) == (3, without)
        assert "without_suspects" not in figures(outcomes[:3], closed=closed)


def test_a_wrong_outcome_has_a_kind_of_error_and_a_right_one_none() -> None:
    assert outcome(right=True).error is None
    assert outcome(None, present=False).error is None
    assert (outcome("v").error, outcome(None).error, outcome(present=False).error) == ("wrong", "missed", "false")
    assert (outcome("w").chosen, outcome(None).chosen, outcome(None, refused=None).chosen) == ("w", "v", None)


def test_a_line_of_an_outcomes_file_keeps_its_format() -> None:
    assert outcome(right=True).to_dict() == {
        "rid": "r", "cited": "w", "probability": 0.9, "present": True, "right": True, "kind": "front", "contents": "title",
        "method": "semantic",
    }  # fmt: skip
    refused = outcome(None, p=0.25).to_dict()
    assert (refused["cited"], refused["unresolved"]) == (None, "not-in-catalog")
    assert refused["runner_up"] == {"cited": "v", "score": 0.5}
