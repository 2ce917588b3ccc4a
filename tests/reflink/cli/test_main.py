from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reflink.cli import COMMANDS
from tests.reflink.cli.conftest import PAPER, Reflink

RUN = [sys.executable, "-m", "reflink.cli"]


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS), *(("catalog", n) for n in ("build", "info", "find"))])
def test_help_contains_an_example(reflink: Reflink, command: tuple[str, ...]) -> None:
    answer = reflink(*command, "--help")
    assert answer.code == 0
    assert f"reflink {' '.join(command)}".strip() in answer.out.split("options:")[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_named_like_its_module(name: str) -> None:
    module = importlib.import_module(f"reflink.cli.{name}")
    assert name == module.NAME
    assert "reflink " + name in module.HELP


@pytest.mark.parametrize("argv", [(), ("unknown",), ("parse",), ("link", "a.xml"), ("catalog",), ("catalog", "find", "d")])
def test_wrong_usage_exits_with_2(reflink: Reflink, argv: tuple[str, ...]) -> None:
    answer = reflink(*argv)
    assert answer.code == 2
    assert "usage: reflink" in answer.err


def test_a_missing_catalog_exits_with_2_and_one_line(reflink: Reflink, paper: Path, tmp_path: Path) -> None:
    for argv in (
        ("link", paper, "--catalog", tmp_path / "absent"),
        ("explain", paper, "--reference", 1, "--catalog", tmp_path),
        ("catalog", "info", tmp_path),
        ("catalog", "build", tmp_path / "absent.jsonl", "--out", tmp_path / "out", "--no-vectors"),
        ("catalog", "build", paper, "--out", tmp_path, "--no-vectors"),
    ):
        answer = reflink(*argv)
        assert (answer.code, answer.out) == (2, "")
        (complaint,) = [line for line in answer.err.splitlines() if line.startswith("reflink: ")]
        assert str(tmp_path) in complaint


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    for n in range(300):
        (tmp_path / f"{n}.xml").write_text(PAPER)
    process = subprocess.Popen([*RUN, "parse", str(tmp_path), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0


def test_ctrl_c_exits_with_130_without_output(tmp_path: Path) -> None:
    fifo = tmp_path / "never.xml"
    os.mkfifo(fifo)
    # A test run in the background ignores Ctrl-C, and children inherit that.
    at_a_terminal = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    process = subprocess.Popen([*RUN, "parse", str(fifo)], stderr=subprocess.PIPE, preexec_fn=at_a_terminal)
    with fifo.open("w"):  # the command has begun to read it
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert process.stderr is not None
    assert process.stderr.read() == b""
