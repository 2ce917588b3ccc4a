"""docs/accuracy.md explains every part of an outcome: every field of the evidence, every phrase of the reasons."""

from __future__ import annotations

import json
import re

import pytest

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


def test_every_field_of_the_evidence_has_its_row_in_order() -> None:
    names = [row[0].strip("`") for row in rows(section("What is compared: the evidence"))[1:]]
    assert tuple(names) == Evidence._fields


@pytest.mark.parametrize("phrase", VOCABULARY)
def test_every_phrase_of_the_reasons_is_on_the_page(phrase: str) -> None:
    assert f"`{phrase}`" in section("Reasons")


def test_every_phrase_on_the_page_is_one_of_the_reasons() -> None:
    named = {cell for row in rows(section("Reasons").split("###")[0])[1:] for cell in re.findall(r"`([a-z ,]+)`", row[-2])}
    assert named
    assert named <= set(VOCABULARY)


def test_the_numbers_of_features_and_points_are_current() -> None:
    text = section("Scorecards")
    assert f"has {len(FEATURES)} features" in text
    model = shipped().to_dict()["cards"]
    titled, tagged, written, untitled = (len(model[card]["points"]) for card in CARDS)
    assert f"(*titled*, {titled} points that are not 0)" in text
    assert f"(*tagged*, {tagged})" in text
    assert f"(*written*, {written})" in text
    assert f"(*untitled*, {untitled})" in text


def test_the_pairs_left_out_of_training_are_counted() -> None:
    training = shipped().training
    assert f"{training['left_out']} of {training['pairs']:,} pairs" in PAGE


def test_every_family_has_its_row_with_its_shortfalls() -> None:
    families = json.loads((FAMILIES / "families.json").read_text("utf-8"))
    wrong = json.loads((FAMILIES / "shortfalls.json").read_text("utf-8"))
    table = {row[0]: row for row in rows(section("Families of similar works"))[1:]}
    assert table.keys() == {*families, "**all**"}
    for family in families:
        count = int(table[family][2]) + int(table[family][4].split("|")[0])
        assert count == sum(case.startswith(f"{family}-") for case in wrong), family
