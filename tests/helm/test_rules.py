"""The alerts: checks and unit tests of promtool, and agreement of rules, unit tests, metrics and runbook."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client import Histogram

from tests.data import ROOT
from tests.helm.expressions import DECLARED, RULES, TARGET_LABELS, labels, rules, selectors
from tests.programs import program
from workers import errors
from workers.config.settings import LedgerSettings, LinkerSettings, ParserSettings, WorkerSettings
from workers.kafka.topics import TRUSTED_S
from workers.runtime.initial_series import EXPECTED
from workers.telemetry import metrics

UNIT_TESTS: Final = sorted((Path(__file__).parent / "rules").glob("*.yaml"))
RUNBOOK: Final = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
#: Entries of the runbook by heading.
ENTRIES: Final = {text.partition("\n")[0]: text for text in re.split(r"^## ", RUNBOOK, flags=re.MULTILINE)[1:]}
ALERTS: Final[dict[str, dict[str, Any]]] = {
    rule["alert"]: rule
    for path in RULES
    for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
    if "alert" in rule
}


def promtool(*arguments: str) -> None:
    done = subprocess.run([program("promtool"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_the_rules():
    promtool("check", "rules", *map(str, RULES))


@pytest.mark.parametrize("path", UNIT_TESTS, ids=lambda path: path.stem)
def test_unit_tests_of_promtool_pass(path: Path):
    promtool("test", "rules", str(path))


def test_promtool_fails_if_an_expected_alert_does_not_fire(tmp_path: Path):
    """The tests above can fail."""
    text = (ROOT / "tests" / "helm" / "rules" / "gpu.yaml").read_text(encoding="utf-8")
    broken = text.replace("../../../helm", str(ROOT / "helm")).replace("76000000000+0x100", "7600000000+0x100")
    assert broken != text
    (tmp_path / "gpu.yaml").write_text(broken)
    with pytest.raises(AssertionError, match="ReflinkGpuMemoryFilling"):
        promtool("test", "rules", str(tmp_path / "gpu.yaml"))


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_has_a_firing_and_a_silent_case(name: str):
    counts = [
        len(case.get("exp_alerts", ()))
        for path in UNIT_TESTS
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]
        for case in test["alert_rule_test"]
        if case["alertname"] == name
    ]
    assert any(counts), "no test where it fires"
    assert not all(counts), "no test where it is silent"


def test_each_rule_file_has_unit_tests_for_all_its_alerts():
    assert [path.name for path in RULES] == [path.name for path in UNIT_TESTS]
    tested = {name for path in UNIT_TESTS for name in re.findall(r"alertname: (\w+)", path.read_text(encoding="utf-8"))}
    assert tested == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_has_severity_summary_description_and_runbook(name: str):
    rule = ALERTS[name]
    assert name.startswith("Reflink")
    assert rule["labels"] in ({"severity": "page"}, {"severity": "ticket"})
    assert set(rule["annotations"]) == {"summary", "description", "runbook"}
    assert rule["annotations"]["runbook"] == f"docs/runbook.md#{name.lower()}"
    assert "{{" in rule["annotations"]["description"], "the description names no value or label"
    assert not rule["annotations"]["summary"].endswith(".")


def test_the_runbook_has_an_entry_for_each_alert_and_no_other():
    assert list(ENTRIES) == list(dict.fromkeys(ENTRIES))
    assert set(ENTRIES) == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_entry_is_complete_and_has_the_severity_of_its_alert(name: str):
    entry = ENTRIES[name]
    assert re.search(r"^\*\*(\w+)\*\* · ", entry, re.MULTILINE).group(1) == ALERTS[name]["labels"]["severity"]
    parts = re.findall(r"^- \*\*([\w ]+)\*\*: ", entry, re.MULTILINE)
    assert parts == ["Users", "Look first", "Causes", "Do", "Ignore when"]
    assert set(re.findall(r"Reflink[A-Z]\w+", entry)) <= set(ALERTS)


def logged() -> set[str]:
    """Return all constant strings that are arguments of a logger's methods."""
    found: set[str] = set()
    for path in [path for folder in ("workers", "reflink") for path in (ROOT / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="log")), args=arguments):
                    found |= {
                        each.value for each in arguments if isinstance(each, ast.Constant) and isinstance(each.value, str)
                    }
    return found


def test_the_runbook_names_events_that_workers_log():
    named = [text for text in re.findall(r"`([a-z][a-z ',:]+)`", RUNBOOK) if " " in text or f"event `{text}`" in RUNBOOK]
    commands = ("reflink-worker", "kubectl", "helm", "reflink explain")
    events = [text for text in named if not text.startswith(commands)]
    known = logged()
    assert len(events) > 10
    for event in events:
        assert event in known, f"no worker logs {event!r}"


def test_the_runbook_names_existing_metrics_settings_and_commands():
    names = {name.removesuffix("_total") for name in DECLARED}
    assert {name.removesuffix("_total") for name in re.findall(r"`(reflink_\w+)`", RUNBOOK)} <= names
    fields = {*LinkerSettings.model_fields, *ParserSettings.model_fields, *LedgerSettings.model_fields}
    assert {name.lower() for name in re.findall(r"\bREFLINK_([A-Z_]+)\b", RUNBOOK)} <= fields
    command = [sys.executable, "-m", "workers.cli", "dead-letters", "--help"]
    help_text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for verb in re.findall(r"reflink-worker dead-letters (\w+)", RUNBOOK):
        assert re.search(rf"^    {verb} ", help_text, re.MULTILINE), verb
    assert set(re.findall(r"reflink-worker (\w[\w-]*)", RUNBOOK)) == {"dead-letters", "override", "replay"}


def test_the_runbook_has_every_exit_code_of_a_named_error():
    (listed,) = re.findall(r"\*\*Exit codes\*\*: (.*?)\n\n", RUNBOOK, re.DOTALL)
    codes = {
        each.exit_code for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.WorkerError)
    }
    assert {int(number) for number in re.findall(r"(?:^|, )(\d+) ", listed.replace("\n", " "))} >= codes - {1}


@pytest.mark.parametrize("rule", rules(), ids=str)
def test_a_rule_selects_declared_series_and_labels(rule):
    recorded = {each.name for each in rules() if not each.alert}
    for name, matchers in selectors(rule.expression):
        if ":" in name:
            assert name in recorded
            continue
        assert name in DECLARED, name
        assert labels(f"{name}{matchers}") <= DECLARED[name] | TARGET_LABELS
        assert 'job="reflink"' in matchers, "the selector matches metrics of other systems"
    assert labels(rule.expression) <= TARGET_LABELS.union(*DECLARED.values())


@pytest.mark.parametrize("rule", rules(), ids=str)
def test_a_rule_never_aggregates_over_installations(rule):
    """One Prometheus may scrape several installations, each in its own namespace."""
    for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", rule.expression):
        assert {"job", "namespace"} <= set(re.findall(r"\w+", group)), rule.expression


@pytest.mark.parametrize("rule", [rule for rule in rules() if not rule.alert], ids=str)
def test_the_name_of_a_recorded_series_has_its_labels(rule):
    level, metric, _ = rule.name.split(":")
    assert metric.startswith("reflink_")
    kept = {"instance": TARGET_LABELS, "worker_topic": {"job", "namespace", "worker", "topic"}}
    grouped = [set(re.findall(r"\w+", group)) for group in re.findall(r"sum by \(([^)]*)\)", rule.expression)]
    assert max(grouped, key=len) == kept.get(level, {"job", "namespace", *level.split("_")})


def test_bounds_in_rules_are_bounds_of_the_histograms():
    histograms = {f"{each._name}_bucket": each for each in vars(metrics).values() if isinstance(each, Histogram)}
    bounds = [
        (name, bound)
        for rule in rules()
        for name, matchers in selectors(rule.expression)
        for bound in re.findall(r'le="([^"]+)"', matchers)
    ]
    assert bounds
    for name, bound in bounds:
        assert bound in map(str, histograms[name]._upper_bounds), "not a bound as the workers write it"


def test_the_errors_of_invalid_input_in_code_and_rules_agree():
    text = (ROOT / "helm" / "reflink" / "rules" / "flow.yaml").read_text(encoding="utf-8")
    names = set(re.findall(r'reason!~"([\w|]+)"', text))
    assert names == {"|".join(sorted(error.__name__ for error in EXPECTED))}


def test_thresholds_are_below_the_limits_they_warn_of():
    refused_s = TRUSTED_S
    old, expiring = (
        int(re.search(r"> (\d+)$", ALERTS[name]["expr"]).group(1)) for name in ("ReflinkSnapshotOld", "ReflinkSnapshotExpiring")
    )
    assert old == refused_s - 24 * 3600
    assert expiring == refused_s - 6 * 3600
    defaults = {name: field.default for name, field in WorkerSettings.model_fields.items()}
    assert defaults["flood_share"] == 5 * 0.01, "ReflinkDeadLetters fires at a fifth"
    assert 2 * defaults["stall_timeout_s"] == 600, "ReflinkNoProgress waits for twice the timeout"
    assert defaults["batch_records"] == 8 * 64, "ReflinkSmallBatches fires below an eighth"
    assert defaults["poison_deaths"] == 3, "the comment of ReflinkPoisonKills has the number"
