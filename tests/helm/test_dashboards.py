"""The JSON files of the dashboards: no drift from the Python code, only declared metrics and labels, complete descriptions."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from helm.dashboards.__main__ import DASHBOARDS, main
from helm.dashboards.overview import OBJECTIVE_S
from helm.dashboards.querying import filled
from tests.helm.expressions import DASHBOARDS as FILES
from tests.helm.expressions import (
    DECLARED,
    TARGET_LABELS,
    Panel,
    labels,
    panels,
    panels_of,
    selectors,
    without_comparisons,
    without_offsets,
)  # fmt: skip
from workers.telemetry import metrics

COLUMNS = 24


def test_the_files_equal_the_generated_ones(tmp_path: Path):
    assert main([str(tmp_path)]) == 0
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_text(encoding="utf-8") for path in FILES}, (
        "regenerate with `python -m helm.dashboards helm/reflink/dashboards`"
    )
    assert set(made) == {f"{name}.json" for name in DASHBOARDS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_panel_has_a_unique_id_a_unit_and_a_description(path: Path):
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["uid"] == f"reflink-{path.stem}"
    numbers = [panel["id"] for panel in document["panels"]]
    assert len(numbers) == len(set(numbers))
    assert all(numbers)
    for panel in panels_of(path):
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        # Good values, and what to do otherwise: at least two sentences.
        assert "Good: " in panel["description"], panel["title"]
        assert panel["description"].count(".") >= 2, panel["title"]
        assert all(target["legendFormat"] for target in panel["targets"]), panel["title"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_panels_fill_the_grid_without_overlaps(path: Path):
    lines: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
        at = panel["gridPos"]
        lines[at.get("y", 0)].append((at.get("x", 0), at["w"], at["h"]))
    below = 0
    for y, line in sorted(lines.items()):
        assert y == below
        assert len({height for _, _, height in line}) == 1
        right = 0
        for x, width, _ in sorted(line):
            assert x == right
            right += width
        assert right == COLUMNS
        below = y + line[0][2]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_data_source_and_installation_are_variables(path: Path):
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r'"uid": "([^"]*)"', text)) == {"${datasource}", f"reflink-{path.stem}"}
    used = set(re.findall(r"\$\{?(\w+)", text)) - {"__all", "__rate_interval"}
    variables = json.loads(text)["templating"]["list"]
    assert used == {each["name"] for each in variables}
    assert [each["name"] for each in variables[:2]] == ["datasource", "namespace"]
    assert all('namespace=~"$namespace"' in each["query"] for each in variables[2:])


@pytest.mark.parametrize("panel", panels(), ids=str)
def test_an_expression_names_declared_metrics_and_labels(panel: Panel):
    found = selectors(panel.expression)
    assert found
    for name, matchers in found:
        assert name in DECLARED, name
        assert 'job="reflink", namespace=~"$namespace"' in matchers, "the sum would include several installations"
        assert labels(f"{name}{matchers}") <= DECLARED[name] | TARGET_LABELS
    known = set().union(*(DECLARED[name] for name, _ in found)) | TARGET_LABELS
    assert labels(panel.expression) <= known
    assert set(re.findall(r"{{(\w+)}}", panel.legend)) <= known


def test_the_objective_is_a_bound_of_the_histogram():
    assert OBJECTIVE_S in metrics.END_TO_END_SECONDS._upper_bounds


def test_expressions_are_taken_apart():
    expression = 'sum by (up, pod) (rate(reflink_a_total{job="reflink", x=~"$x"}[5m] offset 1d)) / up > bool 0.5 and a:b:c == 3'
    assert selectors(expression) == [("reflink_a_total", '{job="reflink", x=~"$x"}'), ("up", ""), ("a:b:c", "")]
    assert selectors("deriv((up > 0)[$__rate_interval:15s])") == [("up", "")]
    assert labels(expression) == {"up", "pod", "job", "x"}
    assert without_comparisons("(a > 0) / b <= 1e-3 unless c") == "(a) / b unless c"
    assert without_offsets("a[1h] offset 1d + b") == "a[1h] + b"
    assert filled("a[$__rate_interval] ${pod} $pod", {"pod": ".*", "__rate_interval": "1m"}) == "a[1m] .* .*"
