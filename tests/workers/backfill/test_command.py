"""The command line of ``reflink-spark``, as far as it needs no Spark."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from workers.backfill.command import main

GIVEN = ["link", "--papers", "examples/papers", "--works", "examples/works.jsonl", "--out", "out"]


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.strip().splitlines()[-1]


@pytest.mark.parametrize(("arguments", "message"), [
    ([], "COMMAND"),
    (["link"], "--out"),
    (["link", "--out", "x"], "--papers --references is required"),
    (["link", "--out", "x", "--papers", "a"], "--catalog --works is required"),
    ([*GIVEN, "--references", "a"], "not allowed with"),
    ([*GIVEN, "--catalog", "a"], "not allowed with"),
    ([*GIVEN, "--conf", "executor.memory=1g"], "expected spark.NAME=VALUE"),
    ([*GIVEN, "--conf", "spark.executor.memory"], "expected spark.NAME=VALUE"),
    ([*GIVEN, "--absent", "auto"], "estimate it on a sample"),
    ([*GIVEN, "--min-probability", "2"], "expected a number above 0"),
])  # fmt: skip
def test_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in last_line(capsys)


def test_without_pyspark_the_message_names_the_extra(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.startswith(("pyspark", "py4j", "workers.backfill.job"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert main(GIVEN) == 2
    assert last_line(capsys) == "reflink-spark: pyspark is missing: pip install 'reflink-stream[spark]'"


@pytest.mark.parametrize(("options", "message"), [
    (["--catalog", "{folder}"], "it has no meta.json: not a catalog"),
    (["--works", "a", "--link-precision", "1"], "no links have a precision of 1"),
    (["--works", "a", "--journals", "{folder}/none.csv"], "No such file"),
])  # fmt: skip
def test_what_cannot_be_used_is_named(options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["link", "--papers", "a", *(each.format(folder=tmp_path) for each in options), "--out", "out"]) == 2
    assert message in last_line(capsys)
