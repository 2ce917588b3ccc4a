"""A transaction is committed after its coordinator was killed and another broker took over."""

from __future__ import annotations

from pathlib import Path

from tests.kafka import create_topics, new_prefix, read_all, worker_settings
from tests.workers.echo import until
from workers.devkit.cluster import BrokerCluster
from workers.kafka.clients import transactional_producer
from workers.kafka.topics import TopicAdmin
from workers.kafka.transactional_producer import BoundedProducer


def test_a_commit_outlives_the_coordinator_of_its_transaction(cluster: BrokerCluster, tmp_path: Path):
    """Three brokers. The producer's thread has to look the coordinator up again, and keep the request meanwhile."""
    kafka = create_topics(cluster.address, new_prefix())
    settings = worker_settings(kafka, tmp_path, transaction_timeout_s=300)
    producer = BoundedProducer(transactional_producer(settings, "echo"), 120.0)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(kafka.topic("outcomes"), b"1", partition=0).get(timeout=30)
    with TopicAdmin(kafka) as admin:
        (described,) = admin.admin.describe_transactions([settings.topic("echo-a")]).values()
    gone = described.coordinator_id - 1
    cluster.kill(gone)
    try:
        producer.commit_transaction()
        until(lambda: [record.value for record in read_all(kafka, "outcomes")] == [b"1"])
    finally:
        producer.close(2)
        cluster.start_again(gone)
        cluster.wait_in_sync()
