"""The verdict on the record of an autoscaling run, and the command that writes both."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.campaigns.autoscaling import __main__ as entry
from tests.campaigns.autoscaling.errors import RunFailed
from tests.campaigns.autoscaling.record import Record
from tests.campaigns.autoscaling.values import MIN_REPLICAS
from tests.campaigns.autoscaling.verdict import SETTLED_S, peaks, problems, summary

_MARKS = (
    (0, "quiet"), (10, "burst"), (60, "drained"), (120, "at the minimum"), (120, "second burst"), (150, "node lost"),
    (180, "drained again"), (240, "at the minimum again"),
)  # fmt: skip


def good_record() -> Record:
    record = Record(marks=[(float(at), text) for at, text in _MARKS])
    for at in range(250):
        busy = 10 <= at < 60 or 120 < at < 180
        scaled = {"parser": 2, "linker": 4, "fallback": 3} if 20 <= at < 90 or 130 < at < 210 else {}
        count = {**MIN_REPLICAS, **scaled}
        lag = dict.fromkeys(MIN_REPLICAS, 500.0 if busy else 0.0)
        keda = {name: lag[name] for name in ("parser", "linker", "fallback")}
        links = min(at, 60) * 10 if at <= 120 else 600 + min(at - 120, 60) * 10
        sample = {"seconds": float(at), "lag": lag, "keda": keda, "wanted": count, "ready": dict(count), "links": links}
        record.samples.append({**sample, "processes": dict(count)})
    return record


def found(record: Record, checked: tuple[str, ...] = (), **ends: int) -> list[str]:
    return list(problems(record, MIN_REPLICAS, checked, {"linker 0": 5, "linker -9": 1, "parser -15": 1} | ends))


def test_a_good_run_has_no_problems():
    assert found(good_record()) == []


def test_problems_of_the_checker_are_problems_of_the_run():
    assert found(good_record(), ("links: lost 1: x",)) == ["links: lost 1: x"]


@pytest.mark.parametrize("worker", ["parser", "linker", "fallback"])
def test_not_scaled_up(worker: str):
    record = good_record()
    for sample in record.samples[:120]:
        sample["ready"][worker] = 1
    assert found(record) == [f"burst: {worker} was not scaled up: 1 ready at most"]


def test_not_scaled_down():
    record = good_record()
    for sample in record.samples[200:]:
        sample["wanted"]["fallback"] = 2
    assert found(record) == ["second burst: fallback did not return to 1: 2 wanted, 1 ready"]


@pytest.mark.parametrize("which", ["keda", "lag"])
def test_lag_of_markers_is_a_problem(which: str):
    record = good_record()
    record.samples[60 + int(SETTLED_S) + 5][which]["linker"] = 6.0
    (problem,) = found(record)
    assert problem.startswith(f"burst: linker: {which} counts up to 6 records")


def test_lag_directly_after_the_last_link_is_not_a_problem():
    record = good_record()
    record.samples[60 + int(SETTLED_S) - 2]["keda"]["linker"] = 6.0
    assert found(record) == []


def test_a_run_that_ended_early():
    record = good_record()
    del record.marks[5:]
    assert found(record) == ["second burst: it did not reach: drained again, at the minimum again"]
    assert list(summary(record)) == ["burst", "max machine load"]


@pytest.mark.parametrize("end", ["linker 1", "ledger 7", "parser, not within its grace, -9"])
def test_an_unexpected_exit_code_is_a_problem(end: str):
    (problem,) = found(good_record(), **{end: 2})
    assert problem == f"{end.rsplit(' ', 1)[0]} ended 2 times with exit code {end.rsplit(' ', 1)[1]}"


def test_the_figures_of_the_table():
    record = good_record()
    figures = summary(record)
    assert figures["burst"]["max ready"] == {"parser": 2, "linker": 4, "fallback": 3, "ledger": 1}
    assert figures["burst"]["max lag by KEDA"]["linker"] == 500
    assert figures["burst"]["first more ready after s"] == {"parser": 10.0, "linker": 10.0, "fallback": 10.0}
    assert figures["burst"]["links"] == 500
    assert figures["burst"]["links a second"] == 10.0
    assert figures["second burst"]["drained after s"] == 60.0
    assert figures["second burst"]["at the minimum after s"] == 60.0
    assert peaks(record, 0, 5, "wanted") == dict.fromkeys(MIN_REPLICAS, 1)


def test_the_figures_of_a_lost_node():
    record = good_record()
    record.messages = [
        (140.0, "linker-x starts on node-a"),
        (151.0, "linker-x is killed on node-a"),
        (151.0, "reflink-ledger-0 is killed on node-a"),
        (175.0, "linker-y starts on node-b"),
        (195.0, "reflink-ledger-0 starts on node-b"),
    ]
    assert summary(record)["node lost"] == {
        "killed": ["linker-x", "reflink-ledger-0"],
        "next pod started after s": 25.0,
        "ledger replaced after s": 45.0,
    }


# The command


class _Run:
    """A run as the command uses it."""

    def __init__(self, folder: Path, record: Record, log: Any) -> None:
        self.record, self.papers, self.finished = record, 0, False
        self.problems: list[str] = []
        self.counts: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        self.events: list[str] = []
        log("begins")

    def run(self, papers: int, settings: dict[str, str]) -> None:
        assert settings == {"REFLINK_A": "b=c"}
        known = good_record()
        self.record.samples, self.record.marks = known.samples, known.marks
        self.papers, self.finished = papers, True
        self.then()

    def then(self) -> None:
        """Continue as the test requires."""


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace matplotlib, and restore the signal handlers afterwards."""
    fake = SimpleNamespace(draw=lambda samples, marks, title, path: path.write_text(f"svg of {len(samples)}: {title}"))
    monkeypatch.setitem(sys.modules, "tests.campaigns.autoscaling.plots", fake)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _failed(run: _Run) -> None:
    run.finished = False
    raise RunFailed("etcd ended")


def _interrupted(run: _Run) -> None:
    run.finished = False
    signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize(("then", "code", "problem"), [
    (lambda run: None, 0, None),
    (lambda run: run.problems.append("links: lost 1"), 1, "links: lost 1"),
    (_failed, 2, "the run could not be completed: etcd ended"),
    (_interrupted, 2, "the run was ended early"),
])  # fmt: skip
@pytest.mark.usefixtures("drawn")
def test_the_command_prints_and_writes_the_report(
    then: Any,
    code: int,
    problem: str | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(entry, "Run", type("_Then", (_Run,), {"then": then}))
    files = ["--json", str(tmp_path / "run.json"), "--plot", str(tmp_path / "run.svg")]
    assert entry.main(["--papers", "7", "--setting", "REFLINK_A=b=c", *files]) == code
    printed, kept = json.loads(capsys.readouterr().out), json.loads((tmp_path / "run.json").read_text())
    assert printed["problems"] == kept["problems"] == ([problem] if problem else [])
    assert printed["papers"] == 7
    assert "samples" not in printed
    assert len(kept["samples"]) == 250
    svg = (tmp_path / "run.svg").read_text()
    assert svg == f"svg of 250: 0 links of 7 papers; problems: {problem or 'none'}"
