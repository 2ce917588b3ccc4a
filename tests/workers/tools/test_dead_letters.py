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
from tests.workers.echo import Echo, running, until
from tests.workers.papers.test_stage import XML
from workers.cli import main
from workers.config.settings import KafkaSettings, ParserSettings, WorkerSettings
from workers.dead_letter import dead_letter
from workers.demo.outcomes import Outcomes
from workers.errors import Fenced
from workers.kafka.bulk_producer import Sender
from workers.kafka.clients import transactional_producer
from workers.kafka.topics import TOPICS, partition_of
from workers.papers.stage import ParserStage
from workers.records import Message, Received
from workers.tools.dead_letters import CannotReplay, Resolver, as_it_was, corrected, read

#: Some hours ago. The broker would delete a new record whose timestamp is older than the retention time of its topic.
ARRIVED = int(time.time() * 1000) - 5 * 3_600_000


def read_all(kafka: KafkaSettings, topic: str) -> list[Received]:
    """Return all records of a topic, also those of a transaction that was committed just before."""
    await_markers(kafka.kafka_bootstrap_servers)
    return list(iterate(kafka, topic))


@pytest.fixture
def settings(kafka: KafkaSettings, state: Path, monkeypatch: pytest.MonkeyPatch) -> WorkerSettings:
    """Return the settings of the commands, and set the environment that they read."""
    monkeypatch.setenv("REFLINK_KAFKA_BOOTSTRAP_SERVERS", kafka.kafka_bootstrap_servers)
    monkeypatch.setenv("REFLINK_TOPIC_PREFIX", kafka.topic_prefix)
    return worker_settings(kafka, state)


def time_of(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def command(*arguments: object) -> int:
    try:
        return main(["dead-letters", *map(str, arguments)])
    except SystemExit as error:
        return int(error.code or 0)


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


def test_list_shows_each_with_its_reason_and_filters(three: WorkerSettings, capsys: Any):
    assert command("list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if "attempt 1" in line]) == 4
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
        assert command("list", "--json", *arguments) == 0
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert len(found) == count, arguments


def test_show_decodes_the_value_and_tells_all_headers(three: WorkerSettings, kafka: KafkaSettings, capsysbinary: Any):
    publish(kafka, [(b"zipped", gzip.compress(b"<poem>in gzip</poem>"), (("reflink-encoding", b"gzip"),))])
    parse_all(kafka, three.state_dir)
    (poem,) = offsets(three, source_offset=0, reason="NotAPaper")
    (zipped,) = set(offsets(three, reason="NotAPaper")) - {poem}
    assert command("show", poem) == 0
    shown = capsysbinary.readouterr().out.decode()
    for expected in (
        "key: poem.xml",
        "reflink-version: 7",
        "reflink-exception: NotAPaper",
        "reflink-worker: parser",
        "<poem/>",
    ):
        assert expected in shown
    assert "\x00" not in shown
    assert command("show", zipped, "--value") == 0
    assert capsysbinary.readouterr().out == b"<poem>in gzip</poem>"
    assert command("show", zipped, "--json") == 0
    about = json.loads(capsysbinary.readouterr().out)
    assert (about["key"], about["value"], about["encoding"]) == ("zipped", "<poem>in gzip</poem>", "gzip")
    (torn,) = [each.offset for each in read(three) if "gzip" in each.message]
    assert command("show", torn) == 0
    assert b"cannot be decompressed" in capsysbinary.readouterr().out


UNCLEAR: tuple[tuple[object, ...], ...] = (
    ("show", 99), ("replay", 99), ("replay", 0, 99), ("drop", 99), ("replay",), ("drop",), ("replay", 0, "--all"),
    ("replay", 0, "--reason", "BadRecord"), ("replay", 0, 1, "--value", __file__), ("list", "--since", "yesterday"), (),
)  # fmt: skip


def test_what_is_not_there_or_not_clear_is_usage_and_changes_nothing(three: WorkerSettings, capsys: Any):
    for arguments in UNCLEAR:
        assert command(*arguments) == 2, arguments
        err = capsys.readouterr().err
        assert err, arguments
        assert ("no dead letter at offset 99" in err) == (99 in arguments)
    assert len(offsets(three, resolution=None)) == 4


def test_a_replay_is_the_record_as_it_was_and_a_second_death_is_counted(
    three: WorkerSettings, kafka: KafkaSettings, capsys: Any
):
    before = {(each.partition, each.offset) for each in read_all(kafka, "papers")}
    assert command("replay", "--topic", "papers") == 0
    assert capsys.readouterr().out == "3 replayed\n"
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
    assert command("replay", "--topic", "papers") == 0  # no dead letter is open any more
    assert capsys.readouterr().out == "0 replayed\n"
    parse_all(kafka, three.state_dir)
    letters = [each for each in read(three) if each.topic == "papers"]
    assert Counter((each.attempt, each.resolution) for each in letters) == {(1, "replayed"): 3, (2, None): 3}
    assert command("list", "--all", "--topic", "papers") == 0
    assert "3 open, 3 replayed" in capsys.readouterr().out


def test_a_mended_paper_gives_its_events_and_says_that_they_are_not_live(
    three: WorkerSettings, kafka: KafkaSettings, tmp_path: Path, capsys: Any
):
    (torn,) = [each.offset for each in read(three) if "gzip" in each.message]
    (poem,) = offsets(three, reason="NotAPaper")
    plain, packed = tmp_path / "mended.xml", tmp_path / "mended.gz"
    plain.write_bytes(XML)
    packed.write_bytes(gzip.compress(XML))
    for offset, file in ((torn, plain), (poem, packed)):
        assert command("replay", offset, "--value", file) == 0
    encodings = [record.header("reflink-encoding") for record in read_all(kafka, "papers") if record.header("reflink-attempt")]
    assert sorted(map(str, encodings)) == ["gzip", "zstd"]
    parse_all(kafka, three.state_dir)
    manifests = [read_outcome_event(record.value) for record in read_all(kafka, "outcomes")]
    references = [ReferenceEvent.from_json(record.value) for record in read_all(kafka, "references") if record.key != b"k"]
    assert sorted(each.paper_version for each in manifests) == [7, ARRIVED]
    assert references
    assert not any(each.live for each in (*manifests, *references))
    assert all(each.arrived > ARRIVED for each in references), "they come again when they are replayed"


def test_a_drop_keeps_its_why_and_a_resolved_one_is_not_replayed(three: WorkerSettings, kafka: KafkaSettings, capsys: Any):
    before = len(read_all(kafka, "papers"))
    (poem,) = offsets(three, reason="NotAPaper")
    assert command("drop", poem, "--reason-text", "it is a poem", "--dry-run") == 0
    assert len(offsets(three, resolution=None)) == 4
    assert command("drop", poem, "--reason-text", "it is a poem") == 0
    assert capsys.readouterr().out.endswith("1 dropped\n")
    assert [(each.resolution, each.why) for each in read(three) if each.offset == poem] == [("dropped", "it is a poem")]
    assert command("replay", poem) == 1
    assert f"dead letter {poem} was dropped already" in capsys.readouterr().err
    assert command("drop", "--worker", "echo") == 0
    assert Counter(each.resolution for each in read(three)) == {None: 2, "dropped": 2}
    assert len(read_all(kafka, "papers")) == before
    capsys.readouterr()
    assert command("replay", "--all", "--dry-run") == 0
    assert capsys.readouterr().out.endswith("2 would be replayed\n")
    assert len(read_all(kafka, "papers")) == before


def test_what_cannot_be_sent_back_is_named_and_the_rest_is_replayed(three: WorkerSettings, kafka: KafkaSettings, capsys: Any):
    with Sender(kafka) as sender:
        sender.send("dead-letters", b"k", b"who wrote this?")
        sender.send("dead-letters", b"k", b"v", headers=(("reflink-topic", b"elsewhere"), ("reflink-exception", b"X")))
    assert command("replay", "--all") == 1
    shown = capsys.readouterr()
    assert shown.out == "4 replayed, 2 could not be\n"
    assert "its source topic '' is not a topic of reflink" in shown.err
    assert "'elsewhere'" in shown.err
    assert command("drop", "--all") == 0
    assert capsys.readouterr().out == "2 dropped\n"


KILLED = """
import os, sys
from kafka import KafkaProducer
from workers.cli import main
from workers.kafka.clients import transactional_producer

def killed(self, *_):
    self.flush()
    os._exit(9)

KafkaProducer.commit_transaction = killed
main(["dead-letters", "replay", "--all"])
"""


def test_a_replay_that_is_killed_before_its_commit_is_none_and_the_next_one_is_once(
    three: WorkerSettings, kafka: KafkaSettings, capsys: Any
):
    before = len(read_all(kafka, "papers")) + len(read_all(kafka, "references"))
    assert subprocess.run([sys.executable, "-c", KILLED], cwd=ROOT, check=False).returncode == 9
    assert command("replay", "--all") == 0
    assert capsys.readouterr().out == "4 replayed\n"
    assert len(read_all(kafka, "papers")) + len(read_all(kafka, "references")) == before + 4
    assert Counter(each.resolution for each in read(three)) == {"replayed": 4}


def test_of_two_commands_at_once_the_first_is_fenced_and_nothing_is_doubled(three: WorkerSettings, kafka: KafkaSettings):
    before = len(read_all(kafka, "papers"))
    papers = offsets(three, topic="papers")
    with Resolver(three) as first:
        with Resolver(three) as second:
            assert second.replay(papers) == (3, [])
        with pytest.raises(Fenced, match="another"):
            first.replay(papers)
    assert len(read_all(kafka, "papers")) == before + 3


def test_what_was_replayed_behind_an_open_transaction_is_not_replayed_again(three: WorkerSettings, kafka: KafkaSettings):
    """A worker's open transaction keeps the last stable offset below the resolution, until the broker aborts it."""
    worker = transactional_producer(three.model_copy(update={"slot": "w", "transaction_timeout_s": 5.0}), "parser")
    try:
        worker.init_transactions()
        worker.begin_transaction()
        worker.send(kafka.topic("dead-letters"), value=b"", partition=0).get(timeout=30)
        first = offsets(three)[0]
        before = len(read_all(kafka, "papers"))
        assert command("replay", first) == 0
        assert command("replay", first) == 1, "it was replayed already"
        assert len(read_all(kafka, "papers")) == before + 1
    finally:
        worker.close(timeout=1)


def test_many_go_back_in_order_and_in_several_transactions(kafka: KafkaSettings, settings: WorkerSettings):
    large = b"x" * 3_000_000
    with Sender(kafka) as sender:
        for number in range(8):
            record = Received("papers", 1, number, b"k", b"%d" % number + large, (), ARRIVED)
            letter = dead_letter(record, CannotReplay("large"), "parser")
            sender.send("dead-letters", letter.key, letter.value, headers=letter.headers, timestamp=ARRIVED)
    told: list[int] = []
    with Resolver(settings) as resolver:
        assert resolver.replay(offsets(settings), done=told.append) == (8, [])
    assert told[-1] == 8
    assert len(told) > 1
    back = read_all(kafka, "papers")
    assert [record.value[:1] for record in back if record.value] == [b"%d" % number for number in range(8)]
    assert {record.partition for record in back} == {1}


# Without a broker


def letter_of(record: Received) -> Received:
    message = dead_letter(record, CannotReplay("x"), "parser")
    return Received("dead-letters", 0, 5, message.key, message.value, message.headers, record.timestamp)


def test_a_partition_that_is_not_there_any_more_is_chosen_by_the_key():
    record = letter_of(Received("papers", 7, 1, b"doi:10.1000/a", b"v", (), ARRIVED))
    assert as_it_was(record, {"papers": 8})[1] == 7
    assert as_it_was(record, {"papers": 4})[1] == partition_of(b"doi:10.1000/a", 4)


def test_a_mended_event_of_another_topic_keeps_its_headers():
    message = Message("references", b"k", b"old", (("own", b"1"), ("reflink-attempt", b"1")))
    assert corrected(message, b"\x1f\x8b new").headers == message.headers


def test_a_mended_value_above_the_topics_limit_is_refused():
    with pytest.raises(Exception, match="more than the 2000000 of references"):
        corrected(Message("references", b"k", b""), b"x" * TOPICS["references"].max_message_bytes)


def test_headers_of_a_resolution_on_a_record_that_dies_make_it_no_resolution():
    record = letter_of(Received("papers", 0, 1, b"k", None, (("reflink-resolves", b"3"),), ARRIVED))
    assert record.header("reflink-resolves") is None
    outcomes = Outcomes()
    outcomes.take_dead_letter("k", None, record.headers)
    outcomes.take_dead_letter("5", None, (("reflink-resolves", b"5"), ("reflink-resolution", b"dropped")))
    assert len(outcomes.dead_letters) == 1
