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
from tests.campaigns.autoscaling.verdict import SCALED, SETTLED_S, peaks, problems, summary

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


_LAST_LINK = 60 + int(SETTLED_S)


@pytest.mark.parametrize(("samples", "what", "worker", "value", "expected"), [
    *((slice(120), "ready", name, 1, [f"burst: {name} was not scaled up: 1 ready at most"]) for name in SCALED),
    (slice(200, None), "wanted", "fallback", 2, ["second burst: fallback did not return to 1: 2 wanted, 1 ready"]),
    (slice(_LAST_LINK + 5, _LAST_LINK + 6), "keda", "linker", 6.0,
     [f"burst: linker: keda counts up to 6 records {SETTLED_S:g} s after the last link"]),
    (slice(_LAST_LINK + 5, _LAST_LINK + 6), "lag", "linker", 6.0,
     [f"burst: linker: lag counts up to 6 records {SETTLED_S:g} s after the last link"]),
    (slice(_LAST_LINK - 2, _LAST_LINK - 1), "keda", "linker", 6.0, []),
])  # fmt: skip
def test_missing_scaling_and_lag_after_the_last_link_are_problems(
    samples: slice, what: str, worker: str, value: float, expected: list[str]
):
    record = good_record()
    for sample in record.samples[samples]:
        sample[what][worker] = value
    assert found(record) == expected


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
    assert figures["burst"] == {
        "max lag by KEDA": dict.fromkeys(SCALED, 500),
        "max lag by reflink": dict.fromkeys(SCALED, 500),
        "max wanted": {"parser": 2, "linker": 4, "fallback": 3, "ledger": 1},
        "max ready": {"parser": 2, "linker": 4, "fallback": 3, "ledger": 1},
        "first more ready after s": dict.fromkeys(SCALED, 10.0),
        "drained after s": 50.0,
        "at the minimum after s": 60.0,
        "links": 500,
        "links a second": 10.0,
    }
    assert (figures["second burst"]["drained after s"], figures["second burst"]["at the minimum after s"]) == (60.0, 60.0)
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
        self.problems, self.events = [], []
        self.counts = self.ends = {}
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
def test_the_command_prints_and_writes_the_report(then: Any, code: int, problem: str | None, monkeypatch, tmp_path, capsys):
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
