"""Dead letters on a real broker: listed, replayed once, dropped, and counted when they fail again."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas import ReferenceEvent, read_outcome_event
from tests.data import ROOT
from tests.kafka import await_markers, iterate, lag, send, worker_settings
from tests.workers.commands import Command
from tests.workers.echo import Echo, running, until
from tests.workers.papers.test_stage import XML
from workers.cli import main
from workers.config.settings import KafkaSettings, ParserSettings, WorkerSettings
from workers.dead_letter import dead_letter
from workers.errors import Fenced
from workers.kafka.bulk_producer import Sender
from workers.kafka.clients import transactional_producer
from workers.papers.stage import ParserStage
from workers.records import Received
from workers.tools.dead_letters import CannotReplay, Resolver, read

#: Some hours ago. The broker would delete a new record whose timestamp is older than the retention time of its topic.
ARRIVED = int(time.time() * 1000) - 5 * 3_600_000


def read_all(kafka: KafkaSettings, topic: str) -> list[Received]:
    """Return all records of a topic, also those of a transaction that was committed just before."""
    await_markers(kafka.kafka_bootstrap_servers)
    return list(iterate(kafka, topic))


@pytest.fixture
def settings(bound: KafkaSettings, state: Path) -> WorkerSettings:
    """Return the settings of the commands, and set the environment that they read."""
    return worker_settings(bound, state)


@pytest.fixture
def letters(command: Command) -> Command:
    """Return a function that runs the command ``dead-letters``."""
    return lambda *arguments: command("dead-letters", *arguments)


def time_of(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_all(kafka: KafkaSettings, state: Path) -> None:
    """Run a parser until it has read all papers."""
    settings = worker_settings(kafka, state, ParserSettings)
    with running(ParserStage(settings), settings):
        until(lambda: lag(kafka, "parser", "papers") == 0)


def publish(kafka: KafkaSettings, records: Sequence[tuple[bytes, bytes | None, tuple[tuple[str, bytes], ...]]]) -> None:
    with Sender(kafka) as sender:
        for key, value, headers in records:
            sender.send("papers", key, value, headers=headers, timestamp=ARRIVED)


BAD = (
    (b"poem.xml", b"<poem/>", (("reflink-version", b"7"), ("trace", b"\x00\x01"))),
    (b"torn.gz", gzip.compress(b"<article/>")[:-3], (("reflink-encoding", b"gzip"),)),
    (b"no-id", None, ()),
)


@pytest.fixture
def three(kafka: KafkaSettings, settings: WorkerSettings, state: Path) -> WorkerSettings:
    """Make dead letters of three papers, and of a reference that another worker could not handle."""
    publish(kafka, BAD)
    parse_all(kafka, state)
    send(kafka, "references", [(b"k", b"bad 1")])
    with running(Echo(), worker_settings(kafka, state)):
        until(lambda: lag(kafka, "echo", "references") == 0)
    return settings


def offsets(settings: WorkerSettings, **fields: Any) -> list[int]:
    return [each.offset for each in read(settings) if all(getattr(each, name) == value for name, value in fields.items())]


def test_list_shows_each_with_its_reason_and_filters(three: WorkerSettings, letters: Command):
    code, out, _ = letters("list")
    lines = out.splitlines()
    assert (code, len([line for line in lines if "attempt 1" in line])) == (0, 4)
    assert any("papers[" in line and "parser  NotAPaper" in line and time_of(ARRIVED) < line.split()[1] for line in lines)
    assert "4 open" in lines
    assert {tuple(line.split()) for line in lines[5:]} == {("3", "BadRecord"), ("1", "NotAPaper")}
    for arguments, count in [
        (["--topic", "papers"], 3),
        (["--topic", "references"], 1),
        (["--reason", "BadRecord"], 3),
        (["--worker", "echo"], 1),
        (["--since", "1h"], 4),
        (["--since", "6h"], 4),
        (["--since", time_of(ARRIVED)], 4),
        (["--since", time_of(ARRIVED + 10 * 3_600_000), "--topic", "papers"], 0),
        (["--reason", "BadRecord", "--worker", "parser"], 2),
    ]:
        code, out, _ = letters("list", "--json", *arguments)
        assert (code, len(list(map(json.loads, out.splitlines())))) == (0, count), arguments


def test_show_decodes_the_value_and_prints_all_headers(three: WorkerSettings, kafka: KafkaSettings, capsysbinary: Any):
    def show(*arguments: object) -> bytes:
        assert main(["dead-letters", "show", *map(str, arguments)]) == 0
        return bytes(capsysbinary.readouterr().out)

    publish(kafka, [(b"zipped", gzip.compress(b"<poem>in gzip</poem>"), (("reflink-encoding", b"gzip"),))])
    parse_all(kafka, three.state_dir)
    (poem,) = offsets(three, source_offset=0, reason="NotAPaper")
    (zipped,) = set(offsets(three, reason="NotAPaper")) - {poem}
    shown = show(poem).decode()
    assert "\x00" not in shown
    headers = ("reflink-version: 7", "reflink-exception: NotAPaper", "reflink-worker: parser")
    assert all(expected in shown for expected in ("key: poem.xml", *headers, "<poem/>"))
    assert show(zipped, "--value") == b"<poem>in gzip</poem>"
    about = json.loads(show(zipped, "--json"))
    assert (about["key"], about["value"], about["encoding"]) == ("zipped", "<poem>in gzip</poem>", "gzip")
    (torn,) = [each.offset for each in read(three) if "gzip" in each.message]
    assert b"cannot be decompressed" in show(torn)


UNCLEAR: tuple[tuple[object, ...], ...] = (
    ("show", 99), ("replay", 99), ("replay", 0, 99), ("drop", 99), ("replay",), ("drop",), ("replay", 0, "--all"),
    ("replay", 0, "--reason", "BadRecord"), ("replay", 0, 1, "--value", __file__), ("list", "--since", "yesterday"), (),
)  # fmt: skip


def test_unknown_offsets_and_unclear_arguments_are_usage_errors_and_change_nothing(three: WorkerSettings, letters: Command):
    for arguments in UNCLEAR:
        code, _, err = letters(*arguments)
        assert (code, bool(err)) == (2, True), arguments
        assert ("no dead letter at offset 99" in err) == (99 in arguments)
    assert len(offsets(three, resolution=None)) == 4


def test_a_replay_sends_the_original_record_and_counts_a_second_failure(
    three: WorkerSettings, kafka: KafkaSettings, letters: Command
):
    before = {(each.partition, each.offset) for each in read_all(kafka, "papers")}
    assert letters("replay", "--topic", "papers")[:2] == (0, "3 replayed\n")
    everything = read_all(kafka, "papers")
    again = {each.key: each for each in everything if (each.partition, each.offset) not in before}
    first = {each.key: each for each in everything if (each.partition, each.offset) in before}
    assert set(again) == set(first) == {key for key, _, _ in BAD}
    for key, record in again.items():
        assert (record.value, record.partition) == (first[key].value, first[key].partition)
        # Retention counts from the timestamp: with the old one the record could be deleted unread. The version stays the same.
        assert record.timestamp > ARRIVED
        version = () if first[key].header("reflink-version") else (("reflink-version", b"%d" % ARRIVED),)
        assert record.headers == (*first[key].headers, ("reflink-attempt", b"1"), *version)
    assert letters("replay", "--topic", "papers")[:2] == (0, "0 replayed\n"), "no dead letter is open any more"
    parse_all(kafka, three.state_dir)
    found = [each for each in read(three) if each.topic == "papers"]
    assert Counter((each.attempt, each.resolution) for each in found) == {(1, "replayed"): 3, (2, None): 3}
    code, out, _ = letters("list", "--all", "--topic", "papers")
    assert (code, "3 open, 3 replayed" in out) == (0, True)


def test_a_corrected_paper_gives_events_that_are_not_live(
    three: WorkerSettings, kafka: KafkaSettings, tmp_path: Path, letters: Command
):
    (torn,) = [each.offset for each in read(three) if "gzip" in each.message]
    (poem,) = offsets(three, reason="NotAPaper")
    plain, packed = tmp_path / "corrected.xml", tmp_path / "corrected.gz"
    plain.write_bytes(XML)
    packed.write_bytes(gzip.compress(XML))
    for offset, file in ((torn, plain), (poem, packed)):
        assert letters("replay", offset, "--value", file)[0] == 0
    encodings = [record.header("reflink-encoding") for record in read_all(kafka, "papers") if record.header("reflink-attempt")]
    assert sorted(map(str, encodings)) == ["gzip", "zstd"]
    parse_all(kafka, three.state_dir)
    manifests = [read_outcome_event(record.value) for record in read_all(kafka, "outcomes")]
    references = [ReferenceEvent.from_json(record.value) for record in read_all(kafka, "references") if record.key != b"k"]
    assert sorted(each.paper_version for each in manifests) == [7, ARRIVED]
    assert references
    assert not any(each.live for each in (*manifests, *references))
    assert all(each.arrived > ARRIVED for each in references), "they arrive at the time of the replay"


def test_a_drop_keeps_its_reason_and_a_resolved_dead_letter_is_not_replayed(
    three: WorkerSettings, kafka: KafkaSettings, letters: Command
):
    before = len(read_all(kafka, "papers"))
    (poem,) = offsets(three, reason="NotAPaper")
    assert letters("drop", poem, "--reason-text", "it is a poem", "--dry-run")[0] == 0
    assert len(offsets(three, resolution=None)) == 4
    code, out, _ = letters("drop", poem, "--reason-text", "it is a poem")
    assert (code, out.endswith("1 dropped\n")) == (0, True)
    assert [(each.resolution, each.why) for each in read(three) if each.offset == poem] == [("dropped", "it is a poem")]
    code, _, err = letters("replay", poem)
    assert (code, f"dead letter {poem} was dropped already" in err) == (1, True)
    assert letters("drop", "--worker", "echo")[0] == 0
    assert Counter(each.resolution for each in read(three)) == {None: 2, "dropped": 2}
    code, out, _ = letters("replay", "--all", "--dry-run")
    assert (code, out.endswith("2 would be replayed\n")) == (0, True)
    assert len(read_all(kafka, "papers")) == before


def test_dead_letters_without_a_known_source_are_reported_and_the_others_replayed(
    three: WorkerSettings, kafka: KafkaSettings, letters: Command
):
    with Sender(kafka) as sender:
        sender.send("dead-letters", b"k", b"who wrote this?")
        sender.send("dead-letters", b"k", b"v", headers=(("reflink-topic", b"elsewhere"), ("reflink-exception", b"X")))
    code, out, err = letters("replay", "--all")
    assert (code, out) == (1, "4 replayed, 2 could not be\n")
    assert "its source topic '' is not a topic of reflink" in err
    assert "'elsewhere'" in err
    assert letters("drop", "--all")[:2] == (0, "2 dropped\n")


KILLED = """
import os
from kafka import KafkaProducer
from workers.cli import main

def killed(self, *_):
    self.flush()
    os._exit(9)

KafkaProducer.commit_transaction = killed
main(["dead-letters", "replay", "--all"])
"""


def test_a_replay_killed_before_its_commit_sends_nothing_and_the_next_sends_each_record_once(
    three: WorkerSettings, kafka: KafkaSettings, letters: Command
):
    before = len(read_all(kafka, "papers")) + len(read_all(kafka, "references"))
    assert subprocess.run([sys.executable, "-c", KILLED], cwd=ROOT, check=False).returncode == 9
    assert letters("replay", "--all")[:2] == (0, "4 replayed\n")
    assert len(read_all(kafka, "papers")) + len(read_all(kafka, "references")) == before + 4
    assert Counter(each.resolution for each in read(three)) == {"replayed": 4}


def test_the_second_of_two_commands_fences_the_first_and_no_record_is_sent_twice(three: WorkerSettings, kafka: KafkaSettings):
    before = len(read_all(kafka, "papers"))
    papers = offsets(three, topic="papers")
    with Resolver(three) as first:
        with Resolver(three) as second:
            assert second.replay(papers) == (3, [])
        with pytest.raises(Fenced, match="another"):
            first.replay(papers)
    assert len(read_all(kafka, "papers")) == before + 3


def test_a_resolution_behind_an_open_transaction_prevents_a_second_replay(
    three: WorkerSettings, kafka: KafkaSettings, letters: Command
):
    """A worker's open transaction keeps the last stable offset below the resolution, until the broker aborts it."""
    worker = transactional_producer(three.model_copy(update={"slot": "w", "transaction_timeout_s": 5.0}), "parser")
    try:
        worker.init_transactions()
        worker.begin_transaction()
        worker.send(kafka.topic("dead-letters"), value=b"", partition=0).get(timeout=30)
        first = offsets(three)[0]
        before = len(read_all(kafka, "papers"))
        assert letters("replay", first)[0] == 0
        assert letters("replay", first)[0] == 1, "it was replayed already"
        assert len(read_all(kafka, "papers")) == before + 1
    finally:
        worker.close(timeout=1)


def test_many_dead_letters_are_replayed_in_order_in_several_transactions(kafka: KafkaSettings, settings: WorkerSettings):
    large = b"x" * 3_000_000
    with Sender(kafka) as sender:
        for number in range(8):
            record = Received("papers", 1, number, b"k", b"%d" % number + large, (), ARRIVED)
            letter = dead_letter(record, CannotReplay("large"), "parser")
            sender.send("dead-letters", letter.key, letter.value, headers=letter.headers, timestamp=ARRIVED)
    reported: list[int] = []
    with Resolver(settings) as resolver:
        assert resolver.replay(offsets(settings), done=reported.append) == (8, [])
    assert reported[-1] == 8
    assert len(reported) > 1
    back = read_all(kafka, "papers")
    assert [record.value[:1] for record in back if record.value] == [b"%d" % number for number in range(8)]
    assert {record.partition for record in back} == {1}
