"""The command ``replay``: its arguments, output, exit codes and signals, and a replay that is killed at each step."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import orjson
import pytest

from tests.workers.commands import Command, start
from tests.workers.links import ids, link, publish, sent
from tests.workers.replay.conftest import PAPERS
from tests.workers.replay.killed_replay import POINTS
from workers.config.settings import KafkaSettings
from workers.replay import checkpoint as replay_position
from workers.replay.selection import Selection


@pytest.fixture
def replay(command: Command) -> Command:
    """Return a function that runs the command ``replay``."""
    return lambda *arguments: command("replay", *arguments)


def test_unreadable_records_are_counted_and_the_exit_code_is_1(bound: KafkaSettings, replay: Command):
    publish(bound, link("doi:10.5555/a#r1"), ("doi:10.5555/a#r2", b'{"schema'), ("doi:10.5555/a#r3", b'{"schema_version": 2}'))
    code, out, err = replay("--name", "odd", "--json")
    line = orjson.loads(out.splitlines()[-1])
    assert (code, line["sent"], line["unreadable"], line["done"], line["share"]) == (1, 1, 2, True, 1.0)
    assert "2 unreadable links were skipped" in err


def test_status_shows_replays_and_forget_deletes_them(bound: KafkaSettings, linked: list[str], replay: Command):
    one = ("--name", "one", "--cited")
    for arguments, code, shown in (
        (("--status",), 0, "no replays\n"),
        ((*one, "pmid:1", "--per-second", "10000"), 0, "references sent, done"),
        ((*one, "pmid:1"), 0, "done before: to start it again, `reflink-worker replay --name one --forget`"),
        ((*one, "pmid:2"), 2, "another selection (cited)"),
    ):
        found = replay(*arguments)
        assert (found[0], shown in "".join(found[1:])) == (code, True), found
    code, out, _ = replay("--status", "--json")
    line = orjson.loads(out)
    assert (code, line["name"], line["done"], line["selection"]) == (0, "one", True, {"cited": ["pmid:1"]})
    assert line["sent"] == len(sent(bound)) > 0
    assert replay("--status", "--name", "two")[0] == 2
    assert replay("--forget")[0] == 2
    assert replay("--forget", "--name", "one")[0] == 0
    code, _, err = replay("--forget", "--name", "one")
    assert (code, "no replay is named one" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--since", "yesterday"], "is not a time"),
        (["--probability", "2.."], "is not a range"),
        (["--per-second", "0"], "not a number above 0"),
        (["--ahead", "0"], "not a number >= 1"),
        (["--unresolved", "because"], "invalid choice"),
        (["--method", "semantic", "--unresolved"], "select nothing"),
        (["--citing", "doi:10.1/a#r1"], "is a reference"),
        (["--status", "--forget"], "--status, --forget and --dry-run exclude each other"),
        (["--dry-run", "--status"], "--status, --forget and --dry-run exclude each other"),
    ],
)
def test_invalid_arguments_are_refused_before_connecting(arguments: list[str], message: str, replay: Command):
    code, _, err = replay(*arguments)
    assert (code, message in err) == (2, True), err


def test_papers_of_a_file_are_selected(bound: KafkaSettings, linked: list[str], tmp_path: Path, replay: Command):
    file = tmp_path / "papers"
    file.write_text(f"{PAPERS[1]}\n\n {PAPERS[2]} \n")
    assert replay("--citing-file", file, "--citing", PAPERS[3], "--per-second", "10000")[0] == 0
    assert {event["citing"] for event in sent(bound)} == set(PAPERS[1:4])
    for content, message in ((b"\n", "contains no paper"), (b"\xff\xfe", "is not UTF-8")):
        file.write_bytes(content)
        code, _, err = replay("--citing-file", file)
        assert (code, message in err) == (2, True)


def process(kafka: KafkaSettings, *program: str) -> subprocess.Popen[str]:
    return start(*program, kafka=kafka, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.full
def test_each_reference_is_sent_once_at_whichever_step_the_replay_is_killed(kafka: KafkaSettings, linked: list[str]):
    """The replay is killed at each step of its third transaction in turn; the last run completes."""
    for point in POINTS:
        killed = process(
            kafka, "tests.workers.replay.killed_replay", point, "3" if point != "sending" else "10", "--per-second", "1e5"
        )
        _, err = killed.communicate(timeout=120)
        assert killed.returncode == -signal.SIGKILL, err
        found = replay_position.read(kafka, Selection().digest())
        assert found is not None
        assert not found.done
        assert len(sent(kafka)) == found.total("sent"), point
    last = process(kafka, "workers.cli", "replay", "--per-second", "1e5")
    out, err = last.communicate(timeout=120)
    assert last.returncode == 0, err
    assert f"{len(linked)} of {len(linked)} references sent, done" in out
    assert ids(sent(kafka)) == sorted(linked)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_replay_with_the_exit_code_of_the_shell(
    kafka: KafkaSettings, linked: list[str], number: int, code: int
):
    running = process(kafka, "workers.cli", "replay", "--name", "slow", "--per-second", "2", "--json")
    assert running.stdout is not None
    next(line for line in running.stdout if orjson.loads(line)["sent"] > 0)
    running.send_signal(number)
    out, err = running.communicate(timeout=120)
    assert running.returncode == code, err
    line = orjson.loads(out.splitlines()[-1])
    assert not line["done"]
    assert 0 < line["sent"] == len(sent(kafka)) < len(linked)
