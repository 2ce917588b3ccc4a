"""Queries of the dashboards and rules: their selectors and labels, and the series and labels that the workers declare."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from prometheus_client import Counter, Histogram
from prometheus_client.metrics import MetricWrapperBase

from tests.data import ROOT
from workers.telemetry import load_metrics, metrics

DASHBOARDS = sorted((ROOT / "helm" / "reflink" / "dashboards").glob("*.json"))
RULES = sorted((ROOT / "helm" / "reflink" / "rules").glob("*.yaml"))
#: Labels that Prometheus adds to every scraped series.
TARGET_LABELS = {"job", "namespace", "worker", "instance", "pod"}
#: Labels by which a Pushgateway groups the series of a load.
PUSHED_LABELS = {"prefix"}

_SELECTOR = re.compile(r"\b(up|reflink_\w+|\w+(?::\w+)+)\b(\{[^}]*\})?")
_TEXT = re.compile(r'"[^"]*"')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
_COMPARISON = re.compile(r"\s*(?:==|!=|>=|<=|>|<)\s*(?:bool\s+)?-?[0-9][0-9.e_+-]*\b")
_RANGE = re.compile(r"\[[^\]]*\]")
_OFFSET = re.compile(r"\s+offset\s+\w+")


class Panel(NamedTuple):
    """A query of a panel."""

    dashboard: str
    title: str
    kind: str
    expression: str
    legend: str

    def __str__(self) -> str:
        return f"{self.dashboard}: {self.title}: {self.legend}"


class Rule(NamedTuple):
    """A recording rule or an alert."""

    file: str
    name: str
    alert: bool
    expression: str

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


def declared() -> dict[str, set[str]]:
    """Return the labels of every series that the workers serve or a load pushes, and of ``up``, by the name of the series."""
    found: dict[str, set[str]] = {"up": set()}
    for metric in (*vars(metrics).values(), *vars(load_metrics).values()):
        if not isinstance(metric, MetricWrapperBase):
            continue
        own, name = set(metric._labelnames), metric._name
        if isinstance(metric, Histogram):
            found |= {f"{name}_bucket": own | {"le"}, f"{name}_sum": own, f"{name}_count": own}
        else:
            pushed = PUSHED_LABELS if metric in vars(load_metrics).values() else set()
        found[f"{name}_total" if isinstance(metric, Counter) else name] = own | pushed
    return found


DECLARED = declared()


def panels_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the panels of a dashboard without the row headings."""
    for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
        if panel["type"] != "row":
            yield panel


def panels() -> list[Panel]:
    """Return the queries of all dashboards."""
    return [
        Panel(path.stem, panel["title"], panel["type"], target["expr"], target["legendFormat"])
        for path in DASHBOARDS
        for panel in panels_of(path)
        for target in panel["targets"]
    ]


def rules() -> list[Rule]:
    """Return the rules of all files of the chart."""
    found = []
    for path in RULES:
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            for rule in group["rules"]:
                alert = "alert" in rule
                found.append(Rule(path.stem, rule["alert" if alert else "record"], alert, rule["expr"]))
    return found


def selectors(expression: str) -> list[tuple[str, str]]:
    """Return name and matchers of each selector, without ranges and offsets."""
    # Names in a grouping are labels, and the colon of a subquery does not belong to a recording rule.
    plain = _RANGE.sub("", _GROUPING.sub("", expression))
    return [(found[1], found[2] or "") for found in _SELECTOR.finditer(plain)]


def labels(expression: str) -> set[str]:
    """Return the labels that the expression matches or groups by."""
    plain = _TEXT.sub('""', expression)
    matched = {name for _, matchers in selectors(plain) for name in re.findall(r"(\w+)\s*[=!]", matchers)}
    grouped = {name for group in _GROUPING.findall(plain) for name in re.findall(r"\w+", group.partition("(")[2])}
    return matched | grouped


def without_comparisons(expression: str) -> str:
    """Return the expression without its comparisons with numbers."""
    return _COMPARISON.sub("", expression)


def without_offsets(expression: str) -> str:
    """Return the expression without its offsets, for the current time."""
    return _OFFSET.sub("", expression)
