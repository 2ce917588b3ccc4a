"""Every worker ends if a topic got more partitions, at any time and even if the worker's disk was lost."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata

from tests.kafka import lag, send, worker_settings
from tests.workers.echo import Echo, Running, running, until
from workers.config.settings import KafkaSettings
from workers.errors import WrongTopic
from workers.kafka.clients import plain_consumer
from workers.kafka.partition_counts import counts, read, refuse_growth, written
from workers.kafka.topics import PAIRED, TOPICS, Found, TopicAdmin
from workers.ledger import stage as ledger
from workers.linking import fallback_stage as fallback
from workers.linking import linker_stage as linker
from workers.papers import stage as parser
from workers.runtime import topic_watch
from workers.runtime.topic_watch import TopicWatch
from workers.stage import Stage

SETTINGS = KafkaSettings(topic_prefix="p.")


def grow(kafka: KafkaSettings, names: Iterable[str], partitions: int = 6) -> None:
    with TopicAdmin(kafka) as admin:
        admin.admin.create_partitions({kafka.topic(name): partitions for name in names})
        until(lambda: all(each.partitions == partitions for each in admin.find(names).values()))


def committed_notes(kafka: KafkaSettings, group: str, topic: str) -> dict[int, str]:
    """Return the metadata of the group's committed offsets, by partition."""
    with TopicAdmin(kafka) as admin:
        places = [TopicPartition(kafka.topic(topic), number) for number in range(3)]
        found = admin.admin.list_group_offsets({kafka.topic(group): places})[kafka.topic(group)]
        return {place.partition: each.metadata for place, each in found.items() if each.offset >= 0}


def refusal_of(worker: Running) -> str:
    worker.thread.join(60)
    worker.stop()  # in case it continues
    assert isinstance(worker.error, WrongTopic)
    return str(worker.error)


class Paired(Echo):
    """Echo with the paired topics of a ledger."""

    name = "paired"
    inputs = ("outcomes",)
    outputs = ("links", "manifests")
    follows = ("overrides",)


def test_counts_are_read_as_written_and_other_texts_are_empty():
    found = {name: Found(3, {}, "a-topic-id-of-22-chars") for name in ("links", "references")}
    assert read(written(counts(found))) == {"links": (3, "a-topic-"), "references": (3, "a-topic-")}
    for other in (None, "", "{}", "[]", "7", '{"partitions": 7}', '{"partitions": {"links": 3}}', "not JSON"):
        assert read(other) == {}


def test_a_recreated_topic_may_have_another_count():
    before = {"references": (3, "one")}
    refuse_growth(SETTINGS, before, {"references": (6, "other")})
    refuse_growth(SETTINGS, before, {"references": (3, "one")})
    refuse_growth(SETTINGS, before, {"links": (6, "one")})
    for now in ((6, "one"), (6, "")):  # brokers before 2.8 have no topic ids
        with pytest.raises(WrongTopic, match=r"p\.references has 6 partitions and had 3.*delete it and create it with 3"):
            refuse_growth(SETTINGS, before, {"references": now})
    with pytest.raises(WrongTopic) as error:
        refuse_growth(SETTINGS, {"links": (3, "one")}, {"links": (6, "one")})
    assert "REFLINK_TOPIC_PREFIX" in str(error.value)
    assert "delete" not in str(error.value), "its data exist nowhere else"


@pytest.mark.parametrize(
    "stage", [parser.ParserStage, linker.LinkerStage, fallback.FallbackStage, ledger.LedgerStage], ids=lambda stage: stage.name
)
def test_each_worker_commits_the_counts_of_all_its_topics_with_its_offsets(
    stage: type[Stage[Any, Any]], kafka: KafkaSettings, tmp_path: Path
):
    settings = worker_settings(kafka, tmp_path)
    watch = TopicWatch(settings, stage)  # type: ignore[arg-type]
    watch.check()
    with closing(plain_consumer(kafka, group_id=kafka.topic(stage.name))) as consumer:
        place = TopicPartition(kafka.topic(stage.inputs[0]), 2)
        consumer.assign([place])
        consumer.commit({place: OffsetAndMetadata(0, watch.note, -1)})
    keyed = {name for name in {*stage.inputs, *stage.outputs, *stage.follows} if TOPICS[name].partitions is None}
    assert keyed <= set(read(watch.note))
    grow(kafka, keyed | set(PAIRED))
    for each in (watch, TopicWatch(settings, stage)):  # type: ignore[arg-type]
        with pytest.raises(WrongTopic, match="has 6 partitions and had 3"):
            each.check()


@pytest.mark.parametrize("name", ["references", "outcomes"])
def test_growth_while_no_worker_runs_ends_the_next_worker_without_its_disk(name: str, kafka: KafkaSettings, tmp_path: Path):
    send(kafka, "references", [(b"k%d" % number, b"%d" % number) for number in range(30)])
    with running(Echo(), worker_settings(kafka, tmp_path / "first")):
        until(lambda: lag(kafka, "echo", "references") == 0)
    grow(kafka, [name])
    message = refusal_of(Running(Echo(), worker_settings(kafka, tmp_path / "second")))
    assert f"{kafka.topic(name)} has 6 partitions and had 3" in message


def test_an_idle_worker_commits_the_counts_too(kafka: KafkaSettings, tmp_path: Path):
    send(kafka, "references", [(b"k", b"1")])  # in one of three partitions
    with running(Echo(), worker_settings(kafka, tmp_path)):
        until(lambda: len(committed_notes(kafka, "echo", "references")) == 3)
    assert all(read(metadata)["outcomes"][0] == 3 for metadata in committed_notes(kafka, "echo", "references").values())


def test_equal_growth_of_all_paired_topics_ends_a_running_worker(
    kafka: KafkaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(topic_watch, "CHECK_EVERY_S", 0.2)
    worker = Running(Paired(), worker_settings(kafka, tmp_path))
    until(lambda: worker.runtime.flow.partitions.owned())
    grow(kafka, PAIRED)
    assert "has 6 partitions and had 3" in refusal_of(worker)
