"""The topics: their configuration, their creation, and the checks by which a worker refuses a topic."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, TopicAlreadyExistsError, TopicAuthorizationFailedError

from workers.config.settings import KafkaSettings
from workers.errors import WrongTopic
from workers.kafka.clients import connect
from workers.kafka.errors import broker_errors, refused

log = logging.getLogger(__name__)

HOUR_MS: Final = 3_600_000
MEGABYTE: Final = 1_000_000

#: A worker splits its records about one paper and batch above this size.
SPLIT_BYTES: Final = 512_000
#: Maximum time until all new partitions have leaders.
_CREATION_MS: Final = 60_000
_AGAIN: Final = "try again"


@dataclass(frozen=True)
class Topic:
    """One topic. ``partitions`` is None if the topic has the common number that the operator chooses."""

    name: str
    cleanup: str
    max_message_bytes: int
    partitions: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    #: Configuration that the broker must have exactly, in addition to cleanup policy and message size.
    enforced: Mapping[str, str] = field(default_factory=dict)
    #: Minimum values of numeric configuration on the broker.
    at_least: Mapping[str, int] = field(default_factory=dict)

    def configuration(self) -> dict[str, str]:
        """Return the configuration with which to create the topic."""
        return {
            "cleanup.policy": self.cleanup,
            "max.message.bytes": str(self.max_message_bytes),
            # Timestamps come from the producer, so that all stages carry a paper's time of arrival.
            "message.timestamp.type": "CreateTime",
            **self.config,
            **self.enforced,
            **{key: str(value) for key, value in self.at_least.items()},
        }


def _deleted_after(hours: int) -> dict[str, str]:
    return {"retention.ms": str(hours * HOUR_MS)}


#: Minimum time for which topics keep tombstones: a week. A store, log of changes or snapshot is valid for half of that, so that
#: it is brought up to date before the topic loses a tombstone that it lacks.
TOMBSTONES_MS: Final = 7 * 24 * HOUR_MS
TRUSTED_S: Final = TOMBSTONES_MS / 2000
_KEPT: Final = {"delete.retention.ms": TOMBSTONES_MS}
_COMPACTED: Final = {"min.compaction.lag.ms": "60000"}

TOPICS: Final[dict[str, Topic]] = {
    topic.name: topic
    for topic in (
        # Stored without batch compression, so that the message limit applies to the size that a worker decompresses: a
        # compressed batch of a few kilobytes may hold gigabytes. Papers are compressed one by one anyway.
        Topic(
            "papers",
            "delete",
            8 * MEGABYTE,
            config=_deleted_after(14 * 24),
            enforced={"compression.type": "uncompressed"},
        ),
        Topic("references", "delete", 2 * MEGABYTE, config=_deleted_after(7 * 24)),
        Topic("retries", "delete", 2 * MEGABYTE, config=_deleted_after(7 * 24)),
        Topic("fallback", "delete", 2 * MEGABYTE, config=_deleted_after(7 * 24)),
        Topic("outcomes", "delete", 2 * MEGABYTE, config=_deleted_after(7 * 24)),
        # One partition, so that every reader sees the same order and the offset is the catalog's version.
        Topic("catalog", "compact", 2 * MEGABYTE, partitions=1, config=_COMPACTED, at_least=_KEPT),
        Topic("links", "compact", 2 * MEGABYTE, config=_COMPACTED, at_least=_KEPT),
        Topic("contexts", "compact", 2 * MEGABYTE, config=_COMPACTED, at_least=_KEPT),
        Topic("manifests", "compact", 2 * MEGABYTE, config=_COMPACTED, at_least=_KEPT),
        # Decisions of curators: few records, kept for ever.
        Topic("overrides", "compact", 2 * MEGABYTE, config=_COMPACTED, at_least=_KEPT),
        # A few records: what each ledger has seen of absent works, and the shares in use.
        Topic("absence", "compact", 2 * MEGABYTE, partitions=1, config=_COMPACTED, at_least=_KEPT),
        # Retention counts from the time of the dead letter; by the record's own time an old record would expire at once.
        Topic(
            "dead-letters",
            "delete",
            9 * MEGABYTE,
            partitions=1,
            config=_deleted_after(30 * 24),
            enforced={"message.timestamp.type": "LogAppendTime"},
        ),
    )
}

#: Topics with equal partitioning: the ledger that owns partition p of outcomes owns partition p of the others.
PAIRED: Final = ("outcomes", "links", "manifests", "overrides")


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a paper's events in every topic: murmur2 of the citing id, as in Kafka's own clients."""
    from kafka.partitioner.default import murmur2

    return int(murmur2(key) & 0x7FFFFFFF) % partitions


@dataclass(frozen=True)
class Found:
    """The current state of a topic on the broker."""

    partitions: int
    config: Mapping[str, str]
    #: Kafka's id of the topic; None from brokers before 2.8.
    topic_id: str | None = None


class TopicAdmin:
    """Creates, describes and checks topics. Use as a context manager, or call ``close``.

    Its requests raise BrokerRefused, or BrokerUnreachable if the broker stops responding.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self.settings = settings
        self.admin = connect(settings, KafkaAdminClient)

    def cluster_id(self) -> str:
        """Return the id of the broker's cluster, to which snapshots are bound."""
        with broker_errors(self.settings, _AGAIN):
            return str(self.admin.describe_cluster()["cluster_id"])

    def topic_ids(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return Kafka's ids of topics, by ``names`` without prefix. A recreated topic has another id.

        None if the topic does not exist or the broker is older than 2.8.
        """
        full = {self.settings.topic(name): name for name in names}
        with broker_errors(self.settings, _AGAIN):
            described = self.admin.describe_topics(list(full))
        return {full[each["name"]]: str(each["topic_id"]) if each.get("topic_id") else None for each in described}

    def find(self, names: Iterable[str]) -> dict[str, Found]:
        """Return the existing topics among ``names`` (without prefix). Raises BrokerRefused without the right to see one."""
        full = {self.settings.topic(name): name for name in names}
        with broker_errors(self.settings, _AGAIN):
            described = self.admin.describe_topics(list(full))
        if hidden := sorted(
            each["name"] for each in described if each.get("error_code") == TopicAuthorizationFailedError.errno
        ):
            raise refused(TopicAuthorizationFailedError(set(hidden)), self.settings)
        partitions = {each["name"]: len(each["partitions"]) for each in described if not each.get("error_code")}
        ids = {each["name"]: str(each["topic_id"]) if each.get("topic_id") else None for each in described}
        if not partitions:
            return {}
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in partitions]
        with broker_errors(self.settings, _AGAIN):
            configs = next(iter(self.admin.describe_configs(resources, config_filter="all").values()))
        # kafka-python returns an empty configuration without the right to read it.
        if hidden := sorted(name for name in partitions if not configs[name]):
            raise refused(TopicAuthorizationFailedError(f"{', '.join(hidden)} (to see its configuration)"), self.settings)
        return {
            full[name]: Found(count, {key: str(entry["value"]) for key, entry in configs[name].items()}, ids[name])
            for name, count in partitions.items()
        }

    def create(self, partitions: int, replication: int) -> dict[str, str]:
        """Create missing topics and check existing ones. Return by topic ``created`` or ``exists``.

        Existing topics are never changed: another partition count would move keys, and the operator controls the rest. Raises
        WrongTopic if creation fails or an existing topic would break the guarantees.
        """
        found = self.find(TOPICS)
        missing = {
            self.settings.topic(topic.name): {
                "num_partitions": topic.partitions or partitions,
                "replication_factor": replication,
                "configs": topic.configuration(),
            }
            for topic in TOPICS.values()
            if topic.name not in found
        }
        if missing:
            try:
                self.admin.create_topics(missing)
                self.admin.wait_for_topics(list(missing), timeout_ms=_CREATION_MS)
            except TopicAlreadyExistsError:
                pass  # another process created a topic first; the check below covers it
            except KafkaError as error:
                raise WrongTopic(f"topics cannot be created: {error}") from None
        check(self.settings, self.find(TOPICS), expected_partitions=partitions)
        return {name: "exists" if name in found else "created" for name in TOPICS}

    def check(self, names: Iterable[str]) -> dict[str, Found]:
        """Return the topics after checking them, as a worker does before it starts. Raises WrongTopic."""
        names = tuple(names)
        found = self.find(names)
        for name in names:
            if name not in found:
                raise WrongTopic(
                    f"topic {self.settings.topic(name)} does not exist: create the topics with `reflink-worker topics`"
                )
        check(self.settings, found)
        return found

    def close(self) -> None:
        """Close the connection."""
        self.admin.close()

    def __enter__(self) -> TopicAdmin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check(settings: KafkaSettings, found: Mapping[str, Found], *, expected_partitions: int | None = None) -> None:
    """Raise WrongTopic for the first topic that would lose data, reorder the catalog or break the equal partitioning."""
    for name, topic in found.items():
        wanted, full = TOPICS[name], settings.topic(name)
        partitions = wanted.partitions or expected_partitions
        if partitions is not None and topic.partitions != partitions:
            raise WrongTopic(
                f"topic {full} has {topic.partitions} partitions instead of {partitions}: partition counts are fixed at "
                "creation; choose another REFLINK_TOPIC_PREFIX and replay, or keep the present number"
            )
        # A larger message limit is wrong too: the dead letters must be able to hold every record of any topic.
        exact = {"cleanup.policy": wanted.cleanup, "max.message.bytes": str(wanted.max_message_bytes), **wanted.enforced}
        for key, value in exact.items():
            if topic.config.get(key) != value:
                raise WrongTopic(
                    f"topic {full} has {key}={topic.config.get(key)} and must have {value}: set it on the broker before "
                    "starting workers"
                )
        for key, minimum in wanted.at_least.items():
            if int(topic.config.get(key, 0)) < minimum:
                raise WrongTopic(
                    f"topic {full} has {key}={topic.config.get(key)} and must have at least {minimum}: stores and "
                    "snapshots are valid for half of that time; set it on the broker before starting workers"
                )
    paired = {name: found[name].partitions for name in PAIRED if name in found}
    if len(set(paired.values())) > 1:
        raise WrongTopic(f"topics {', '.join(paired)} must have the same number of partitions and have {paired}")


def short_hash(text: str) -> str:
    """Return eight hexadecimal digits of the text's SHA-256, for file names."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]
