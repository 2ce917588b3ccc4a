"""The command: help for every subcommand, one line for each error, and distinct exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.data import ROOT
from tests.kafka import new_prefix, read_all
from tests.workers.papers.test_stage import XML
from workers import errors
from workers.cli import main
from workers.config.settings import KafkaSettings

COMMANDS = [
    "parser",
    "linker",
    "fallback",
    "ledger",
    "topics",
    "load",
    "publish",
    "withdraw",
    "snapshot",
    "export",
    "check",
    "dead-letters",
    "acls",
    "settings",
    "metrics",
    "schemas",
    "demo",
]


def exit_of(*arguments: str) -> int:
    try:
        return main(arguments)
    except SystemExit as error:
        return int(error.code or 0)


@pytest.fixture
def bound(kafka: KafkaSettings, monkeypatch: pytest.MonkeyPatch) -> KafkaSettings:
    """Set the environment to the test's topics."""
    monkeypatch.setenv("REFLINK_KAFKA_BOOTSTRAP_SERVERS", kafka.kafka_bootstrap_servers)
    monkeypatch.setenv("REFLINK_TOPIC_PREFIX", kafka.topic_prefix)
    return kafka


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help(command: str | None, capsys: Any):
    assert exit_of(*([command] if command else []), "--help") == 0
    shown = capsys.readouterr().out
    assert "usage: reflink-worker" in shown
    if command is None:
        assert all(f"    {name}" in shown for name in COMMANDS)


@pytest.mark.parametrize(
    "arguments", [(), ("unknown",), ("load",), ("topics", "--partitions", "many"), ("publish",), ("snapshot",), ("export",)]
)
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...], capsys: Any):
    assert exit_of(*arguments) == 2
    assert "usage:" in capsys.readouterr().err


def test_every_worker_error_has_an_exit_code_of_its_own_and_help_tells_it(capsys: Any):
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.WorkerError)]
    codes = [kind.exit_code for kind in kinds]
    assert len(set(codes)) == len(codes)
    exit_of("--help")
    shown = " ".join(capsys.readouterr().out.split()).split("Exit codes: ")[1]
    assert all(f"{code} " in shown for code in codes)


@pytest.mark.parametrize("command", ["parser", "linker", "fallback", "ledger", "topics"])
def test_bad_settings_exit_with_2_and_one_line(command: str, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.setenv("REFLINK_LOG_LEVEL", "loud")
    assert exit_of(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("reflink-worker: BadSettings: REFLINK_LOG_LEVEL: ")


def test_schemas_are_written(tmp_path: Path, capsys: Any):
    assert exit_of("schemas", str(tmp_path)) == 0
    written = capsys.readouterr().out.splitlines()
    assert len(written) == len(list(tmp_path.iterdir()))
    assert json.loads(Path(written[0]).read_text())["x-schema-version"] == 1


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path, capsys: Any):
    assert exit_of("schemas", str(tmp_path / "no")) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"reflink-worker: {tmp_path / 'no' / 'paper-pointer.v1.json'}: No such file or directory"


# On a broker


def test_topics_tells_each_topic(broker: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    prefix = new_prefix()
    monkeypatch.setenv("REFLINK_KAFKA_BOOTSTRAP_SERVERS", broker.address)
    monkeypatch.setenv("REFLINK_TOPIC_PREFIX", prefix)
    assert exit_of("topics", "--partitions", "2") == 0
    assert f"{prefix}links\tcreated" in capsys.readouterr().out.splitlines()
    assert exit_of("topics", "--partitions", "2") == 0
    assert f"{prefix}links\texists" in capsys.readouterr().out.splitlines()
    assert exit_of("topics", "--partitions", "3") == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("reflink-worker: WrongTopic: ")


def test_load_says_what_it_loaded_and_which_lines_it_refused(bound: KafkaSettings, tmp_path: Path, capsys: Any):
    works = tmp_path / "works.jsonl"
    works.write_text('{"id": "doi:10.1/a", "title": "A"}\nnot json\n{"id": "doi:10.1/b"}\n')
    assert exit_of("load", str(works)) == 1
    shown = capsys.readouterr()
    assert shown.out == f"2 works loaded into {bound.topic('catalog')}, 1 lines refused\n"
    (line,) = shown.err.splitlines()
    assert f"{works}:2" in line
    assert len(read_all(bound, "catalog")) == 2


def test_publish_says_what_it_published(bound: KafkaSettings, tmp_path: Path, capsys: Any):
    (tmp_path / "a.xml").write_bytes(XML)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.xml").write_bytes(XML.replace(b"Citing<", b"Other<"))
    assert exit_of("publish", str(tmp_path), "--version", "4") == 0
    assert capsys.readouterr().out == f"2 papers published to {bound.topic('papers')}\n"
    records = read_all(bound, "papers")
    assert {record.key for record in records} == {b"doi:10.5555/citing", b"doi:10.5555/other"}
    assert {record.header("reflink-version") for record in records} == {"4"}


def test_publish_follows_links_out_of_a_folder_only_when_asked(bound: KafkaSettings, tmp_path: Path, capsys: Any):
    (tmp_path / "secret").write_bytes(XML.replace(b"Citing<", b"Secret<"))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.xml").symlink_to(tmp_path / "secret")
    (folder / "b.xml").write_bytes(XML)
    assert exit_of("publish", str(folder)) == 1
    shown = capsys.readouterr()
    assert shown.out == f"1 papers published to {bound.topic('papers')}, 1 refused\n"
    (line,) = shown.err.splitlines()
    assert line.startswith(f"reflink-worker: NotAPaper: {folder / 'a.xml'}: a symbolic link")
    assert {record.key for record in read_all(bound, "papers")} == {b"doi:10.5555/citing"}
    assert exit_of("publish", str(folder), "--follow-links") == 0
    assert {record.key for record in read_all(bound, "papers")} == {b"doi:10.5555/citing", b"doi:10.5555/secret"}


@pytest.mark.parametrize("command", ["load", "publish"])
def test_a_file_that_is_not_there_is_one_line(bound: KafkaSettings, command: str, tmp_path: Path, capsys: Any):
    assert exit_of(command, str(tmp_path / "no.xml")) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert str(tmp_path / "no.xml") in line
    assert "No such file" in line


def test_a_damaged_archive_is_one_line(bound: KafkaSettings, tmp_path: Path, capsys: Any):
    (tmp_path / "papers.tar.gz").write_bytes(b"no archive")
    (tmp_path / "a.xml").write_bytes(XML)
    assert exit_of("publish", str(tmp_path / "papers.tar.gz"), str(tmp_path / "a.xml")) == 1
    shown = capsys.readouterr()
    (line,) = shown.err.splitlines()
    assert line.startswith(f"reflink-worker: NotAPaper: {tmp_path / 'papers.tar.gz'}: cannot be read: ")
    assert shown.out == f"1 papers published to {bound.topic('papers')}, 1 refused\n"


def test_a_worker_logs_json_and_leaves_on_sigterm_with_0(bound: KafkaSettings, tmp_path: Path):
    variables = {"REFLINK_STATE_DIR": str(tmp_path), "REFLINK_SLOT": "a"}
    process = subprocess.Popen(
        [sys.executable, "-m", "workers.cli", "parser"],
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, **variables},
    )
    assert process.stderr is not None
    lines: list[dict[str, Any]] = []
    while line := process.stderr.readline():
        lines.append(json.loads(line))
        if lines[-1]["event"] == "partitions assigned":
            break
    process.send_signal(signal.SIGTERM)
    rest = process.stderr.read().splitlines()
    assert process.wait(60) == 0
    assert {line["worker"] for line in [*lines, *map(json.loads, rest)]} == {"parser"}
