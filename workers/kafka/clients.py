"""Kafka clients with the configuration that exactly-once processing needs."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from typing import Any, Final

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError, TransactionalIdAuthorizationFailedError

from workers.config.settings import KafkaSettings, WorkerSettings
from workers.errors import BrokerUnreachable
from workers.kafka.assignor import EvenByTopicAssignor
from workers.kafka.errors import broker_errors
from workers.kafka.network import network
from workers.kafka.preflight import await_broker, try_brokers
from workers.kafka.selector import Selector
from workers.records import Received

log = logging.getLogger(__name__)

MAX_REQUEST_BYTES: Final = 10_000_000
#: Maximum delay until a client reconnects to a broker that is back; kafka-python's default is 30 s.
_RECONNECT_MS: Final = 1000
#: Minimum time for a client's own bootstrap; the preflight has just succeeded, so it needs little.
_LEAST_BOOTSTRAP_S: Final = 5.0
#: While a consumer has no connection: interval between probes of the brokers, and timeout of each probe, in seconds.
_PROBE_EVERY_S: Final = 3.0
_PROBE_S: Final = 2.0
#: Minimum timeout of a poll while the consumer joins its group.
_JOINING_POLL_MS: Final = 1000


def group_consumer(settings: WorkerSettings, group: str) -> GroupConsumer:
    """Return a member of a worker's group: it reads committed records, commits nothing itself and rebalances cooperatively."""
    consumer: GroupConsumer = connect(
        settings,
        partial(GroupConsumer, settings),
        group_id=settings.topic(group),
        client_id=f"{settings.topic(group)}-{settings.slot}",
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        allow_auto_create_topics=False,
        session_timeout_ms=int(settings.session_timeout_s * 1000),
        heartbeat_interval_ms=max(100, int(settings.session_timeout_s * 1000 / 4)),
        # Polling never waits for handling, so a member that does not poll has failed.
        max_poll_interval_ms=int(max(settings.session_timeout_s * 3, 30) * 1000),
        max_poll_records=5000,
        # A group leader assigns no partition of a new topic until it refreshes its metadata.
        metadata_max_age_ms=15_000,
        fetch_max_wait_ms=250,
        max_partition_fetch_bytes=4_000_000,
    )
    return consumer


def plain_consumer(settings: KafkaSettings, **config: Any) -> KafkaConsumer:
    """Return a consumer for manually assigned partitions that reads committed records only, unless ``config`` differs."""
    defaults = {
        "isolation_level": "read_committed",
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "allow_auto_create_topics": False,
        "max_poll_records": 2000,
        "max_partition_fetch_bytes": 8_000_000,
    }
    return connect(settings, ResumingConsumer, **(defaults | config))


def transactional_producer(settings: WorkerSettings, name: str) -> KafkaProducer:
    """Return the slot's producer. It has the slot's transactional id, so a restart aborts an open transaction at once."""
    return connect(
        settings,
        SlotProducer,
        client_id=f"{settings.topic(name)}-{settings.slot}",
        transactional_id=f"{settings.topic(name)}-{settings.slot}",
        transaction_timeout_ms=int(settings.transaction_timeout_s * 1000),
        acks="all",
        compression_type="zstd",
        linger_ms=5,
        batch_size=500_000,
        max_request_size=MAX_REQUEST_BYTES,
        allow_auto_create_topics=False,
        max_block_ms=int(settings.call_deadline_s * 1000 / 2),  # raises before the watchdog ends the process
    )


def plain_producer(settings: KafkaSettings) -> KafkaProducer:
    """Return an idempotent producer for tools: it writes each record once and in order, without transactions."""
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
    """Return the last stable offset of a partition; records committed after it cannot be read yet. ``topic`` has no prefix."""
    place = TopicPartition(settings.topic(topic), partition)
    with closing(plain_consumer(settings)) as consumer:
        return int(consumer.end_offsets([place])[place])


def uncommitted_ends(settings: KafkaSettings, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the high watermark of each partition, which lies after all records of open transactions.

    A reader that needs every committed record reads committed records until its position reaches these ends. The last
    stable offsets do not suffice: a broker writes the markers of one transaction partition by partition, in no order, so a
    transaction may be decided in one partition and still open in another.
    """
    consumer = connect(settings, KafkaConsumer, isolation_level="read_uncommitted", enable_auto_commit=False)
    with closing(consumer):
        return {place: int(end) for place, end in consumer.end_offsets(list(places)).items()}


def connect(settings: KafkaSettings, client: Any, **config: Any) -> Any:
    """Return a connected kafka-python client. Raises BrokerRefused, or BrokerUnreachable if no broker answers in time."""
    began = time.monotonic()
    await_broker(settings, settings.kafka_connect_timeout_s)
    rest = max(_LEAST_BOOTSTRAP_S, settings.kafka_connect_timeout_s - (time.monotonic() - began))
    try:
        with broker_errors(settings), network() as kafka_client:
            return client(
                **settings.kafka_client(),
                kafka_client=kafka_client,
                selector=Selector,
                reconnect_backoff_max_ms=_RECONNECT_MS,
                bootstrap_timeout_ms=int(rest * 1000),
                **config,
            )
    except (KafkaError, OSError) as error:
        raise BrokerUnreachable(
            f"no broker responds at {settings.kafka_bootstrap_servers} ({settings.kafka_security_protocol}): "
            f"{type(error).__name__}: {error}; check REFLINK_KAFKA_BOOTSTRAP_SERVERS"
        ) from None


def received(topic: str, record: Any) -> Received:
    """Convert a consumer's record to a Received. ``topic`` has no prefix."""
    headers = tuple((name, value or b"") for name, value in record.headers)
    return Received(topic, record.partition, record.offset, record.key, record.value, headers, record.timestamp)


class ResumingConsumer(KafkaConsumer):  # type: ignore[misc]
    """A consumer that delivers the records of a resumed partition.

    kafka-python 3.0.12 sets the fetched records of a paused partition aside. It returns to them only while it holds no records
    of another partition. After the last record of a partition it still holds an empty remainder, forever if no record follows.
    It then never delivered the records set aside, and did not fetch their partition either.
    """

    def poll(self, *arguments: Any, **more: Any) -> Any:
        """As KafkaConsumer's."""
        buffered = self._fetcher._next_partition_records
        if buffered is not None and not buffered:
            self._fetcher._next_partition_records = None
        return super().poll(*arguments, **more)


class GroupConsumer(ResumingConsumer):
    """A consumer that completes each join, and finds the reason when it has lost all brokers.

    kafka-python 3.0.12 retries forever without an error when it has no connection. Here, credentials or certificates that are
    refused only later (expired or revoked) end the worker.

    When the metadata of the topics changes, the group leader joins again. kafka-python forgets this reason while the join is
    in flight. If one poll did not outlast the join, later polls never completed it: the member sent no heartbeats, got no
    partitions, and did not leave this state. It also discards a join that completes between two polls, and starts another one:
    with short polls and other calls between them, a member rejoined for minutes while the whole group waited. So a poll waits
    for a join in flight for at least a second.
    """

    def __init__(self, settings: KafkaSettings, **config: Any) -> None:
        self._settings = settings
        self._probe_at = time.monotonic() + _PROBE_EVERY_S
        self.assignor = EvenByTopicAssignor(self.group_metadata)
        super().__init__(partition_assignment_strategy=[self.assignor], **config)

    def poll(self, timeout_ms: int = 0, **more: Any) -> Any:
        """As KafkaConsumer's. Raises BrokerRefused, within seconds, if the brokers reject this client."""
        now = time.monotonic()
        if any(connection.connected for connection in list(self._manager._conns.values())):
            self._probe_at = now + _PROBE_EVERY_S
        elif now >= self._probe_at:
            try_brokers(self._settings, _PROBE_S)
            self._probe_at = time.monotonic() + _PROBE_EVERY_S
        if self._coordinator.rejoining:
            self._coordinator.request_rejoin()
            timeout_ms = max(timeout_ms, _JOINING_POLL_MS)
        return super().poll(timeout_ms, **more)


class SlotProducer(KafkaProducer):  # type: ignore[misc]
    """A transactional producer whose authorization error names the refused transactional id."""

    def init_transactions(self) -> None:
        """As KafkaProducer's."""
        try:
            super().init_transactions()
        except TransactionalIdAuthorizationFailedError:
            raise TransactionalIdAuthorizationFailedError(self.config["transactional_id"]) from None
