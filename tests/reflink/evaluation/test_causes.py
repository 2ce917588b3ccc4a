"""Each cause of an error, by an example."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reflink.entities import Link, Reference, Work
from reflink.evaluation.causes import CAUSES, cause_of, counted
from reflink.evaluation.outcomes import Outcome
from tests.reflink.evaluation.outcomes import outcome

TITLE = "Salt in the leaves of rice under long drought"
OTHER = "A map of the genes for root length in wheat"


def _work(id_: str, title: str | None = TITLE, author: str = "Li", year: int | None = 2001) -> Work:
    return Work(id=id_, title=title, authors=(author,), year=year)


def _reference(**fields: Any) -> Reference:
    given = {"title": TITLE, "raw_text": f"Li. {TITLE}. 2001", **fields}
    return Reference(id="r", citing="c", position=1, **given)


def _nothing(why: str) -> Outcome:
    link = Link.from_dict({"reference": "r", "citing": "c", "cited": None, "unresolved": why})
    return Outcome("r", "front", True, False, link)


_PREFERRED = _reference(title=f"{TITLE}, {OTHER}", raw_text="")
CASES: dict[str, tuple[Outcome, Reference, Work | None, Work | None, bool]] = {
    "nothing to search by": (_nothing("empty"), _reference(), _work("t"), None, False),
    "no candidate": (_nothing("no-candidate"), _reference(), _work("t"), None, False),
    "rejected": (outcome(None, best=True), _reference(), _work("v"), _work("v"), True),
    "doubtful truth": (outcome("w"), _reference(), _work("t", OTHER), _work("w"), True),
    "twin record": (outcome("w"), _reference(), _work("t"), _work("w", TITLE.upper()), False),
    "target not named": (outcome(None), _reference(), _work("t", OTHER), _work("v", "Zinc"), False),
    "not proposed": (outcome("w"), _reference(), _work("t"), _work("w", OTHER), False),
    "same title": (outcome("w"), _reference(), _work("t"), _work("w", year=2007), True),
    "similar title": (outcome("w"), _reference(), _work("t"), _work("w", f"{TITLE} II"), True),
    "no title": (outcome("w"), _reference(title=None), _work("t"), _work("w", OTHER), True),
    "another preferred": (outcome("w"), _PREFERRED, _work("t"), _work("w", OTHER), True),
    "other work": (outcome("w", present=False), _reference(), _work("t"), _work("w", OTHER), False),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_is_found(cause: str) -> None:
    of, reference, target, chosen, proposed = CASES[cause]
    assert cause_of(of, reference, target, chosen, proposed=proposed) == cause


def test_an_error_with_an_unlisted_work_has_a_cause() -> None:
    assert cause_of(outcome("w"), _reference(), None, None, proposed=True) == "another preferred"
    assert cause_of(outcome("w", present=False), _reference(), None, _work("w", None), proposed=False) == "other work"


def test_a_right_answer_has_no_cause() -> None:
    with pytest.raises(ValueError, match="not an error"):
        cause_of(outcome(right=True), _reference(), None, None, proposed=True)


def test_causes_are_counted_by_kind_of_error_in_descending_order() -> None:
    outcomes = [
        replace(outcome("v"), cause="no title"), *[replace(outcome("v"), cause="same title")] * 2, outcome(right=True),
        replace(outcome(None), cause="rejected"),
    ]  # fmt: skip
    assert counted(outcomes) == {"missed": {"rejected": 1}, "wrong": {"same title": 2, "no title": 1}}
    assert list(counted(outcomes)["wrong"]) == ["same title", "no title"]
