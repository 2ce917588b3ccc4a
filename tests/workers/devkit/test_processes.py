"""Worker processes: started, scraped, killed, restarted, stopped, against a real broker. The parser starts fastest."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka import lag, read_all
from tests.workers.echo import until
from workers.config.settings import KafkaSettings
from workers.devkit.processes import Metrics, NotReady, Pipeline, WorkerDied, environment
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import record_of

PAPER = b"""<article><front><article-meta><article-id pub-id-type="doi">10.5555/%d</article-id>
<title-group><article-title>A title</article-title></title-group></article-meta></front>
<back><ref-list><ref id="r1"><mixed-citation>Somebody. Something. 1999.</mixed-citation></ref></ref-list></back></article>"""


@pytest.fixture
def pipeline(kafka: KafkaSettings, tmp_path: Path) -> Iterator[Pipeline]:
    with Pipeline(
        tmp_path,
        kafka_bootstrap_servers=kafka.kafka_bootstrap_servers,
        topic_prefix=kafka.topic_prefix,
        session_timeout_s=6.0,
        revocation_deadline_s=2.0,
        transaction_timeout_s=60.0,
        lag_interval_s=0.3,
    ) as pipeline:
        yield pipeline


def publish(kafka: KafkaSettings, numbers: range) -> None:
    with Sender(kafka) as sender:
        for number in numbers:
            record = record_of(f"{number}.xml", PAPER % number)
            sender.send("papers", record.key, record.value, headers=record.headers)


def test_a_killed_worker_continues_after_its_restart(kafka: KafkaSettings, pipeline: Pipeline) -> None:
    parser = pipeline.start("parser", "a", batch_records=7)
    pipeline.wait_ready()
    publish(kafka, range(20))
    until(lambda: parser.metrics().sum("reflink_records_in_total", topic="papers") == 20)
    until(lambda: parser.metrics().sum("reflink_records_out_total", topic="references") == 20)
    # The settings of this process have been passed to it.
    until(lambda: parser.metrics().sum("reflink_batch_records_count") >= 3)

    parser.kill()
    assert (parser.alive, parser.exit_code) == (False, -9)
    pipeline.check()  # the end was expected
    publish(kafka, range(20, 30))
    before, port = parser.pid, parser.port
    parser.restart()
    parser.wait_ready()
    assert (parser.pid != before, parser.port) == (True, port)
    until(lambda: lag(kafka, "parser", "papers") == 0)
    until(lambda: len(read_all(kafka, "references")) == 30)
    assert parser.stop() == 0, "it drains on SIGTERM"


def test_an_unexpected_end_of_a_worker_is_reported_with_its_last_log_line(pipeline: Pipeline) -> None:
    dead = pipeline.start("parser", "a", topic_prefix="nothing-is-here.")
    with pytest.raises(WorkerDied, match=r"parser a ended with exit code 3.*WrongTopic.*parser-a\.log"):
        pipeline.wait_ready()
    with dead.log.open("a") as log:
        log.write("terminate called without an active exception\n")
    with pytest.raises(WorkerDied, match="WrongTopic"):
        dead.metrics()
    with pytest.raises(WorkerDied):
        pipeline.check()


def test_a_slot_is_started_once_and_all_processes_are_stopped_together(pipeline: Pipeline) -> None:
    first, second = pipeline.start("parser", "a"), pipeline.start("parser", "b")
    with pytest.raises(ValueError, match="started already"):
        pipeline.start("parser", "a")
    os.kill(first.pid, signal.SIGSTOP)
    try:
        with pytest.raises(NotReady, match="parser a was not ready"):
            first.wait_ready(0.0)
    finally:
        os.kill(first.pid, signal.SIGCONT)
    pipeline.wait_ready()
    assert pipeline.of("parser") == [first, second]
    pipeline.stop()
    assert (first.exit_code, second.exit_code) == (0, 0)


def test_metrics_are_found_by_name_and_labels() -> None:
    metrics = Metrics.parse(
        '# TYPE a_total counter\na_total{topic="x",kind="p"} 3.0\na_total{topic="y",kind="p"} 4.0\n# TYPE b gauge\nb 7.0\n'
    )
    assert metrics.sum("a_total", kind="p") == 7.0
    assert metrics.sum("a_total", topic="y") == 4.0
    assert metrics.sum("b") == 7.0
    assert metrics.sum("c") == 0.0


def test_settings_become_variables_and_none_removes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFLINK_MODEL", "of the environment")
    monkeypatch.setenv("REFLINK_SLOT", "of the environment")
    made = environment({"model": None, "slot": "a", "http_port": 8080})
    assert "REFLINK_MODEL" not in made
    assert (made["REFLINK_SLOT"], made["REFLINK_HTTP_PORT"]) == ("a", "8080")
    assert "PATH" in made
