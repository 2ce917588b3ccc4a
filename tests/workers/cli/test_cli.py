"""The command: help for every subcommand, one line for each error, and distinct exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.kafka import new_prefix, read_all
from tests.workers.commands import Command, set_environment, start
from tests.workers.papers.test_stage import XML
from workers import errors
from workers.config.settings import KafkaSettings

COMMANDS = (
    "parser linker fallback ledger topics load publish withdraw snapshot export check dead-letters override replay acls "
    "settings metrics schemas demo"
).split()


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help(name: str | None, command: Command):
    code, shown, _ = command(*([name] if name else []), "--help")
    assert (code, "usage: reflink-worker" in shown) == (0, True)
    if name is None:
        assert all(f"    {each}" in shown for each in COMMANDS)


@pytest.mark.parametrize(
    "arguments", [(), ("unknown",), ("load",), ("topics", "--partitions", "many"), ("publish",), ("snapshot",), ("export",)]
)
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...], command: Command):
    code, _, err = command(*arguments)
    assert (code, "usage:" in err) == (2, True)


def test_each_worker_error_has_its_own_exit_code_and_help_lists_it(command: Command):
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.WorkerError)]
    codes = [kind.exit_code for kind in kinds]
    assert len(set(codes)) == len(codes)
    shown = " ".join(command("--help")[1].split()).split("Exit codes: ")[1]
    assert all(f"{code} " in shown for code in codes)


@pytest.mark.parametrize("name", ["parser", "linker", "fallback", "ledger", "topics"])
def test_bad_settings_exit_with_2_and_one_line(name: str, monkeypatch: pytest.MonkeyPatch, command: Command):
    monkeypatch.setenv("REFLINK_LOG_LEVEL", "loud")
    code, _, err = command(name)
    (line,) = err.splitlines()
    assert (code, line.startswith("reflink-worker: BadSettings: REFLINK_LOG_LEVEL: ")) == (2, True)


def test_schemas_are_written(tmp_path: Path, command: Command):
    code, out, _ = command("schemas", tmp_path)
    written = out.splitlines()
    assert (code, len(written)) == (0, len(list(tmp_path.iterdir())))
    assert json.loads(Path(written[0]).read_text())["x-schema-version"] == 1


def test_a_missing_folder_is_reported_in_one_line(tmp_path: Path, command: Command):
    path = tmp_path / "no" / "paper-pointer.v1.json"
    assert command("schemas", path.parent) == (1, "", f"reflink-worker: {path}: No such file or directory\n")


# On a broker


def test_topics_prints_the_result_of_each_topic(broker: Any, monkeypatch: pytest.MonkeyPatch, command: Command):
    kafka = KafkaSettings(kafka_bootstrap_servers=broker.address, topic_prefix=new_prefix())
    set_environment(monkeypatch, kafka)
    for result in ("created", "exists"):
        code, out, _ = command("topics", "--partitions", "2")
        assert (code, f"{kafka.topic('links')}\t{result}" in out.splitlines()) == (0, True)
    code, _, err = command("topics", "--partitions", "3")
    (line,) = err.splitlines()
    assert (code, line.startswith("reflink-worker: WrongTopic: ")) == (3, True)


def test_load_prints_the_number_of_works_and_the_refused_lines(bound: KafkaSettings, tmp_path: Path, command: Command):
    works = tmp_path / "works.jsonl"
    works.write_text('{"id": "doi:10.1/a", "title": "A"}\nnot json\n{"id": "doi:10.1/b"}\n')
    code, out, err = command("load", works)
    assert (code, out) == (1, f"2 works loaded into {bound.topic('catalog')}, 1 lines refused\n")
    (line,) = err.splitlines()
    assert f"{works}:2" in line
    assert len(read_all(bound, "catalog")) == 2


def test_publish_prints_the_number_of_papers(bound: KafkaSettings, tmp_path: Path, command: Command):
    (tmp_path / "a.xml").write_bytes(XML)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.xml").write_bytes(XML.replace(b"Citing<", b"Other<"))
    published = f"2 papers published to {bound.topic('papers')}\n"
    assert command("publish", tmp_path, "--version", "4")[:2] == (0, published)
    records = read_all(bound, "papers")
    assert {record.key for record in records} == {b"doi:10.5555/citing", b"doi:10.5555/other"}
    assert {record.header("reflink-version") for record in records} == {"4"}


def test_publish_follows_links_out_of_a_folder_only_with_the_option(bound: KafkaSettings, tmp_path: Path, command: Command):
    (tmp_path / "secret").write_bytes(XML.replace(b"Citing<", b"Secret<"))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.xml").symlink_to(tmp_path / "secret")
    (folder / "b.xml").write_bytes(XML)
    code, out, err = command("publish", folder)
    assert (code, out) == (1, f"1 papers published to {bound.topic('papers')}, 1 refused\n")
    (line,) = err.splitlines()
    assert line.startswith(f"reflink-worker: NotAPaper: {folder / 'a.xml'}: a symbolic link")
    assert {record.key for record in read_all(bound, "papers")} == {b"doi:10.5555/citing"}
    assert command("publish", folder, "--follow-links")[0] == 0
    assert {record.key for record in read_all(bound, "papers")} == {b"doi:10.5555/citing", b"doi:10.5555/secret"}


@pytest.mark.parametrize("name", ["load", "publish"])
def test_a_missing_file_is_reported_in_one_line(bound: KafkaSettings, name: str, tmp_path: Path, command: Command):
    code, _, err = command(name, tmp_path / "no.xml")
    (line,) = err.splitlines()
    assert (code, str(tmp_path / "no.xml") in line, "No such file" in line) == (1, True, True)


def test_a_damaged_archive_is_reported_in_one_line(bound: KafkaSettings, tmp_path: Path, command: Command):
    (tmp_path / "papers.tar.gz").write_bytes(b"no archive")
    (tmp_path / "a.xml").write_bytes(XML)
    code, out, err = command("publish", tmp_path / "papers.tar.gz", tmp_path / "a.xml")
    (line,) = err.splitlines()
    assert line.startswith(f"reflink-worker: NotAPaper: {tmp_path / 'papers.tar.gz'}: cannot be read: ")
    assert (code, out) == (1, f"1 papers published to {bound.topic('papers')}, 1 refused\n")


def test_a_worker_logs_json_and_exits_with_0_on_sigterm(bound: KafkaSettings, tmp_path: Path):
    variables = {"REFLINK_STATE_DIR": str(tmp_path), "REFLINK_SLOT": "a"}
    process = start("workers.cli", "parser", stderr=subprocess.PIPE, env=variables)
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
