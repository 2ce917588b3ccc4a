"""Detection of a pipeline at rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

from tests.kafka import send
from tests.workers.echo import until
from workers.config.settings import KafkaSettings
from workers.demo.rest import READ, Rest
from workers.devkit.processes import Metrics, Pipeline
from workers.ledger.stage import LedgerStage
from workers.linking.fallback_stage import FallbackStage
from workers.linking.linker_stage import LinkerStage
from workers.papers.stage import ParserStage


class Ledger:
    """The metrics of a ledger process."""

    worker, dismissed = "ledger", False

    def __init__(self) -> None:
        self.offset, self.behind = 0, 0

    def metrics(self) -> Metrics:
        return Metrics.parse(f"reflink_catalog_offset {self.offset}\nreflink_ledger_changes_behind_records {self.behind}\n")


def commit(kafka: KafkaSettings, group: str, topic: str, offset: int) -> None:
    consumer = KafkaConsumer(bootstrap_servers=kafka.kafka_bootstrap_servers, group_id=kafka.topic(group))
    try:
        name = kafka.topic(topic)
        places = [TopicPartition(name, partition) for partition in consumer.partitions_for_topic(name) or ()]
        consumer.assign(places)
        ends = consumer.end_offsets(places)
        consumer.commit({place: OffsetAndMetadata(min(offset, ends[place]), "", -1) for place in places})
    finally:
        consumer.close()


def test_rest_needs_all_records_read_all_changes_propagated_and_no_new_record(kafka: KafkaSettings, tmp_path: Path) -> None:
    pipeline, ledger = Pipeline(tmp_path), Ledger()
    pipeline.processes.append(ledger)  # type: ignore[arg-type]
    with Rest(kafka, pipeline) as rest:
        assert not rest.reached(), "one check shows no change"
        until(rest.reached)
        send(kafka, "papers", [(b"k", b"1")])
        assert not any(rest.reached() for _ in range(50))
        before = rest.state
        commit(kafka, "parser", "papers", 1)
        assert not rest.reached()
        assert rest.state != before
        until(rest.reached)
        send(kafka, "links", [(b"k", b"1")])
        assert not rest.reached(), "an offset has changed"
        send(kafka, "catalog", [(b"k", b"1")])
        commit(kafka, "ledger", "catalog", 1)
        assert not any(rest.reached() for _ in range(50)), "the ledger has not read the catalog"
        ledger.offset, ledger.behind = 1, 1
        assert not any(rest.reached() for _ in range(50)), "the ledger has changes to propagate"
        ledger.behind = 0
        until(rest.reached)


def test_the_checked_topics_are_the_inputs_of_the_workers() -> None:
    stages: list[Any] = [ParserStage, LinkerStage, FallbackStage, LedgerStage]
    assert {stage.name: {*stage.inputs, *stage.background_inputs} for stage in stages} == {
        worker: set(topics) for worker, topics in READ.items()
    }
