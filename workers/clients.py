"""Kafka clients, configured once for the guarantee the design gives."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import (
    AuthorizationError,
    ClusterAuthorizationFailedError,
    CorruptRecordError,
    GroupAuthorizationFailedError,
    InvalidProducerEpochError,
    KafkaError,
    ProducerFencedError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedCodecError,
    UnsupportedVersionError,
)
from kafka.net.compat import KafkaNetClient

from workers.assignment import EvenByTopicAssignor
from workers.errors import BrokerRefused, BrokerUnreachable, Stalled
from workers.knocking import about_login
from workers.probing import await_broker, try_brokers
from workers.settings import KafkaSettings, WorkerSettings
from workers.stage import Received

T = TypeVar("T")
log = logging.getLogger(__name__)

MAX_REQUEST_BYTES: Final = 10_000_000
#: A broker that is back is found within this, not within kafka-python's 30 s.
_RECONNECT_MS: Final = 1000
#: A broker has just let us in, so little is left to wait for.
_LEAST_BOOTSTRAP_S: Final = 5.0
#: Without any connection, how often a consumer asks why, and how long for one answer.
_ASK_EVERY_S: Final = 3.0
_ASK_S: Final = 2.0

_PROTECTED: Final[dict[type[KafkaError], str]] = {
    TopicAuthorizationFailedError: "the topic",
    GroupAuthorizationFailedError: "the group",
    TransactionalIdAuthorizationFailedError: "the transactional id",
    ClusterAuthorizationFailedError: "the cluster",
}
#: No retry mends these: the operator must.
REFUSALS: Final = (AuthorizationError, SaslAuthenticationFailedError, UnsupportedVersionError)
_FENCED: Final = (ProducerFencedError, InvalidProducerEpochError)
#: A batch that cannot be read. kafka-python's consumer turns in a circle if it is asked again.
UNREADABLE: Final = (CorruptRecordError, UnsupportedCodecError)


def fenced(error: BaseException) -> bool:
    """Whether another process has taken the transactional id over.

    Of later calls kafka-python says that with another error, with the first one or its text in it.
    """
    return isinstance(error, _FENCED) or any(
        isinstance(each, _FENCED) or (isinstance(each, str) and any(kind.__name__ in each for kind in _FENCED))
        for each in error.args
    )


def unreadable(error: KafkaError) -> Stalled:
    """The worker ends, so that it is read anew; if that does not help, the operator must."""
    return Stalled(
        f"{type(error).__name__}: {error}: the process ends so that it is read anew; if it stays so, restore the partition "
        "from another replica, or delete its records up to beyond the batch and send them again"
    )


def refused(error: KafkaError, settings: KafkaSettings) -> BrokerRefused:
    """The refusal in one line: the brokers, the user, what they said, what to do."""
    user = f" as {settings.kafka_sasl_username}" if settings.kafka_sasl_username else ""
    said = " ".join(str(error).split())
    if isinstance(error, AuthorizationError):
        named = error.args[0] if error.args else None
        names = ", ".join(sorted(named)) if isinstance(named, set | frozenset) else str(named or "")
        said = f"no right to {_PROTECTED.get(type(error), 'do that')} {names}".rstrip()
        said += ": `reflink-worker acls` lists what each worker and tool needs, and gives it"
    elif isinstance(error, SaslAuthenticationFailedError):
        said = about_login(settings, said.rpartition("Error: ")[2])
    return BrokerRefused(f"{settings.kafka_bootstrap_servers}{user} ({settings.kafka_security_protocol}): {said}")


def group_consumer(settings: WorkerSettings, group: str) -> KafkaConsumer:
    """A member of a worker's group: reads committed records, commits nothing by itself, rebalances cooperatively."""
    return connect(
        settings,
        partial(GroupConsumer, settings),
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
        # A leader that joins before it has heard of a topic that is new assigns nothing of it until it asks again.
        metadata_max_age_ms=15_000,
        fetch_max_wait_ms=250,
        max_partition_fetch_bytes=4_000_000,
    )


def plain_consumer(settings: KafkaSettings, **more: Any) -> KafkaConsumer:
    """A reader outside any group, of partitions assigned by hand, that sees committed records only."""
    return connect(
        settings,
        ResumingConsumer,
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
    """Any of kafka-python's clients, connected. Raises BrokerRefused, or BrokerUnreachable when no broker answers in time."""
    began = time.monotonic()
    await_broker(settings, settings.kafka_connect_timeout_s)
    rest = max(_LEAST_BOOTSTRAP_S, settings.kafka_connect_timeout_s - (time.monotonic() - began))
    try:
        with _network() as network:
            return client(
                **settings.kafka_client(),
                kafka_client=network,
                reconnect_backoff_max_ms=_RECONNECT_MS,
                bootstrap_timeout_ms=int(rest * 1000),
                **config,
            )
    except REFUSALS as error:
        raise refused(error, settings) from None
    except (KafkaError, OSError) as error:
        raise BrokerUnreachable(
            f"no broker answers at {settings.kafka_bootstrap_servers} ({settings.kafka_security_protocol}): "
            f"{type(error).__name__}: {error}; check REFLINK_KAFKA_BOOTSTRAP_SERVERS"
        ) from None


@contextmanager
def _network() -> Iterator[Callable[..., KafkaNetClient]]:
    """What makes a client's connections, and ends them when making the client fails: its thread would try for ever."""
    made: list[KafkaNetClient] = []

    def make(**options: Any) -> KafkaNetClient:
        made.append(KafkaNetClient(**options))
        return made[-1]

    try:
        yield make
    except BaseException:
        for each in made:
            each.close()
        raise


def received(topic: str, record: Any) -> Received:
    """A consumer's record as stages know it; ``topic`` without prefix."""
    headers = tuple((name, value or b"") for name, value in record.headers)
    return Received(topic, record.partition, record.offset, record.key, record.value, headers, record.timestamp)


def asked(settings: KafkaSettings, ask: Callable[[], T], again: str) -> T:
    """What the broker answers a tool. Raises BrokerRefused, or BrokerUnreachable that says to do it ``again``."""
    try:
        return ask()
    except REFUSALS as error:
        raise refused(error, settings) from None
    except UNREADABLE as error:
        raise unreadable(error) from None
    except KafkaError as error:
        raise BrokerUnreachable(
            f"{settings.kafka_bootstrap_servers}: {type(error).__name__}: {error}: {again} when it answers"
        ) from None


class ResumingConsumer(KafkaConsumer):  # type: ignore[misc]
    """A consumer whose paused partitions go on when they are resumed.

    kafka-python 3.0.12 sets aside what it holds of a partition that is paused, and takes it up again only while it holds no
    other partition's records; of one that was read to its last record it still holds the empty rest, for ever if nothing more
    comes. What was set aside then never came, and the partition was not fetched either.
    """

    def poll(self, *arguments: Any, **more: Any) -> Any:
        """As KafkaConsumer's."""
        in_hand = self._fetcher._next_partition_records
        if in_hand is not None and not in_hand:
            self._fetcher._next_partition_records = None
        return super().poll(*arguments, **more)


class GroupConsumer(ResumingConsumer):
    """A consumer that finds out why it has lost its brokers; kafka-python tries again forever and says nothing.

    So credentials or certificates that are refused only later (they expired, or were taken away) end the worker too.
    """

    def __init__(self, settings: KafkaSettings, **config: Any) -> None:
        self._settings = settings
        self._ask_at = time.monotonic() + _ASK_EVERY_S
        super().__init__(**config)

    def poll(self, *arguments: Any, **more: Any) -> Any:
        """As KafkaConsumer's. Raises BrokerRefused, within seconds, when no broker lets us in any more."""
        now = time.monotonic()
        if any(connection.connected for connection in list(self._manager._conns.values())):
            self._ask_at = now + _ASK_EVERY_S
        elif now >= self._ask_at:
            try_brokers(self._settings, _ASK_S)
            self._ask_at = time.monotonic() + _ASK_EVERY_S
        return super().poll(*arguments, **more)


class SlotProducer(KafkaProducer):  # type: ignore[misc]
    """A transactional producer that names its transactional id when the broker does not let it have that."""

    def init_transactions(self) -> None:
        """As KafkaProducer's."""
        try:
            super().init_transactions()
        except TransactionalIdAuthorizationFailedError:
            raise TransactionalIdAuthorizationFailedError(self.config["transactional_id"]) from None
