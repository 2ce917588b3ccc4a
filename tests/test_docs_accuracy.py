"""docs/accuracy.md explains whatever an outcome may say: every number of the evidence, every phrase of the reasons."""

from __future__ import annotations

import json
import re

import pytest

from reflink.evaluation.noise import reviewed
from reflink.verdict.evidence import Evidence
from reflink.verdict.judge import shipped
from reflink.verdict.model import CARDS
from reflink.verdict.reasons import VOCABULARY
from reflink.verdict.scorecard import FEATURES
from tests.data import ROOT

PAGE = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
FAMILIES = ROOT / "tests" / "reflink" / "verdict"


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines]


def test_every_number_of_the_evidence_has_its_row_in_order() -> None:
    names = [row[0].strip("`") for row in rows(section("What is compared: the evidence"))[1:]]
    assert tuple(names) == Evidence._fields


@pytest.mark.parametrize("phrase", VOCABULARY)
def test_every_phrase_of_the_reasons_is_there(phrase: str) -> None:
    assert f"`{phrase}`" in section("Reasons")


def test_no_phrase_is_there_that_no_outcome_has() -> None:
    said = {cell for row in rows(section("Reasons").split("###")[0])[1:] for cell in re.findall(r"`([a-z ,]+)`", row[-2])}
    assert said
    assert said <= set(VOCABULARY)


def test_the_scorecards_are_counted_right() -> None:
    text = section("Scorecards")
    assert f"has {len(FEATURES)} features" in text
    model = shipped().to_dict()["cards"]
    titled, tagged, written = (len(model[card]["points"]) for card in CARDS)
    assert f"(*titled*, {titled} points that are not 0)" in text
    assert f"(*tagged*, {tagged})" in text
    assert f"(*written*, {written})" in text


def test_what_was_left_out_of_training_is_told() -> None:
    training = shipped().training
    assert f"{training['left_out']} of {training['pairs']:,} pairs" in PAGE


def test_the_families_are_all_there_with_what_is_wrong() -> None:
    families = json.loads((FAMILIES / "families.json").read_text("utf-8"))
    wrong = json.loads((FAMILIES / "shortfalls.json").read_text("utf-8"))
    table = {row[0]: row for row in rows(section("Families of similar works"))[1:]}
    assert table.keys() == {*families, "**all**"}
    for family in families:
        told = int(table[family][2]) + int(table[family][4].split("|")[0])
        assert told == sum(case.startswith(f"{family}-") for case in wrong), family


def test_the_suspects_that_were_read_are_counted() -> None:
    assert f"{len(reviewed())} were found by reading" in PAGE
