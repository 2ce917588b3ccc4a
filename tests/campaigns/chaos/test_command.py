"""``python -m tests.campaigns.chaos`` writes and plots its results so far, also when it is ended early."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.campaigns import chaos
from tests.campaigns.chaos import __main__ as command
from tests.campaigns.chaos import recovery, soak
from tests.campaigns.chaos.recovery import Recovery
from tests.campaigns.chaos.soak import Soak
from workers.devkit.processes import WORKERS

MEASURED = [Recovery("pod lost", "linker", 7.0, 3, 22.0), Recovery("worker leaves", "parser", 1.0, 0, None)]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace the catalog and matplotlib, and restore the signal handler afterwards."""
    monkeypatch.setattr(command, "make_snapshot", lambda works, folder: folder)
    drawn = SimpleNamespace(
        recovery=lambda measured, path: path.write_text(f"svg of {len(measured)}"),
        soak=lambda samples, marks, path: path.write_text(f"svg of {len(samples)}"),
    )
    monkeypatch.setattr(chaos, "plots", drawn, raising=False)
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def _signal_self(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(30)
    raise AssertionError("the signal did not end the command")


def _run(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    code = command.main([name, "--json", str(folder / "report.json"), "--plot", str(folder / "plot.svg"), "--minutes", "30"])
    assert json.loads(capsys.readouterr().out)
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return code, report, (folder / "plot.svg").read_text()


@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM])
def test_recovery(number: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def measure(*_: object) -> Iterator[Recovery]:
        for done, each in enumerate(MEASURED, start=1):
            yield each
            assert len(json.loads((tmp_path / "report.json").read_text())["measured"]) == done, "not written while it runs"
        if number is not None:
            _signal_self(number)

    monkeypatch.setattr(recovery, "measure", measure)
    code, report, plot = _run(tmp_path, "recovery", capsys)
    assert [each["seconds"] for each in report["measured"]] == [7.0, 1.0]
    assert (code, report["ended_early"]) == ((0, False) if number is None else (1, True))
    assert "svg" in plot


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_soak(number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def run(works: object, snapshot: object, result: Soak, log: object, sampled: Callable[[], object]) -> None:
        result.marks.append((0.0, "full load"))
        for at in range(0, 600, 5):
            memory = dict.fromkeys(("parser", "linker", "fallback", "ledger"), 100.0 + at / 60)
            result.samples.append({"seconds": float(at), "rss_mb": memory, "lag": dict.fromkeys(memory, 1), "outcomes": at})
            sampled()
        _signal_self(number)

    monkeypatch.setattr(soak, "soak", run)
    code, report, plot = _run(tmp_path, "soak", capsys)
    assert code == 1
    assert len(report["samples"]) == 120
    assert (report["warm_mb"]["linker"], report["highest_mb"]["linker"]) == pytest.approx((106.2, 108.7), abs=0.2)
    assert "it ran for 9.9 of 30 minutes" in report["problems"]
    assert "svg" in plot


def test_a_soak_without_samples_is_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(soak, "soak", lambda *_: _signal_self(signal.SIGTERM))
    assert command.main(["soak", "--json", str(tmp_path / "report.json"), "--plot", str(tmp_path / "plot.svg")]) == 1
    assert json.loads((tmp_path / "report.json").read_text())["problems"] == ["no sample was taken"]
    assert not (tmp_path / "plot.svg").exists()


def _soaked(memory: Callable[[float], float] = lambda _: 100.0, left: int = 0, **figures: Any) -> Soak:
    """Return a soak of ten minutes, with the parser's memory by share of the time and the linker's lag at the end."""
    figures = {"outcomes": 1, "longest_batch_s": 30.0, "recovered_s": None if left else 1.0, **figures}
    result = Soak(10.0, **figures)
    for at in range(0, 605, 5):
        rss = dict.fromkeys(WORKERS, 100.0) | {"parser": memory(at / 600)}
        result.samples.append({"seconds": float(at), "rss_mb": rss, "lag": {"linker": left}, "outcomes": at})
    soak.evaluate(result)
    return result


@pytest.mark.parametrize("memory", [
    lambda share: min(100 + 600 * share, 200) - 20 * share,  # rises during the warm-up, falls later
    lambda share: 100 + 4 * (share > 0.5),
])  # fmt: skip
def test_memory_that_stays_flat_after_the_warm_up_is_not_a_problem(memory: Callable[[float], float]):
    assert _soaked(memory).problems == []


@pytest.mark.parametrize(("changed", "expected"), [
    ({"memory": lambda share: 100 + 10 * (share > 0.5)}, "parser: memory rose from 100 MB"),
    ({"left": 3}, "lag did not come down to 0: {'linker': 3}"),
    ({"longest_batch_s": 5.0}, "no batch took as long as the session of 10 s"),
    ({"outcomes": 0}, "nothing was linked"),
])  # fmt: skip
def test_a_broken_promise_of_a_soak_is_a_problem(changed: dict[str, Any], expected: str):
    (problem,) = _soaked(**changed).problems
    assert problem.startswith(expected)
