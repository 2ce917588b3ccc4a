"""A replay on a real Kafka: what is selected is sent once, at its pace, over kills and resumes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka import TopicPartition

from schemas import OverrideEvent
from tests.data import ROOT
from tests.kafka import await_markers, lag, read_all, worker_settings
from tests.workers.links import PARTITIONS, ids, link, publish, sent
from tests.workers.replay.killed_replay import POINTS
from workers.cli import main
from workers.config.settings import KafkaSettings, WorkerSettings
from workers.errors import BrokerUnreachable, Fenced
from workers.kafka.bulk_producer import Sender
from workers.kafka.clients import plain_consumer
from workers.kafka.topics import partition_of
from workers.replay import checkpoint as replay_position
from workers.replay.checkpoint import BadReplay, Position
from workers.replay.runner import Replay, Report
from workers.replay.selection import ANY, Selection
from workers.replay.transaction import ReplaySender

FAST: Any = {"per_second": 100_000, "ahead": 100_000}
PAPERS = [f"doi:10.5555/p{n}" for n in range(20)]


def settings_of(kafka: KafkaSettings) -> WorkerSettings:
    settings: WorkerSettings = worker_settings(kafka, ROOT, transaction_timeout_s=60.0)  # it keeps nothing on disk
    return settings


def replay(kafka: KafkaSettings, name: str = "test", selection: Selection | None = None, **more: Any) -> Position:
    return Replay(settings_of(kafka), name, selection or Selection(), **{**FAST, **more}).run()


def linkers_read_all(kafka: KafkaSettings) -> None:
    await_markers(kafka.kafka_bootstrap_servers)
    consumer = plain_consumer(kafka, group_id=kafka.topic("linker"))
    places = [TopicPartition(kafka.topic("retries"), partition) for partition in range(PARTITIONS)]
    try:
        consumer.assign(places)
        consumer.seek_to_end()
        for place in places:
            consumer.position(place)
        consumer.commit()
    finally:
        consumer.close()


@pytest.fixture
def linked(kafka: KafkaSettings) -> list[str]:
    """References, three of each paper; before them older records of some, after them some that are gone."""
    references = [f"{paper}#r{n}" for paper in PAPERS for n in range(3)]
    publish(kafka, *(link(reference, "pmid:666") for reference in references[::4]))
    publish(kafka, *(link(reference, None if n % 3 else "pmid:1") for n, reference in enumerate(references)))
    publish(kafka, *references[::10])
    return [reference for n, reference in enumerate(references) if n % 10]


def test_the_newest_record_of_every_reference_is_sent_once_to_be_judged_again(kafka: KafkaSettings, linked: list[str]):
    with Sender(kafka) as sender:
        sender.send("catalog", b"pmid:1", b"{}")
    position = replay(kafka)
    events = sent(kafka)
    assert ids(events) == sorted(linked)
    assert (position.done, position.total("sent"), position.selected) == (True, len(linked), len(linked))
    assert position.total("superseded") > 0
    for event in events:
        assert (event["live"], event["paper_version"], event["arrived"], event["catalog_offset"]) == (False, 7, 70, 1)
        assert event["citing"] == event["reference"]["citing"]
        assert event["reference"]["raw_text"] == f"text of {event['reference']['id']}"
    for record in read_all(kafka, "retries"):
        assert record.partition == partition_of(record.key or b"", PARTITIONS)


def test_what_came_after_the_start_is_not_read_and_a_replay_that_is_done_stays_done(kafka: KafkaSettings, linked: list[str]):
    later = link("doi:10.5555/p0#later")

    def comes(told: Report) -> None:
        if told.phase == "count":
            publish(kafka, later)

    assert replay(kafka, listen=comes).done
    assert ids(sent(kafka)) == sorted(linked)
    assert replay(kafka).done
    assert len(sent(kafka)) == len(linked)
    replay_position.forget(kafka, "test")
    assert replay_position.read(kafka, "test") is None
    assert replay(kafka).total("sent") == len(linked) + 1


def test_a_selection_is_sent_alone_and_a_curators_word_is_heeded(kafka: KafkaSettings, linked: list[str]):
    open_ = [each for n, each in enumerate(f"{paper}#r{n}" for paper in PAPERS for n in range(3)) if n % 3 and n % 10]
    pinned, forbidden, nothing = open_[:3]
    said: Any = {"schema_version": 1, "reason": "because", "at": 1}
    with Sender(kafka) as sender:
        for event in (
            OverrideEvent(reference=pinned, pinned="pmid:9", **said),
            OverrideEvent(reference=forbidden, forbidden=("pmid:5", "pmid:6"), **said),
            OverrideEvent(reference=nothing, nothing=True, **said),
        ):
            key = event.reference.encode()
            sender.send("overrides", key, event.to_json(), partition=partition_of(event.citing.encode(), PARTITIONS))
    position = replay(kafka, selection=Selection(unresolved=frozenset({ANY})))
    assert ids(sent(kafka)) == sorted(set(open_) - {pinned, nothing})
    assert {event["reference"]["id"]: event.get("forbidden", []) for event in sent(kafka) if "forbidden" in event} == {
        forbidden: ["pmid:5", "pmid:6"]
    }
    assert (position.total("pinned"), position.selected) == (2, len(open_) - 2)


def test_another_selection_or_another_topic_under_the_name_is_refused(kafka: KafkaSettings, linked: list[str]):
    stop: list[Report] = []
    assert not replay(kafka, listen=stop.append, stopped=lambda: bool(stop)).done
    with pytest.raises(BadReplay, match=r"another selection \(cited\): use another --name, or .*--forget"):
        replay(kafka, selection=Selection(cited=frozenset({"pmid:1"})))
    with pytest.raises(BadReplay, match="is not a name"):
        replay(kafka, name="a b")
    with pytest.raises(BadReplay, match="no replay is named other"):
        replay_position.forget(kafka, "other")
    found = replay_position.read(kafka, "test")
    assert found is not None
    assert (found.total("sent"), found.share, found.done) == (0, 0.0, False)
    assert replay_position.names(kafka) == ["test"]
    assert replay(kafka).done
    assert ids(sent(kafka)) == sorted(linked)


def test_it_stops_between_transactions_and_goes_on(kafka: KafkaSettings, linked: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workers.replay.runner._MAX_RECORDS", 10)
    shares = []
    while not shares or shares[-1] < 1:
        heard: list[Report] = []

        def some_were_sent(heard: list[Report] = heard) -> bool:
            return any(told.position.total("sent") > heard[0].position.total("sent") for told in heard)

        position = replay(kafka, listen=heard.append, stopped=some_were_sent)
        assert position.selected == len(linked)
        shares.append(position.share)
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert ids(sent(kafka)) == sorted(linked)


def test_linkers_are_never_further_behind_than_allowed(kafka: KafkaSettings, linked: list[str]):
    seen: list[int] = []

    def listen(told: Report) -> None:
        if told.phase == "send":
            unread = len(read_all(kafka, "retries")) - sum(seen)
            assert unread <= 12
            if told.held_up:
                seen.append(unread)
                linkers_read_all(kafka)
                assert lag(kafka, "linker", "retries") == 0

    assert replay(kafka, ahead=12, listen=listen).done
    assert len(seen) >= 4
    assert ids(sent(kafka)) == sorted(linked)


def test_a_second_one_of_the_name_ends_the_first(kafka: KafkaSettings, linked: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workers.replay.runner._MAX_RECORDS", 5)
    ended: list[Position] = []

    def another(told: Report) -> None:
        if told.phase == "send" and not ended:
            ended.append(replay(kafka))

    with pytest.raises(Fenced, match="continues the replay"):
        replay(kafka, listen=another)
    assert ended[0].done
    assert ids(sent(kafka)) == sorted(linked)


@pytest.mark.parametrize("came_about", [True, False])
def test_a_fault_of_the_broker_is_ridden_out_whether_or_not_the_transaction_came_about(
    kafka: KafkaSettings, linked: list[str], monkeypatch: pytest.MonkeyPatch, came_about: bool
):
    monkeypatch.setattr("workers.replay.runner._MAX_RECORDS", 10)
    commit, commits = ReplaySender.commit, 0

    def failing(self: ReplaySender, events: Any, position: Position) -> None:
        nonlocal commits
        commits += 1
        if commits % 3 or came_about:
            commit(self, events, position)
        if commits % 3 == 0:
            raise BrokerUnreachable("it does not answer")

    monkeypatch.setattr(ReplaySender, "commit", failing)
    position = replay(kafka)
    assert commits > 5
    assert (position.done, position.total("sent")) == (True, len(linked))
    assert ids(sent(kafka)) == sorted(linked)


def test_a_broker_that_stays_away_ends_it(kafka: KafkaSettings, linked: list[str], monkeypatch: pytest.MonkeyPatch):
    commit = ReplaySender.commit

    replaying = Replay(settings_of(kafka), "test", Selection(), **FAST)

    def failing(self: ReplaySender, events: list[Any], position: Position) -> None:
        if events:
            # The producer keeps its own deadline: one of 2 s would be too short for its first request on a busy machine.
            replaying.settings = replaying.settings.model_copy(update={"call_deadline_s": 2.0})
            raise BrokerUnreachable("it does not answer")
        commit(self, events, position)

    monkeypatch.setattr(ReplaySender, "commit", failing)
    with pytest.raises(BrokerUnreachable, match="does not answer"):
        replaying.run()
    assert sent(kafka) == []


def test_what_cannot_be_read_is_counted_and_the_command_says_1(
    kafka: KafkaSettings, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    publish(kafka, link("doi:10.5555/a#r1"), ("doi:10.5555/a#r2", b'{"schema'), ("doi:10.5555/a#r3", b'{"schema_version": 2}'))
    in_environment(kafka, monkeypatch)
    assert main(["replay", "--name", "odd", "--json"]) == 1
    told = capsys.readouterr()
    line = orjson.loads(told.out.splitlines()[-1])
    assert (line["sent"], line["unreadable"], line["done"], line["share"]) == (1, 2, True, 1.0)
    assert "2 unreadable links were skipped" in told.err


# The command


def in_environment(kafka: KafkaSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFLINK_KAFKA_BOOTSTRAP_SERVERS", kafka.kafka_bootstrap_servers)
    monkeypatch.setenv("REFLINK_TOPIC_PREFIX", kafka.topic_prefix)


def test_status_tells_and_forget_deletes(kafka: KafkaSettings, linked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any):
    in_environment(kafka, monkeypatch)
    assert main(["replay", "--status"]) == 0
    assert capsys.readouterr().out == "no replays\n"
    assert main(["replay", "--name", "one", "--cited", "pmid:1", "--per-second", "10000"]) == 0
    assert "references sent, done" in capsys.readouterr().out
    assert main(["replay", "--name", "one", "--cited", "pmid:1"]) == 0
    assert "done before: to start it again, `reflink-worker replay --name one --forget`" in capsys.readouterr().out
    assert main(["replay", "--name", "one", "--cited", "pmid:2"]) == 2
    assert "another selection (cited)" in capsys.readouterr().err
    assert main(["replay", "--status", "--json"]) == 0
    line = orjson.loads(capsys.readouterr().out)
    assert (line["name"], line["done"], line["selection"]) == ("one", True, {"cited": ["pmid:1"]})
    assert line["sent"] == len(sent(kafka)) > 0
    assert main(["replay", "--status", "--name", "two"]) == 2
    assert main(["replay", "--forget"]) == 2
    assert main(["replay", "--forget", "--name", "one"]) == 0
    assert main(["replay", "--forget", "--name", "one"]) == 2
    assert "no replay is named one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
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
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(arguments: list[str], told: str, capsys: Any):
    try:
        code = main(["replay", *arguments])
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == 2
    assert told in capsys.readouterr().err


def test_papers_of_a_file_are_selected(
    kafka: KafkaSettings, linked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
):
    in_environment(kafka, monkeypatch)
    file = tmp_path / "papers"
    file.write_text(f"{PAPERS[1]}\n\n {PAPERS[2]} \n")
    assert main(["replay", "--citing-file", str(file), "--citing", PAPERS[3], "--per-second", "10000"]) == 0
    assert {event["citing"] for event in sent(kafka)} == set(PAPERS[1:4])
    for content, told in ((b"\n", "contains no paper"), (b"\xff\xfe", "is not UTF-8")):
        file.write_bytes(content)
        assert main(["replay", "--citing-file", str(file)]) == 2
        assert told in capsys.readouterr().err


def process(kafka: KafkaSettings, *program: str) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "REFLINK_KAFKA_BOOTSTRAP_SERVERS": kafka.kafka_bootstrap_servers,
        "REFLINK_TOPIC_PREFIX": kafka.topic_prefix,
    }
    return subprocess.Popen(
        [sys.executable, "-m", *program], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.full
def test_every_reference_is_sent_once_wherever_it_is_killed(kafka: KafkaSettings, linked: list[str]):
    """Killed at each step of the third transaction that it gets to, again and again; the last one is let alone."""
    for point in POINTS:
        killed = process(
            kafka, "tests.workers.replay.killed_replay", point, "3" if point != "sending" else "10", "--per-second", "1e5"
        )
        _, said = killed.communicate(timeout=120)
        assert killed.returncode == -signal.SIGKILL, said
        found = replay_position.read(kafka, Selection().digest())
        assert found is not None
        assert not found.done
        assert len(sent(kafka)) == found.total("sent"), point
    last = process(kafka, "workers.cli", "replay", "--per-second", "1e5")
    out, said = last.communicate(timeout=120)
    assert last.returncode == 0, said
    assert f"{len(linked)} of {len(linked)} references sent, done" in out
    assert ids(sent(kafka)) == sorted(linked)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_it_ends_by_a_signal_with_the_shells_code(kafka: KafkaSettings, linked: list[str], number: int, code: int):
    running = process(kafka, "workers.cli", "replay", "--name", "slow", "--per-second", "2", "--json")
    assert running.stdout is not None
    until: Callable[[dict[str, Any]], bool] = lambda line: line["sent"] > 0  # noqa: E731
    for line in running.stdout:
        if until(orjson.loads(line)):
            break
    running.send_signal(number)
    out, said = running.communicate(timeout=120)
    assert running.returncode == code, said
    line = orjson.loads(out.splitlines()[-1])
    assert not line["done"]
    assert 0 < line["sent"] == len(sent(kafka)) < len(linked)
