"""Kafka clients, configured once for the guarantee the design gives."""

from __future__ import annotations

import logging
from typing import Any, Final

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import (
    AuthorizationError,
    KafkaError,
    SaslAuthenticationFailedError,
    UnsupportedVersionError,
)

from workers.assignment import EvenByTopicAssignor
from workers.errors import BrokerRefused, BrokerUnreachable
from workers.settings import KafkaSettings, WorkerSettings

log = logging.getLogger(__name__)

MAX_REQUEST_BYTES: Final = 10_000_000
#: A broker that is back is found within this, not within kafka-python's 30 s.
_RECONNECT_MS: Final = 1000

#: No retry mends these: the operator must.
REFUSALS: Final = (AuthorizationError, SaslAuthenticationFailedError, UnsupportedVersionError)


def refused(error: KafkaError, settings: KafkaSettings) -> BrokerRefused:
    """The refusal in one line: the brokers, the user, what they said."""
    user = f" as {settings.kafka_sasl_username}" if settings.kafka_sasl_username else ""
    return BrokerRefused(
        f"{settings.kafka_bootstrap_servers}{user} ({settings.kafka_security_protocol}): {type(error).__name__}: {error}"
    )


def group_consumer(settings: WorkerSettings, group: str) -> KafkaConsumer:
    """A member of a worker's group: reads committed records, commits nothing by itself, rebalances cooperatively."""
    return connect(
        settings,
        KafkaConsumer,
        group_id=settings.topic(group),
        client_id=f"{settings.topic(group)}-{settings.slot}",
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        allow_auto_create_topics=False,
        partition_assignment_strategy=[EvenByTopicAssignor],
        session_timeout_ms=int(settings.session_timeout_s * 1000),
        heartbeat_interval_ms=max(100, int(settings.session_timeout_s * 1000 / 4)),
        # Polling never waits for handling, so a member that does not poll is dead.
        max_poll_interval_ms=int(max(settings.session_timeout_s * 3, 30) * 1000),
        max_poll_records=5000,
        fetch_max_wait_ms=250,
        max_partition_fetch_bytes=4_000_000,
    )


def plain_consumer(settings: KafkaSettings, **more: Any) -> KafkaConsumer:
    """A reader outside any group, of partitions assigned by hand, that sees committed records only."""
    return connect(
        settings,
        KafkaConsumer,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        allow_auto_create_topics=False,
        max_poll_records=2000,
        max_partition_fetch_bytes=8_000_000,
        **more,
    )


def transactional_producer(settings: WorkerSettings, name: str) -> KafkaProducer:
    """The producer of a slot: its transactional id is the slot's, so a restart takes over at once what a crash left open."""
    return connect(
        settings,
        KafkaProducer,
        client_id=f"{settings.topic(name)}-{settings.slot}",
        transactional_id=f"{settings.topic(name)}-{settings.slot}",
        transaction_timeout_ms=int(settings.transaction_timeout_s * 1000),
        acks="all",
        compression_type="zstd",
        linger_ms=5,
        batch_size=500_000,
        max_request_size=MAX_REQUEST_BYTES,
        allow_auto_create_topics=False,
        max_block_ms=int(settings.call_deadline_s * 1000 / 2),  # before the watchdog
    )


def plain_producer(settings: KafkaSettings) -> KafkaProducer:
    """An idempotent producer for tools: every record once and in order, no transaction."""
    return connect(
        settings,
        KafkaProducer,
        acks="all",
        compression_type="zstd",
        linger_ms=20,
        batch_size=500_000,
        max_request_size=MAX_REQUEST_BYTES,
        allow_auto_create_topics=False,
    )


def end_of(settings: KafkaSettings, topic: str, partition: int = 0) -> int:
    """The last stable offset of a partition (topic without prefix)."""
    consumer = plain_consumer(settings)
    try:
        place = TopicPartition(settings.topic(topic), partition)
        return int(consumer.end_offsets([place])[place])
    finally:
        consumer.close()


def connect(settings: KafkaSettings, client: Any, **config: Any) -> Any:
    """Any of kafka-python's clients, connected. Raises BrokerRefused, also when no broker answers."""
    try:
        return client(**settings.kafka_client(), reconnect_backoff_max_ms=_RECONNECT_MS, **config)
    except REFUSALS as error:
        raise refused(error, settings) from None
    except (KafkaError, OSError) as error:
        raise BrokerUnreachable(
            f"no broker answers at {settings.kafka_bootstrap_servers} ({settings.kafka_security_protocol}): "
            f"{type(error).__name__}: {error}; check REFLINK_KAFKA_BOOTSTRAP_SERVERS"
        ) from None
