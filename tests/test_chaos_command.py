"""``python -m tests.chaos`` reports and draws what it has, also when it is ended early."""

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

from tests import chaos
from tests.chaos import __main__ as command
from tests.chaos import recovery, soak
from tests.chaos.recovery import Recovery
from tests.chaos.soak import Soak

MEASURED = [Recovery("pod lost", "linker", 7.0, 3, 22.0), Recovery("worker leaves", "parser", 1.0, 0, None)]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without a catalog, without matplotlib, and with this process's own signals afterwards."""
    monkeypatch.setattr(command, "make_snapshot", lambda works, folder: folder)
    drawn = SimpleNamespace(
        recovery=lambda measured, path: path.write_text(f"svg of {len(measured)}"),
        soak=lambda samples, marks, path: path.write_text(f"svg of {len(samples)}"),
    )
    monkeypatch.setattr(chaos, "plots", drawn, raising=False)
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def _told_to_end(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(30)
    raise AssertionError("it did not end")


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
            assert len(json.loads((tmp_path / "report.json").read_text())["measured"]) == done, "not written as it goes"
        if number is not None:
            _told_to_end(number)

    monkeypatch.setattr(recovery, "measure", measure)
    code, report, plot = _run(tmp_path, "recovery", capsys)
    assert [each["seconds"] for each in report["measured"]] == [7.0, 1.0]
    assert (code, report["ended_early"]) == ((0, False) if number is None else (1, True))
    assert "svg" in plot


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_soak(number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def run(works: object, snapshot: object, result: Soak, say: object, sampled: Callable[[], object]) -> None:
        result.marks.append((0.0, "full load"))
        for at in range(0, 600, 5):
            memory = dict.fromkeys(("parser", "linker", "fallback", "ledger"), 100.0 + at / 60)
            result.samples.append({"seconds": float(at), "rss_mb": memory, "lag": dict.fromkeys(memory, 1), "outcomes": at})
            sampled()
        _told_to_end(number)

    monkeypatch.setattr(soak, "soak", run)
    code, report, plot = _run(tmp_path, "soak", capsys)
    assert code == 1
    assert len(report["samples"]) == 120
    assert report["growth_mb"]["linker"] == pytest.approx(6.8, abs=0.5)
    assert "it ran for 9.9 of 30 minutes" in report["problems"]
    assert "svg" in plot


def test_a_soak_that_saw_nothing_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(soak, "soak", lambda *_: _told_to_end(signal.SIGTERM))
    assert command.main(["soak", "--json", str(tmp_path / "report.json"), "--plot", str(tmp_path / "plot.svg")]) == 1
    assert json.loads((tmp_path / "report.json").read_text())["problems"] == ["nothing was seen"]
    assert not (tmp_path / "plot.svg").exists()
