"""PromQL as far as the tests must understand it: the selectors of an expression, and what it is without its comparisons."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.data import ROOT

DASHBOARDS = sorted((ROOT / "helm" / "reflink" / "dashboards").glob("*.json"))
RULES = sorted((ROOT / "helm" / "reflink" / "rules").glob("*.yaml"))

_SELECTOR = re.compile(r"\b(up|reflink_\w+|\w+(?::\w+)+)\b(\{[^}]*\})?")
_TEXT = re.compile(r'"[^"]*"')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
_COMPARISON = re.compile(r"\s*(?:==|!=|>=|<=|>|<)\s*(?:bool\s+)?-?[0-9][0-9.e_+-]*\b")
_RANGE = re.compile(r"\[[^\]]*\]")
_OFFSET = re.compile(r"\s+offset\s+\w+")


class Panel(NamedTuple):
    """One query of one panel."""

    dashboard: str
    title: str
    kind: str
    expression: str
    legend: str

    def __str__(self) -> str:
        return f"{self.dashboard}: {self.title}: {self.legend}"


class Rule(NamedTuple):
    """One recording rule or alert."""

    file: str
    name: str
    alert: bool
    expression: str

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


def panels_of(path: Path) -> Iterator[dict[str, Any]]:
    """All but the headings."""
    for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
        if panel["type"] != "row":
            yield panel


def panels() -> list[Panel]:
    """Of every dashboard."""
    return [
        Panel(path.stem, panel["title"], panel["type"], target["expr"], target["legendFormat"])
        for path in DASHBOARDS
        for panel in panels_of(path)
        for target in panel["targets"]
    ]


def rules() -> list[Rule]:
    """Of every rule file of the chart."""
    found = []
    for path in RULES:
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            for rule in group["rules"]:
                alert = "alert" in rule
                found.append(Rule(path.stem, rule["alert" if alert else "record"], alert, rule["expr"]))
    return found


def selectors(expression: str) -> list[tuple[str, str]]:
    """Name and matchers of each, without ranges and offsets."""
    # What stands in a grouping is a label, whatever it is called, and a subquery's colon is no recording rule's.
    plain = _RANGE.sub("", _GROUPING.sub("", expression))
    return [(found[1], found[2] or "") for found in _SELECTOR.finditer(plain)]


def labels(expression: str) -> set[str]:
    """That it matches or groups by."""
    plain = _TEXT.sub('""', expression)
    matched = {name for _, matchers in selectors(plain) for name in re.findall(r"(\w+)\s*[=!]", matchers)}
    grouped = {name for group in _GROUPING.findall(plain) for name in re.findall(r"\w+", group.partition("(")[2])}
    return matched | grouped


def without_comparisons(expression: str) -> str:
    """What is compared with numbers, without the numbers."""
    return _COMPARISON.sub("", expression)


def without_offsets(expression: str) -> str:
    """The same of now."""
    return _OFFSET.sub("", expression)
