"""A slot's next process removes the member and aborts the transaction of a killed one, so no worker waits for a timeout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kafka import lag, read_all, worker_settings
from tests.workers.echo import until
from workers.config.settings import KafkaSettings
from workers.devkit.processes import Pipeline
from workers.kafka.bulk_producer import Sender
from workers.kafka.clients import transactional_producer
from workers.papers.publishing import publish, record_of
from workers.runtime.group_membership import Membership

#: In seconds: far longer than the test waits.
SESSION_S = 300

REFERENCE = b"<ref id='r1'><mixed-citation>Nobody. 1900.</mixed-citation></ref>"
PAPER = b"<article><front/><back><ref-list>" + REFERENCE + b"</ref-list></back></article>"


def send_papers(kafka: KafkaSettings, count: int) -> None:
    with Sender(kafka) as sender:
        publish((record_of(f"paper-{number}", PAPER) for number in range(count)), sender)


def test_a_killed_worker_is_back_before_its_session_ends(kafka: KafkaSettings, tmp_path: Path):
    settings = {
        "kafka_bootstrap_servers": kafka.kafka_bootstrap_servers,
        "topic_prefix": kafka.topic_prefix,
        "session_timeout_s": SESSION_S,
    }
    with Pipeline(tmp_path, **settings) as pipeline:
        parser = pipeline.start("parser")
        pipeline.wait_ready()
        send_papers(kafka, 30)
        until(lambda: lag(kafka, "parser", "papers") == 0)
        parser.kill()
        send_papers(kafka, 30)
        parser.restart()
        until(lambda: lag(kafka, "parser", "papers") == 0, 60, "the successor waits for the dead")
        (member,) = (tmp_path / "state" / "parser-0").glob("*.member")
        assert parser.stop() == 0
        assert not member.exists(), "it left by itself: there is nobody to bury"


def test_the_open_transaction_of_the_dead_is_ended(kafka: KafkaSettings, tmp_path: Path):
    settings = worker_settings(kafka, tmp_path, transaction_timeout_s=600)
    dead = transactional_producer(settings, "echo")
    dead.init_transactions()
    dead.begin_transaction()
    dead.send(kafka.topic("outcomes"), b"never committed", partition=0).get(timeout=20)
    membership = Membership(settings, "echo", "slot")
    membership.remember("echo-a-0000")
    membership.remove_predecessor()
    # An open transaction would stop a reader of committed records. It reads on, so the transaction was aborted.
    with Sender(kafka) as sender:
        sender.send("outcomes", b"k", b"after", partition=0)
    until(lambda: [record.value for record in read_all(kafka, "outcomes")] == [b"after"])
    dead.close(timeout=1)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", None])
def test_nothing_to_bury(tmp_path: Path, content: bytes | None):
    unreachable = KafkaSettings(kafka_bootstrap_servers="127.0.0.1:1")
    membership = Membership(worker_settings(unreachable, tmp_path), "echo", "slot")
    if content is not None:
        membership.path.write_bytes(content)
    membership.remove_predecessor()
    membership.remember("a")
    assert membership.path.read_text() == "a"
    membership.forget()
    membership.forget()
    assert not membership.path.exists()
