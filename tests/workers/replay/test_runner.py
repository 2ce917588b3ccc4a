"""A replay on a real Kafka sends each selected reference once, at its pace, despite kills and resumes."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from kafka import TopicPartition

from schemas import OverrideEvent
from tests.data import ROOT
from tests.kafka import await_markers, lag, read_all, worker_settings
from tests.workers.links import PARTITIONS, ids, link, publish, sent
from tests.workers.replay.conftest import PAPERS
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


def settings_of(kafka: KafkaSettings) -> WorkerSettings:
    return worker_settings(kafka, ROOT, transaction_timeout_s=60.0)  # type: ignore[no-any-return]  # nothing on disk


def override(kafka: KafkaSettings, reference: str, **decision: Any) -> None:
    event = OverrideEvent(schema_version=1, reference=reference, reason="because", at=1, **decision)
    with Sender(kafka) as sender:
        partition = partition_of(event.citing.encode(), PARTITIONS)
        sender.send("overrides", reference.encode(), event.to_json(), partition=partition)


def replay(kafka: KafkaSettings, name: str = "test", selection: Selection | None = None, **more: Any) -> Position:
    return Replay(settings_of(kafka), name, selection or Selection(), **{**FAST, **more}).run()


def linkers_read_all(kafka: KafkaSettings) -> None:
    await_markers(kafka.kafka_bootstrap_servers)
    with closing(plain_consumer(kafka, group_id=kafka.topic("linker"))) as consumer:
        consumer.assign([TopicPartition(kafka.topic("retries"), partition) for partition in range(PARTITIONS)])
        consumer.seek_to_end()
        for place in consumer.assignment():
            consumer.position(place)
        consumer.commit()


def test_the_newest_record_of_each_reference_is_sent_once(kafka: KafkaSettings, linked: list[str]):
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


def test_a_replay_ends_at_the_offsets_of_its_start_and_stays_done(kafka: KafkaSettings, linked: list[str]):
    later = link("doi:10.5555/p0#later")

    def publish_later(report: Report) -> None:
        if report.phase == "count":
            publish(kafka, later)

    assert replay(kafka, listen=publish_later).done
    assert ids(sent(kafka)) == sorted(linked)
    assert replay(kafka).done
    assert len(sent(kafka)) == len(linked)
    replay_position.forget(kafka, "test")
    assert replay_position.read(kafka, "test") is None
    assert replay(kafka).total("sent") == len(linked) + 1


def test_only_the_selection_is_sent_and_overrides_are_applied(kafka: KafkaSettings, linked: list[str]):
    open_ = [each for n, each in enumerate(f"{paper}#r{n}" for paper in PAPERS for n in range(3)) if n % 3 and n % 10]
    pinned, forbidden, nothing = open_[:3]
    override(kafka, pinned, pinned="pmid:9")
    override(kafka, forbidden, forbidden=("pmid:5", "pmid:6"))
    override(kafka, nothing, nothing=True)
    position = replay(kafka, selection=Selection(unresolved=frozenset({ANY})))
    assert ids(sent(kafka)) == sorted(set(open_) - {pinned, nothing})
    assert {event["reference"]["id"]: event.get("forbidden", []) for event in sent(kafka) if "forbidden" in event} == {
        forbidden: ["pmid:5", "pmid:6"]
    }
    assert (position.total("pinned"), position.selected) == (2, len(open_) - 2)


def test_another_selection_under_the_same_name_is_refused(kafka: KafkaSettings, linked: list[str]):
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


def test_a_stopped_replay_continues_after_its_last_transaction(
    kafka: KafkaSettings, linked: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("workers.replay.runner._MAX_RECORDS", 10)
    shares = []
    while not shares or shares[-1] < 1:
        reports: list[Report] = []

        def some_were_sent(reports: list[Report] = reports) -> bool:
            return any(each.position.total("sent") > reports[0].position.total("sent") for each in reports)

        position = replay(kafka, listen=reports.append, stopped=some_were_sent)
        assert position.selected == len(linked)
        shares.append(position.share)
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert ids(sent(kafka)) == sorted(linked)


def test_the_unread_records_of_linkers_never_exceed_the_limit(kafka: KafkaSettings, linked: list[str]):
    seen: list[int] = []

    def listen(report: Report) -> None:
        if report.phase == "send":
            unread = len(read_all(kafka, "retries")) - sum(seen)
            assert unread <= 12
            if report.held_up:
                seen.append(unread)
                linkers_read_all(kafka)
                assert lag(kafka, "linker", "retries") == 0

    assert replay(kafka, ahead=12, listen=listen).done
    assert len(seen) >= 4
    assert ids(sent(kafka)) == sorted(linked)


def test_a_second_replay_of_the_same_name_fences_the_first(
    kafka: KafkaSettings, linked: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("workers.replay.runner._MAX_RECORDS", 5)
    ended: list[Position] = []

    def another(report: Report) -> None:
        if report.phase == "send" and not ended:
            ended.append(replay(kafka))

    with pytest.raises(Fenced, match="continues the replay"):
        replay(kafka, listen=another)
    assert ended[0].done
    assert ids(sent(kafka)) == sorted(linked)


@pytest.mark.parametrize("committed", [True, False])
def test_a_fault_of_the_broker_is_retried_whether_or_not_the_transaction_was_committed(
    kafka: KafkaSettings, linked: list[str], monkeypatch: pytest.MonkeyPatch, committed: bool
):
    monkeypatch.setattr("workers.replay.runner._MAX_RECORDS", 10)
    commit, commits = ReplaySender.commit, 0

    def failing(self: ReplaySender, events: Any, position: Position) -> None:
        nonlocal commits
        commits += 1
        if commits % 3 or committed:
            commit(self, events, position)
        if commits % 3 == 0:
            raise BrokerUnreachable("it does not answer")

    monkeypatch.setattr(ReplaySender, "commit", failing)
    position = replay(kafka)
    assert commits > 5
    assert (position.done, position.total("sent")) == (True, len(linked))
    assert ids(sent(kafka)) == sorted(linked)


def test_a_broker_that_remains_unreachable_ends_the_replay(
    kafka: KafkaSettings, linked: list[str], monkeypatch: pytest.MonkeyPatch
):
    commit, replaying = ReplaySender.commit, Replay(settings_of(kafka), "test", Selection(), **FAST)

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
