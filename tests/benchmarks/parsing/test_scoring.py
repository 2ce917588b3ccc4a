"""Tests of the scorer of taggers."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.parsing.scoring import Case, case_of, every, measure, measure_tokens
from reflink.recognition import labels as tag
from reflink.recognition.labelled import Labelled
from reflink.recognition.labels import LABELS
from reflink.recognition.tagging import Tagging
from reflink.recognition.tokens import Tokens, tokenise

TEXT = "Wang X. Plants. J Ecol 2004"
MARKS = [tag.L, tag.A, tag.O, tag.T, tag.O, tag.V, tag.V, tag.Y]
CITATION = Labelled(TEXT, MARKS, True)


class Fixed:
    """A tagger that is certain of given labels."""

    def __init__(self, labels: list[int]):
        self.labels = labels

    def tag(self, text: str, tokens: Tokens) -> Tagging:
        assert tokenise(text) == tokens
        sure = np.eye(len(LABELS))[self.labels]
        stays = np.zeros_like(sure)
        stays[:-1] = sure[:-1] * sure[1:]
        return Tagging(self.labels, sure, stays)


def test_the_truth_has_every_field_of_the_labels():
    truth = case_of(CITATION).truth
    assert truth["title"] == {"plants"}
    assert (truth["venue"], truth["year"], truth["last_names"]) == ({"j ecol"}, {"2004"}, {("wang",)})
    assert truth["volume"] == set()


def test_a_perfect_tagger_has_no_error():
    fields = measure([case_of(CITATION)], every(Fixed(MARKS)))
    assert all(score.row()["f1"] == pytest.approx(1) for score in fields.values() if score.present)
    assert sum(score.present for score in fields.values()) == 4
    assert measure_tokens([CITATION], Fixed(MARKS))["all"].row()["f1"] == pytest.approx(1)


def test_missing_wrong_and_needless_values_are_counted_apart():
    cases = [case_of(CITATION), Case(TEXT, case_of(CITATION).truth | {"title": set()})]
    scores = measure(cases, lambda text: {"title": "PLANTS!", "year": 2005})
    assert (scores["title"].present, scores["title"].given, scores["title"].right) == (1, 2, 1)
    assert (scores["year"].present, scores["year"].given, scores["year"].right) == (2, 2, 0)
    assert (scores["venue"].present, scores["venue"].given) == (2, 0)
    assert measure(cases, lambda text: {"title": "Plants"}, lenient=True)["title"].given == 1


def test_tokens_are_scored_by_label():
    swapped = [tag.V if mark == tag.T else mark for mark in MARKS]
    scores = measure_tokens([CITATION], Fixed(swapped))
    assert (scores["V"].present, scores["V"].given, scores["V"].right) == (2, 3, 2)
    assert (scores["all"].present, scores["all"].right) == (6, 5)
