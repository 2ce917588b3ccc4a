"""Workers killed, joining and leaving: a read-committed reader sees what it sees of an undisturbed run."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from benchmarks.papers import made_paper
from reflink.entities import Work
from tests.kafka import create_topics, new_prefix, read_all
from tests.workers.corpus import loaded
from tests.workers.echo import until
from workers.local.broker import Broker
from workers.local.pipeline import WORKERS, Pipeline
from workers.publishing import publish, record_of
from workers.sending import Sender
from workers.settings import KafkaSettings

PAPERS = 160
REFERENCES = 12
KILLS = 12

#: Of an event: when, and at which version of the catalog, which a kill may change and must not matter.
TIMES = ("arrived", "judged", "catalog_offset", "paper_version")


def run(
    broker: Broker, folder: Path, works: list[Work], snapshot: Path, disturb: Callable[[Pipeline, Callable[[], None]], None]
) -> KafkaSettings:
    """Links PAPERS made papers and a poisonous one per 20 while ``disturb`` does its worst, and waits for the end."""
    kafka = create_topics(broker.address, new_prefix())
    folder.mkdir()
    settings = {
        "catalog_snapshot": loaded(works, snapshot, kafka, folder),
        "kafka_bootstrap_servers": broker.address,
        "topic_prefix": kafka.topic_prefix,
        "precision": "fp32",
        "offer_papers": "false",
        "session_timeout_s": 6,
        "revocation_deadline_s": 2,
        "batch_records": 64,
    }
    with Pipeline(folder, **settings) as pipeline:
        for worker in WORKERS:
            pipeline.start(worker)
        pipeline.wait_ready()
        numbers = iter(range(PAPERS))

        def some_papers() -> None:
            with Sender(kafka) as sender:
                for _ in range(10):
                    if (number := next(numbers, None)) is not None:
                        data = made_paper(number, works, REFERENCES) if number % 20 else b"<poison number='%d'/>" % number
                        publish([record_of(f"paper-{number}", data)], sender)

        disturb(pipeline, some_papers)
        for _ in range(PAPERS // 10):
            some_papers()
        expected = (PAPERS - PAPERS // 20) * REFERENCES
        until(
            lambda: len({record.key for record in read_all(kafka, "links")}) == expected, 240, "an outcome of every reference"
        )
        # What would be doubled comes late: wait for the ends of all topics to be read.
        until(
            lambda: all(process.metrics().sum("reflink_lag_records") == 0 for process in pipeline.processes if process.alive),
            60,
        )
    return kafka


def seen(kafka: KafkaSettings) -> tuple[list[object], list[object]]:
    """Links and dead letters, record by record, without times."""
    links = []
    for record in read_all(kafka, "links"):
        event = orjson.loads(record.value) if record.value is not None else None
        if event is not None:
            for name in TIMES:
                event.pop(name, None)
            for scored in (event["link"], event["link"].get("runner_up") or {}):
                # An encoder's last digits depend on what shares its batch.
                scored["score"] = round(scored.get("score") or 0.0, 3)
        links.append((record.key, orjson.dumps(event, option=orjson.OPT_SORT_KEYS)))
    dead = [(record.key, record.value, record.header("reflink-exception")) for record in read_all(kafka, "dead-letters")]
    return sorted(links), sorted(dead)


def test_kills_joins_and_leaves_change_nothing(broker, works, snapshot, tmp_path):
    quiet = run(broker, tmp_path / "quiet", works, snapshot, lambda pipeline, more: None)

    choice = random.Random(20261121)
    victims = list(WORKERS) * (KILLS // len(WORKERS))
    choice.shuffle(victims)

    def disturb(pipeline: Pipeline, more_papers: Callable[[], None]) -> None:
        joined = {worker: pipeline.start(worker, "b") for worker in ("parser", "fallback")}
        for number, worker in enumerate(victims):
            more_papers()
            time.sleep(choice.uniform(0.05, 1.5))
            process = pipeline.of(worker)[0]
            process.kill()
            time.sleep(choice.uniform(0.0, 0.5))
            process.restart()
            if number == KILLS // 2:
                for process in joined.values():
                    assert process.stop() == 0

    hurt = run(broker, tmp_path / "hurt", works, snapshot, disturb)
    quiet_links, quiet_dead = seen(quiet)
    hurt_links, hurt_dead = seen(hurt)
    assert len(quiet_dead) == PAPERS // 20
    assert hurt_dead == quiet_dead
    assert hurt_links == quiet_links
