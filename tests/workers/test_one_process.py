"""Linker and fallback in one process on a real broker, killed at work: the outcomes equal those of the library alone."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import orjson
import pytest

from reflink.catalog import Catalog
from reflink.entities import Work
from reflink.linking.linker import Linker
from reflink.linking.policy import Policy
from reflink.semantic import Encoder
from schemas import OutcomesEvent
from tests.kafka import create_topics, lag, new_prefix, read_all
from tests.workers.commands import start
from tests.workers.corpus import example_papers, loaded, parsed
from tests.workers.echo import until
from tests.workers.links import links_of, scores_apart
from workers.config.settings import KafkaSettings
from workers.devkit.broker import Broker
from workers.devkit.processes import Pipeline
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import publish, record_of


def test_linker_and_fallback_in_one_process_lose_and_double_nothing_when_killed(
    broker: Broker, works: list[Work], snapshot: Path, encoder: Encoder, tmp_path: Path
) -> None:
    kafka = create_topics(broker.address, new_prefix())
    settings = {
        "catalog_snapshot": loaded(works, snapshot, kafka, tmp_path),
        "kafka_bootstrap_servers": broker.address,
        "topic_prefix": kafka.topic_prefix,
        "precision": "fp32",
        "query_precision": "fp32",
        "offer_papers": "false",
        "idle_commit_s": 0.2,
        "session_timeout_s": 6.0,
        "revocation_deadline_s": 2.0,
        "batch_records": 8,  # so that a kill finds batches of both in flight
    }
    papers = parsed(example_papers())
    with Pipeline(tmp_path, **settings) as pipeline:
        for worker in ("parser", "ledger"):
            pipeline.start(worker)
        both = pipeline.start("linker", options=["--with-fallback"])
        pipeline.wait_ready()
        with Sender(kafka) as sender:
            publish((record_of(name, data) for name, data in example_papers().items()), sender)
        for _ in range(2):
            before = len(decided(kafka))
            until(lambda before=before: pipeline.check() or len(decided(kafka)) > before)
            both.kill()
            both.restart()
            both.wait_ready()
        expected = sum(len(paper.references) for paper in papers)
        until(lambda: pipeline.check() or len(links_of(kafka)) >= expected, 180, "all outcomes")
        assert lag(kafka, "linker", "references") == lag(kafka, "fallback", "fallback") == 0
        scraped = both.metrics()
        assert scraped.sum("reflink_records_in_total", topic="references") > 0
        assert scraped.sum("reflink_records_in_total", topic="fallback") > 0
        assert scraped.sum("reflink_ready") == 1
        assert both.stop() == 0
    streamed = links_of(kafka)
    linker = Linker(Catalog.open(snapshot), encoder, Policy())
    for paper in papers:
        for reference, link in zip(paper.references, linker.link(paper.references), strict=True):
            (fields, scores), (own, own_scores) = scores_apart(streamed[reference.id].link), scores_apart(link)
            assert fields == own
            assert scores == pytest.approx(own_scores, abs=1e-4)
    assert {"semantic", "lexical"} <= {event.link.method for event in streamed.values()}
    assert set(Counter(decided(kafka)).values()) == {1}


def decided(kafka: KafkaSettings) -> list[str]:
    """Return the ids of the references in the committed outcomes, as often as they are there."""
    values = [record.value or b"" for record in read_all(kafka, "outcomes")]
    events = [OutcomesEvent.from_json(value) for value in values if orjson.loads(value)["kind"] == "outcomes"]
    return [item.reference.id for event in events for item in event.items]


def test_a_search_engine_is_refused_in_one_line(tmp_path: Path) -> None:
    environment = {
        "REFLINK_ENGINE": "opensearch",
        "REFLINK_ENGINE_URLS": "http://nowhere:1",
        "REFLINK_STATE_DIR": str(tmp_path),
    }
    process = start("workers.cli", "linker", "--with-fallback", env=environment, stderr=subprocess.PIPE, text=True)
    _, shown = process.communicate(timeout=120)
    assert process.returncode == 2
    assert shown.splitlines()[-1].startswith(
        "reflink-worker: BadSettings: --with-fallback shares a GPU, and REFLINK_ENGINE=open"
    )
