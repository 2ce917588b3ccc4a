"""Three brokers: records are replicated, and writing and reading continue while one broker is down."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from tests.kafka import create_topics, lag, new_prefix, read_all, send, worker_settings
from tests.workers.commands import set_environment
from workers.cli import main
from workers.config.settings import KafkaSettings
from workers.devkit.cluster import BrokerCluster
from workers.kafka.clients import transactional_producer
from workers.kafka.topics import TOPICS, TopicAdmin

RECORDS = 60


def test_topics_have_three_replicas_and_need_two_in_sync(cluster: BrokerCluster, monkeypatch: pytest.MonkeyPatch):
    settings = KafkaSettings(kafka_bootstrap_servers=cluster.address, topic_prefix=new_prefix())
    set_environment(monkeypatch, settings)
    assert main(["topics", "--partitions", "3"]) == 0
    with TopicAdmin(settings) as topics:
        partitions = [each for topic in topics.admin.describe_topics() for each in topic["partitions"]]
        assert len(partitions) >= len(TOPICS)
        assert all(len(each["replica_nodes"]) == 3 for each in partitions)
        for found in topics.find(TOPICS).values():
            assert found.config["min.insync.replicas"] == "2"
            assert found.config["unclean.leader.election.enable"] == "false"


def test_writing_and_reading_continue_while_a_broker_is_down(cluster: BrokerCluster):
    kafka = create_topics(cluster.address, new_prefix())
    sent = [(b"%d" % (number % 17), b"%d" % number) for number in range(3 * RECORDS)]
    send(kafka, "references", sent[:RECORDS])
    cluster.kill(0)
    send(kafka, "references", sent[RECORDS : 2 * RECORDS])  # its producer waits for acknowledgement by all that are in sync
    assert len(read_all(kafka, "references")) == 2 * RECORDS
    cluster.start_again(0)
    cluster.wait_in_sync()
    send(kafka, "references", sent[2 * RECORDS :])
    assert Counter(record.value for record in read_all(kafka, "references")) == Counter(value for _, value in sent)


def test_offsets_and_transactions_are_replicated(cluster: BrokerCluster, tmp_path: Path):
    kafka = create_topics(cluster.address, new_prefix())
    producer = transactional_producer(worker_settings(kafka, tmp_path), "linker")
    producer.init_transactions()
    producer.close(timeout=10)
    assert lag(kafka, "linker", "references") == 0  # makes the topic of offsets
    with TopicAdmin(kafka) as topics:
        internal = ("__consumer_offsets", "__transaction_state")
        described = topics.admin.describe_topics(list(internal))
        assert all(len(each["replica_nodes"]) == 3 for topic in described for each in topic["partitions"])
        assert all(topic["partitions"] for topic in described)
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in internal]
        for config in next(iter(topics.admin.describe_configs(resources, config_filter="all").values())).values():
            assert config["min.insync.replicas"]["value"] == "2"
            assert config["unclean.leader.election.enable"]["value"] == "false"
