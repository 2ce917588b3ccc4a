"""The command ``evaluate``: its options, files and output."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from reflink.cli.evaluate import RIVALS
from reflink.evaluation import run
from reflink.evaluation.rivals import running
from reflink.evaluation.vectors import CachedEncoder
from tests.reflink.cli.conftest import Reflink
from tests.reflink.evaluation.worldfiles import Hashed, small_world, titles

SHARES = {"open_80", "open_20"}


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "default_encoder", lambda cache: CachedEncoder(Hashed(), cache))


@pytest.fixture
def data(tmp_path: Path) -> tuple[object, ...]:
    works, references = small_world(tmp_path)
    return "evaluate", "--catalog", works, "--references", references


@pytest.fixture
def inputs(data: tuple[object, ...], tmp_path: Path) -> tuple[object, ...]:
    return *data, "--cache", tmp_path / "cache"


def test_the_default_measures_two_worlds_without_tables(reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path) -> None:
    answer = reflink(*inputs, "--json", tmp_path / "deep" / "figures.json")
    assert answer.code == 0
    measured = orjson.loads((tmp_path / "deep" / "figures.json").read_bytes())
    assert measured.keys() == {"closed", "open", "about"}
    assert {"error", "error_interval", "queries", "methods", "causes", "kinds", "contents", "read"} == measured["closed"].keys()
    rates = {"precision", "recall", "f1", "false_link"}
    assert rates | {f"{name}_interval" for name in rates} <= measured["open"].keys()
    assert {"causes", "kinds", "contents", "calibration", "thresholds", "read"} <= measured["open"].keys()
    assert {"ece", "bins"} <= measured["open"]["calibration"].keys()
    assert "rule" not in measured["open"]
    for text in ("closed", "title", "expected calibration error", "0.00% ["):
        assert text in answer.out


def test_full_measures_everything_and_writes_a_report(reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path) -> None:
    report, figures, outcomes = tmp_path / "report", tmp_path / "figures.json", tmp_path / "outcomes.jsonl"
    answer = reflink(*inputs, "--full", "--report", report, "--json", figures, "--outcomes", outcomes)
    assert answer.code == 0
    assert str(report / "index.html") in answer.out
    measured = orjson.loads(figures.read_bytes())
    assert measured.keys() == {"closed", "open", *SHARES, "raw_only", "tables", "about"}
    assert measured["raw_only"].keys() == {"closed", "open"}
    assert {"fields", "limits", "approaches", "curve", "hybrid"} <= measured["tables"].keys()
    assert measured["open"]["rule"]["threshold"] == 0.7959
    lines = [orjson.loads(line) for line in outcomes.read_bytes().splitlines()]
    assert {line["world"] for line in lines} == {"closed", "open", *SHARES, "raw_only.closed", "raw_only.open"}
    page = (report / "index.html").read_text()
    for text in ("Stated and observed", "Error by approach and mode", "By share of the targets", "Every mistake"):
        assert text in page
    assert "TitleMatch" in answer.out


def test_modes_add_the_closed_world_and_the_tables(reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path) -> None:
    figures, outcomes = tmp_path / "figures.json", tmp_path / "outcomes.jsonl"
    options = ("--world", "open", "--present", 3, "--modes", "T, Raw", "--json", figures, "--outcomes", outcomes)
    assert reflink(*inputs, *options).code == 0
    measured = orjson.loads(figures.read_bytes())
    assert measured.keys() == {"closed", "open", "tables", "about"}
    assert {row["mode"] for row in measured["tables"]["approaches"]} == {"T", "Raw"}
    assert measured["about"]["present"] == 3


def test_shares_and_hidden_fields_add_worlds(reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    assert reflink(*inputs, "--world", "closed", "--shares", "--fields-hidden", "--json", figures).code == 0
    measured = orjson.loads(figures.read_bytes())
    assert measured.keys() == {"closed", *SHARES, "raw_only", "about"}
    assert measured["raw_only"].keys() == {"closed"}
    assert measured["open_80"]["present"] >= measured["open_20"]["present"]


@pytest.mark.parametrize(("profile", "world"), [("paper", "closed"), ("production", "open")])
def test_a_single_world_is_measured_with_a_line_for_each_query(
    reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path, profile: str, world: str
) -> None:
    figures, outcomes = tmp_path / "figures.json", tmp_path / "outcomes.jsonl"
    options = ("--profile", profile, "--world", world, "--json", figures, "--outcomes", outcomes)
    assert reflink(*inputs, *options).code == 0
    measured = orjson.loads(figures.read_bytes())
    assert measured.keys() == {world, "about"}
    assert ("error" in measured[world]) == (world == "closed")
    lines = [orjson.loads(line) for line in outcomes.read_bytes().splitlines()]
    assert len(lines) == len(titles())
    assert all({"rid", "cited", "probability", "present"} <= line.keys() for line in lines)
    assert not any("world" in line for line in lines)


def test_an_unknown_mode_is_refused_before_any_input_is_read(reflink: Reflink) -> None:
    answer = reflink("evaluate", "--catalog", "none", "--references", "none", "--modes", "TVL,XY")
    assert answer.code == 2
    assert "unknown mode XY: expected all, or some of" in answer.err


def test_encoders_without_modes_are_refused(reflink: Reflink) -> None:
    answer = reflink("evaluate", "--catalog", "none", "--references", "none", "--encoders", "a,b")
    assert answer.code == 2
    assert "--encoders needs --modes" in answer.err


def test_help_explains_the_options(reflink: Reflink) -> None:
    shown = " ".join(reflink("evaluate", "--help").out.split())
    for option in ("--modes", "--report", "--fields-hidden", "--shares", "--full", "--present", "--outcomes", "--accept"):
        assert option in shown
    assert "20% and 80% of the targets" in shown
    assert "reflink evaluate --catalog" in shown


@pytest.mark.parametrize("policy", RIVALS)
def test_a_rule_of_another_publication_links_the_same_queries_without_a_model(
    reflink: Reflink, data: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.setattr(run, "default_encoder", None)
    monkeypatch.chdir(tmp_path)
    figures, ours, outcomes = tmp_path / "figures.json", tmp_path / "ours.json", tmp_path / "outcomes.jsonl"
    answer = reflink(*data, "--policy", policy, "--json", figures, "--outcomes", outcomes, "--fields-hidden")
    assert answer.code == 0, answer.err
    measured = orjson.loads(figures.read_bytes())
    assert measured.keys() == {"closed", "open", "raw_only", "about"}
    assert measured["closed"]["error"] == 0, "every title is in the catalog once"
    assert (measured["open"]["precision"], measured["open"]["recall"], measured["open"]["false_link"]) == (1, 1, 0)
    assert measured["open"]["precision_interval"][1] == 1
    assert measured["about"]["policy"] == policy
    assert not (tmp_path / ".cache").exists(), "nothing was encoded"
    time = measured["open"]["time"]
    assert time["timed"].keys() == {"alone", "in_batches", "batch", "threads", "load"}
    assert min(time["seconds"], time["seconds_in_batches"]) > 0
    assert "median microseconds a reference" in answer.out
    lines = [orjson.loads(line) for line in outcomes.read_bytes().splitlines()]
    assert {line["world"] for line in lines} == {"closed", "open", "raw_only.closed", "raw_only.open"}
    monkeypatch.setattr(run, "default_encoder", lambda cache: CachedEncoder(Hashed(), cache))
    assert reflink(*data, "--cache", tmp_path / "cache", "--json", ours).code == 0
    own = orjson.loads(ours.read_bytes())
    for world in ("closed", "open"):  # a rule has no probabilities
        assert own[world].keys() - {"calibration", "thresholds"} == measured[world].keys() - {"time"}


def test_the_rules_on_the_command_line_are_those_that_exist() -> None:
    assert set(RIVALS) == running.RIVALS.keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--policy", "unarxive", "--modes", "T"), "--policy unarxive has no --modes"),
        (("--policy", "s2orc", "--accept", 0.9), "--policy s2orc has no --accept"),
        (("--policy", "s2orc", "--profile", "paper"), "--policy s2orc has no --profile"),
        (("--policy", "unarxive", "--threshold", 0.9), "--policy unarxive has no --threshold"),
        (("--policy", "s2orc", "--cache", "x"), "--policy s2orc has no --cache"),
        (("--policy", "mine"), "invalid choice"),
    ],
)
def test_a_rule_has_no_options_of_reflinks_policy(
    reflink: Reflink, data: tuple[object, ...], options: tuple[object, ...], message: str
) -> None:
    answer = reflink(*data, *options)
    assert answer.code == 2
    assert message in answer.err


def test_the_threshold_of_s2orc_can_be_another(reflink: Reflink, data: tuple[object, ...], tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    assert reflink(*data, "--policy", "s2orc", "--threshold", 1, "--world", "closed", "--json", figures).code == 0
    measured = orjson.loads(figures.read_bytes())
    assert measured["closed"]["error"] == 1, "no s is above 1"
    assert measured["about"]["threshold"] == 1
