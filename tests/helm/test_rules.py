"""The alerts: promtool's checks and unit tests, and that rules, tests, metrics and runbook are of one piece."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram

from tests.data import ROOT
from tests.helm.expressions import labels, rules, selectors
from tests.programs import program
from workers import errors, metrics
from workers.announcing import EXPECTED
from workers.settings import LedgerSettings, LinkerSettings, ParserSettings, WorkerSettings
from workers.topics import TOPICS

RULES: Final = sorted((ROOT / "helm" / "reflink" / "rules").glob("*.yaml"))
UNIT_TESTS: Final = sorted((Path(__file__).parent / "rules").glob("*.yaml"))
RUNBOOK: Final = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
#: Of each entry of the runbook, by its heading.
ENTRIES: Final = {text.partition("\n")[0]: text for text in re.split(r"^## ", RUNBOOK, flags=re.MULTILINE)[1:]}
#: What Prometheus gives every series.
OF_TARGETS: Final = {"job", "namespace", "worker", "instance", "pod"}
ALERTS: Final[dict[str, dict[str, Any]]] = {
    rule["alert"]: rule
    for path in RULES
    for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
    if "alert" in rule
}


def series_declared() -> dict[str, set[str]]:
    """Names as they are served, each with its labels."""
    declared = {"up": set[str]()}
    for each in vars(metrics).values():
        if isinstance(each, Counter | Gauge | Histogram):
            own = set(each._labelnames)
            if isinstance(each, Histogram):
                declared |= {each._name + "_bucket": own | {"le"}, each._name + "_sum": own, each._name + "_count": own}
            else:
                declared[each._name + ("_total" if isinstance(each, Counter) else "")] = own
    return declared


def promtool(*arguments: str) -> None:
    done = subprocess.run([program("promtool"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_takes_the_rules():
    promtool("check", "rules", *map(str, RULES))


@pytest.mark.parametrize("path", UNIT_TESTS, ids=lambda path: path.stem)
def test_unit_tests_of_promtool_pass(path: Path):
    promtool("test", "rules", str(path))


def test_promtool_fails_where_an_alert_is_silent_that_should_fire(tmp_path: Path):
    """So a pass above means something."""
    text = (ROOT / "tests" / "helm" / "rules" / "gpu.yaml").read_text(encoding="utf-8")
    broken = text.replace("../../../helm", str(ROOT / "helm")).replace("76000000000+0x100", "7600000000+0x100")
    assert broken != text
    (tmp_path / "gpu.yaml").write_text(broken)
    with pytest.raises(AssertionError, match="ReflinkGpuMemoryFilling"):
        promtool("test", "rules", str(tmp_path / "gpu.yaml"))


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_has_tests_where_it_fires_and_where_it_is_silent(name: str):
    counts = [
        len(case.get("exp_alerts", ()))
        for path in UNIT_TESTS
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]
        for case in test["alert_rule_test"]
        if case["alertname"] == name
    ]
    assert any(counts), "no test in which it fires"
    assert not all(counts), "no test in which it is silent"


def test_each_rule_file_has_its_unit_tests_and_they_name_alerts_that_are_there():
    assert [path.name for path in RULES] == [path.name for path in UNIT_TESTS]
    tested = {name for path in UNIT_TESTS for name in re.findall(r"alertname: (\w+)", path.read_text(encoding="utf-8"))}
    assert tested == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_bad_it_is_what_it_is_and_what_to_do(name: str):
    rule = ALERTS[name]
    assert name.startswith("Reflink")
    assert rule["labels"] in ({"severity": "page"}, {"severity": "ticket"})
    assert set(rule["annotations"]) == {"summary", "description", "runbook"}
    assert rule["annotations"]["runbook"] == f"docs/runbook.md#{name.lower()}"
    assert "{{" in rule["annotations"]["description"], "it says how much, or of whom"
    assert not rule["annotations"]["summary"].endswith(".")


def test_the_runbook_has_an_entry_for_each_alert_and_no_other():
    assert list(ENTRIES) == list(dict.fromkeys(ENTRIES))
    assert set(ENTRIES) == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_entry_is_whole_and_as_severe_as_its_alert(name: str):
    entry = ENTRIES[name]
    assert re.search(r"^\*\*(\w+)\*\* · ", entry, re.MULTILINE).group(1) == ALERTS[name]["labels"]["severity"]
    parts = re.findall(r"^- \*\*([\w ]+)\*\*: ", entry, re.MULTILINE)
    assert parts == ["Users", "Look first", "Causes", "Do", "Ignore when"]
    assert set(re.findall(r"Reflink[A-Z]\w+", entry)) <= set(ALERTS)


def logged() -> set[str]:
    """The first argument, or one of two, of every call of a logger."""
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
        assert event in known, f"nobody logs {event!r}"


def test_the_runbook_names_metrics_settings_and_commands_that_are_there():
    names = {name.removesuffix("_total") for name in series_declared()}
    assert {name.removesuffix("_total") for name in re.findall(r"`(reflink_\w+)`", RUNBOOK)} <= names
    fields = {*LinkerSettings.model_fields, *ParserSettings.model_fields, *LedgerSettings.model_fields}
    assert {name.lower() for name in re.findall(r"\bREFLINK_([A-Z_]+)\b", RUNBOOK)} <= fields
    command = [sys.executable, "-m", "workers.cli", "dead-letters", "--help"]
    help_text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for verb in re.findall(r"reflink-worker dead-letters (\w+)", RUNBOOK):
        assert re.search(rf"^    {verb} ", help_text, re.MULTILINE), verb
    assert set(re.findall(r"reflink-worker (\w[\w-]*)", RUNBOOK)) == {"dead-letters", "replay"}
    command = [sys.executable, "-m", "workers.cli", "replay", "--help"]
    help_text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for option in re.findall(r"reflink-worker replay (--\w+)", RUNBOOK):
        assert re.search(rf"^  {option} ", help_text, re.MULTILINE), option


def test_the_runbook_has_every_exit_code_that_needs_somebody():
    (told,) = re.findall(r"\*\*Exit codes\*\*: (.*?)\n\n", RUNBOOK, re.DOTALL)
    codes = {
        each.exit_code for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.WorkerError)
    }
    assert {int(number) for number in re.findall(r"(?:^|, )(\d+) ", told.replace("\n", " "))} >= codes - {1}


@pytest.mark.parametrize("rule", rules(), ids=str)
def test_a_rule_asks_for_series_that_workers_have_by_labels_that_they_have(rule):
    declared = series_declared()
    recorded = {each.name for each in rules() if not each.alert}
    for name, matchers in selectors(rule.expression):
        if ":" in name:
            assert name in recorded
            continue
        assert name in declared, name
        matched = set(re.findall(r"(\w+)\s*[=!]", re.sub(r'"[^"]*"', '""', matchers)))
        assert matched <= declared[name] | OF_TARGETS
        assert 'job="reflink"' in matchers, "another system's metrics are none of ours"
    assert labels(rule.expression) <= OF_TARGETS.union(*declared.values())


@pytest.mark.parametrize("rule", rules(), ids=str)
def test_a_rule_never_adds_up_two_installs(rule):
    """One Prometheus may watch several, each in a namespace of its own."""
    for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", rule.expression):
        assert {"job", "namespace"} <= set(re.findall(r"\w+", group)), rule.expression


@pytest.mark.parametrize("rule", [rule for rule in rules() if not rule.alert], ids=str)
def test_a_recorded_series_says_what_it_is_by_what_it_keeps(rule):
    level, metric, _ = rule.name.split(":")
    assert metric.startswith("reflink_")
    kept = {"instance": OF_TARGETS, "worker_topic": {"job", "namespace", "worker", "topic"}}
    grouped = [set(re.findall(r"\w+", group)) for group in re.findall(r"sum by \(([^)]*)\)", rule.expression)]
    assert max(grouped, key=len) == kept.get(level, {"job", "namespace", *level.split("_")})


def test_bounds_that_rules_ask_for_are_bounds_of_their_histograms():
    histograms = {f"{each._name}_bucket": each for each in vars(metrics).values() if isinstance(each, Histogram)}
    asked = [
        (name, bound)
        for rule in rules()
        for name, matchers in selectors(rule.expression)
        for bound in re.findall(r'le="([^"]+)"', matchers)
    ]
    assert asked
    for name, bound in asked:
        assert bound in map(str, histograms[name]._upper_bounds), "as it is written by the workers"


def test_errors_of_the_input_are_the_same_in_code_and_rules():
    text = (ROOT / "helm" / "reflink" / "rules" / "flow.yaml").read_text(encoding="utf-8")
    names = set(re.findall(r'reason!~"([\w|]+)"', text))
    assert names == {"|".join(sorted(error.__name__ for error in EXPECTED))}


def test_thresholds_leave_time_before_the_limits_they_warn_of():
    refused_s = int(TOPICS["catalog"].config["delete.retention.ms"]) / 2000
    old, expiring = (
        int(re.search(r"> (\d+)$", ALERTS[name]["expr"]).group(1)) for name in ("ReflinkSnapshotOld", "ReflinkSnapshotExpiring")
    )
    assert old == refused_s - 24 * 3600
    assert expiring == refused_s - 6 * 3600
    defaults = {name: field.default for name, field in WorkerSettings.model_fields.items()}
    assert defaults["flood_share"] == 5 * 0.01, "ReflinkDeadLetters warns at a fifth of it"
    assert 2 * defaults["stall_timeout_s"] == 600, "ReflinkNoProgress waits twice as long"
    assert defaults["batch_records"] == 8 * 64, "ReflinkSmallBatches asks for an eighth"
    assert defaults["poison_deaths"] == 3, "ReflinkPoisonKills says so"
