"""Commands at a terminal escape control characters, markup and line feeds of their input."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from reflink.catalog import Catalog
from reflink.entities import Ids, Work
from tests.data import ROOT
from tests.reflink.cli.conftest import PAPER

#: Clears the screen, sets the title, overwrites the line, begins a sequence by one character, reverses the direction.
HOSTILE = "a\x1b[2J\x1b]0;title\x07\r\x9b31m\u202e[red]b"
SHOWN = r"a\u001b[2J\u001b]0;title\u0007\u000d\u009b31m\u202e[red]b"


def at_a_terminal(*argv: object) -> str:
    """Return the output of a command to a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "400", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-m", *map(str, argv)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        while part := _read(ours):
            shown += part
    os.close(ours)
    assert process.returncode in (0, 1)
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux: the other end is closed
        return b""


def is_tame(shown: str) -> bool:
    return not any(each in shown for each in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e", "\x1b[31m"))


@pytest.mark.parametrize("json_", [(), ("--json",)])
def test_names_of_files_and_members_are_escaped(tmp_path: Path, json_: tuple[str, ...]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / f"{HOSTILE}.xml").write_text("no paper")
    (folder / f"{HOSTILE}2.xml").write_text("<article><front/></article>")
    with tarfile.open(tmp_path / "papers.tar", "w") as tar:
        for name, data in ((f"{HOSTILE}\nreflink: b.xml", b"no paper"), (f"{HOSTILE}4.xml", b"<article><front/></article>")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    shown = at_a_terminal("reflink.cli", "parse", folder, tmp_path / "papers.tar", *json_)
    assert is_tame(shown)
    assert f"{SHOWN}.xml" in shown
    assert f"papers.tar:{SHOWN}\\u000areflink: b.xml" in shown


def test_records_of_a_catalog_are_escaped(tmp_path: Path) -> None:
    works = [
        Work(id=f"x:{HOSTILE}", ids=Ids(doi="10.1000/livak"), title=f"{HOSTILE}\nAnalysis of relative gene expression data")
    ]
    made = Catalog.empty()
    made.add(works)
    made.save(tmp_path / "catalog")
    (tmp_path / "paper.xml").write_text(PAPER.replace("Nobody", "No\x9b31mbody\u202e[red]"))
    for argv in (
        ("catalog", "find", tmp_path / "catalog", "--id", "10.1000/livak"),
        ("catalog", "find", tmp_path / "catalog", "--id", "10.1000/livak", "--json"),
        ("parse", tmp_path / "paper.xml"),
        ("parse", tmp_path / "paper.xml", "--json"),
        ("link", tmp_path / "paper.xml", "--catalog", tmp_path / "catalog"),
        ("explain", tmp_path / "paper.xml", "--reference", "1", "--catalog", tmp_path / "catalog"),
    ):
        shown = at_a_terminal("reflink.cli", *argv)
        assert is_tame(shown), argv
        assert r"\u202e[red]b" in shown or "catalog" not in argv, argv
        assert "Traceback" not in shown


def test_an_invalid_line_under_a_progress_bar_is_escaped(tmp_path: Path) -> None:
    works = tmp_path / f"{HOSTILE}.jsonl"
    works.write_text(json.dumps({"id": "x:1", "title": "A"}) + "\nno json\n")
    shown = at_a_terminal("reflink.cli", "catalog", "build", works, "--out", tmp_path / "out", "--no-vectors")
    assert is_tame(shown)
    assert f"{SHOWN}.jsonl" in shown


def test_an_argument_of_a_worker_tool_is_escaped(tmp_path: Path) -> None:
    shown = at_a_terminal("workers.cli", "schemas", tmp_path / f"{HOSTILE}\nreflink-worker: all is well")
    assert is_tame(shown)
    assert f"{SHOWN}\\u000areflink-worker: all is well" in shown
