"""Topics are created once, and refused if they would break the guarantees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import KafkaProducer
from kafka.errors import KafkaConnectionError, MessageSizeTooLargeError

from schemas.links import OUTCOME_HEADER
from tests.kafka import new_prefix
from workers.config.settings import KafkaSettings
from workers.errors import BrokerUnreachable, WrongTopic
from workers.kafka.topics import PAIRED, TOPICS, Found, TopicAdmin, check, partition_of
from workers.ledger import stage as ledger
from workers.linking import fallback_stage as fallback
from workers.linking import linker_stage as linker
from workers.papers import stage as parser

SETTINGS = KafkaSettings(topic_prefix="p.")


def sound(partitions: int = 3, **changed: Found) -> dict[str, Found]:
    found = {
        topic.name: Found(topic.partitions or partitions, {**topic.configuration(), "segment.ms": "1"})
        for topic in TOPICS.values()
    }
    return found | {name.replace("_", "-"): topic for name, topic in changed.items()}


def refusal(found: dict[str, Found], **expected: Any) -> str:
    with pytest.raises(WrongTopic) as error:
        check(SETTINGS, found, **expected)
    assert error.value.exit_code == 3
    assert "\n" not in str(error.value)
    return str(error.value)


def test_topics_as_they_are_created_are_accepted():
    check(SETTINGS, sound())
    check(SETTINGS, sound(), expected_partitions=3)
    check(SETTINGS, {})


def test_a_catalog_of_two_partitions_is_refused():
    message = refusal(sound(catalog=Found(2, TOPICS["catalog"].configuration())))
    assert "topic p.catalog has 2 partitions instead of 1" in message


def test_changed_partitions_are_refused():
    message = refusal(sound(3), expected_partitions=4)
    assert "p.papers has 3 partitions instead of 4" in message
    assert "REFLINK_TOPIC_PREFIX" in message


@pytest.mark.parametrize("name", PAIRED)
def test_paired_topics_must_have_the_same_number_of_partitions(name: str):
    message = refusal(sound(3, **{name: Found(5, TOPICS[name].configuration())}))
    assert "must have the same number of partitions" in message


def with_option(name: str, option: str, value: str | None) -> dict[str, Found]:
    """Return the topic with another value of the option; None: without it."""
    topic = TOPICS[name]
    config = {key: each for key, each in {**topic.configuration(), option: value}.items() if each is not None}
    return {name: Found(topic.partitions or 3, config)}


@pytest.mark.parametrize("name", TOPICS)
@pytest.mark.parametrize("policy", ["compact", "delete", "compact,delete", None])
def test_a_wrong_cleanup_policy_is_refused(name: str, policy: str | None):
    if policy != (right := TOPICS[name].cleanup):
        message = refusal(with_option(name, "cleanup.policy", policy))
        assert f"cleanup.policy={policy} and must have {right}" in message


@pytest.mark.parametrize("name", TOPICS)
@pytest.mark.parametrize("off_by", [-1, 1])
def test_a_topic_for_smaller_or_larger_messages_is_refused(name: str, off_by: int):
    limit = TOPICS[name].max_message_bytes
    assert str(limit) in refusal(with_option(name, "max.message.bytes", str(limit + off_by)))


@pytest.mark.parametrize(("name", "key"), [("papers", "compression.type"), ("dead-letters", "message.timestamp.type")])
def test_another_value_of_an_enforced_option_is_refused(name: str, key: str):
    topic = TOPICS[name]
    assert topic.configuration()[key] == topic.enforced[key]
    assert key in refusal(with_option(name, key, "producer"))


@pytest.mark.parametrize("name", [topic.name for topic in TOPICS.values() if topic.cleanup == "compact"])
@pytest.mark.parametrize(("milliseconds", "sound_ms"), [("86400000", "604800000"), (None, "1209600000")])
def test_too_short_a_retention_of_tombstones_is_refused(name: str, milliseconds: str | None, sound_ms: str):
    """Kafka's default, for topics created by hand, is one day; a store is trusted for three and a half days."""
    message = refusal(with_option(name, "delete.retention.ms", milliseconds))
    assert f"topic p.{name} has delete.retention.ms={milliseconds} and must have at least 604800000" in message
    check(SETTINGS, with_option(name, "delete.retention.ms", sound_ms))


@pytest.mark.parametrize("stage", [parser.ParserStage, linker.LinkerStage, fallback.FallbackStage, ledger.LedgerStage])
def test_each_topic_of_a_stage_is_defined(stage: Any):
    assert {*stage.inputs, *stage.background_inputs, *stage.outputs, *stage.follows} <= set(TOPICS)


@given(st.binary(max_size=40), st.integers(1, 64))
def test_each_key_has_an_existing_partition(key: bytes, partitions: int):
    assert 0 <= partition_of(key, partitions) < partitions


def test_the_partition_of_a_key_never_changes():
    """The known values are those of Kafka's murmur2 in the Java client."""
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
    assert {key: partition_of(key, 2**31) for key in known} == {key: hashed & 0x7FFFFFFF for key, hashed in known.items()}


def test_an_unreachable_broker_is_reported_in_one_line():
    nobody = KafkaSettings(kafka_bootstrap_servers="127.0.0.1:1", kafka_connect_timeout_s=0.5)
    with pytest.raises(BrokerUnreachable, match=r"127\.0\.0\.1:1.*REFLINK_KAFKA_BOOTSTRAP_SERVERS"):
        TopicAdmin(nobody)


# On a broker


@pytest.fixture
def admin(broker: Any) -> Iterator[TopicAdmin]:
    settings = KafkaSettings(kafka_bootstrap_servers=broker.address, topic_prefix=new_prefix())
    with TopicAdmin(settings) as admin:
        yield admin


def test_creating_is_idempotent_and_returns_the_result_of_each_topic(admin: TopicAdmin):
    assert set(admin.create(2, 1).values()) == {"created"}
    assert set(admin.create(2, 1).values()) == {"exists"}
    found = admin.check(TOPICS)
    assert {name: topic.partitions for name, topic in found.items()} == {
        name: topic.partitions or 2 for name, topic in TOPICS.items()
    }
    for name, topic in TOPICS.items():
        assert found[name].config | topic.configuration() == dict(found[name].config)
    with pytest.raises(WrongTopic, match="partition counts are fixed"):
        admin.create(3, 1)


def test_a_wrong_topic_is_refused_and_not_changed(admin: TopicAdmin):
    full = admin.settings.topic("links")
    wrong = {"num_partitions": 2, "replication_factor": 1, "configs": {"cleanup.policy": "delete"}}
    admin.admin.create_topics({full: wrong}, wait_for_metadata=True)
    with pytest.raises(WrongTopic, match=rf"{full} has cleanup.policy=delete and must have compact"):
        admin.create(2, 1)
    assert admin.find(["links"])["links"].config["cleanup.policy"] == "delete"


def test_a_missing_topic_is_named(admin: TopicAdmin):
    assert admin.find(["papers"]) == {}
    with pytest.raises(WrongTopic, match=r"papers does not exist: create the topics with `reflink-worker topics`"):
        admin.check(["papers"])


def test_topics_that_cannot_be_created_are_refused(admin: TopicAdmin):
    with pytest.raises(WrongTopic, match="topics cannot be created"):
        admin.create(2, 100)
    assert admin.find(["papers"]) == {}


def test_the_partitioner_of_a_client_agrees_with_ours(kafka: KafkaSettings):
    keys = [b"doi:10.1/%d" % number for number in range(20)]
    with closing(KafkaProducer(**kafka.kafka_client())) as producer:
        sent = [producer.send(kafka.topic("links"), key=key, value=None, headers=[(OUTCOME_HEADER, b"")]) for key in keys]
        assert [future.get(timeout=30).partition for future in sent] == [partition_of(key, 3) for key in keys]


def test_the_broker_refuses_a_batch_that_decompresses_to_more_than_a_message(kafka: KafkaSettings):
    """A client decompresses a batch as a whole: a few kilobytes that become gigabytes would end one parser after the other."""
    options: Any = {"compression_type": "gzip", "max_request_size": 100_000_000}
    with closing(KafkaProducer(bootstrap_servers=kafka.kafka_bootstrap_servers, **options)) as bomb:
        small = bytes(TOPICS["papers"].max_message_bytes - 100_000)
        assert bomb.send(kafka.topic("papers"), key=b"k", value=small).get(timeout=30).offset >= 0
        with pytest.raises(MessageSizeTooLargeError):
            bomb.send(kafka.topic("papers"), key=b"k", value=bytes(60_000_000)).get(timeout=60)


@pytest.mark.parametrize(
    "call", [TopicAdmin.cluster_id, lambda admin: admin.topic_ids(["papers"]), lambda admin: admin.find(["papers"])]
)
def test_a_broker_that_disconnects_during_a_request_is_unreachable(
    kafka: KafkaSettings, monkeypatch: pytest.MonkeyPatch, call: Callable[[TopicAdmin], object]
):
    def gone(*_: object, **__: object) -> None:
        raise KafkaConnectionError("111 ECONNREFUSED")

    with TopicAdmin(kafka) as admin:
        for name in ("describe_cluster", "describe_topics"):
            monkeypatch.setattr(admin.admin, name, gone)
        with pytest.raises(BrokerUnreachable, match="ECONNREFUSED: try again when the broker responds"):
            call(admin)
