"""The topics: what each holds, how it is configured, how it is created, and when a worker must refuse it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, TopicAlreadyExistsError, TopicAuthorizationFailedError

from workers.clients import connect, refused
from workers.errors import WrongTopic
from workers.settings import KafkaSettings

log = logging.getLogger(__name__)

HOUR_MS: Final = 3_600_000
MEGABYTE: Final = 1_000_000

#: Above this a worker splits what it sends about one paper and batch.
SPLIT_BYTES: Final = 512_000


@dataclass(frozen=True)
class Topic:
    """One topic. ``partitions`` None: the number the operator chose for all topics that share it."""

    name: str
    cleanup: str
    max_message_bytes: int
    partitions: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    #: What must be so on the broker, beside cleanup and message size.
    enforced: Mapping[str, str] = field(default_factory=dict)

    def configuration(self) -> dict[str, str]:
        """Everything set on creation."""
        return {
            "cleanup.policy": self.cleanup,
            "max.message.bytes": str(self.max_message_bytes),
            # Times are the producer's: a paper's arrival is carried through all stages.
            "message.timestamp.type": "CreateTime",
            **self.config,
            **self.enforced,
        }


def _deleted_after(hours: int) -> dict[str, str]:
    return {"retention.ms": str(hours * HOUR_MS)}


#: Tombstones stay for a week, so that a reader or a snapshot up to half as old misses none.
_COMPACTED: Final = {"delete.retention.ms": str(7 * 24 * HOUR_MS), "min.compaction.lag.ms": "60000"}

TOPICS: Final[dict[str, Topic]] = {
    topic.name: topic
    for topic in (
        # Stored as they come out of the producer's compression, so that the limit holds for what a worker would unpack: a
        # batch of a few kilobytes may hold gigabytes. Papers are compressed one by one anyway.
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
        # One partition: its offset is the catalog's version, the same order for every reader.
        Topic("catalog", "compact", 2 * MEGABYTE, partitions=1, config=_COMPACTED),
        Topic("links", "compact", 2 * MEGABYTE, config=_COMPACTED),
        Topic("manifests", "compact", 2 * MEGABYTE, config=_COMPACTED),
        # What curators say: few, and for ever.
        Topic("overrides", "compact", 2 * MEGABYTE, config=_COMPACTED),
        # Its days count from the death: of a record that is a year old, nothing would be left tomorrow.
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

#: Topics that a worker pairs partition by partition: the ledger of partition p of outcomes owns partition p of the others.
PAIRED: Final = ("outcomes", "links", "manifests", "overrides")


def partition_of(key: bytes, partitions: int) -> int:
    """The partition of a paper's events in every topic: Kafka's murmur2 of the citing id, as its own clients compute it."""
    from kafka.partitioner.default import murmur2

    return int(murmur2(key) & 0x7FFFFFFF) % partitions


@dataclass(frozen=True)
class Found:
    """A topic as it is on the broker."""

    partitions: int
    config: Mapping[str, str]


class TopicAdmin:
    """Creates, describes and checks topics. Use as a context manager, or ``close``."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.settings = settings
        self.admin = connect(settings, KafkaAdminClient)

    def cluster_id(self) -> str:
        """The broker's cluster, which snapshots name."""
        return str(self.admin.describe_cluster()["cluster_id"])

    def topic_ids(self, names: Iterable[str]) -> dict[str, str | None]:
        """Kafka's own ids of topics (``names`` without prefix), which a topic created anew does not share.

        None where there is none: no such topic, or brokers before 2.8.
        """
        full = {self.settings.topic(name): name for name in names}
        described = self.admin.describe_topics(list(full))
        return {full[each["name"]]: str(each["topic_id"]) if each.get("topic_id") else None for each in described}

    def find(self, names: Iterable[str]) -> dict[str, Found]:
        """Those of ``names`` (without prefix) that exist."""
        full = {self.settings.topic(name): name for name in names}
        described = self.admin.describe_topics(list(full))
        if hidden := sorted(
            each["name"] for each in described if each.get("error_code") == TopicAuthorizationFailedError.errno
        ):
            raise refused(TopicAuthorizationFailedError(set(hidden)), self.settings)
        partitions = {each["name"]: len(each["partitions"]) for each in described if not each.get("error_code")}
        if not partitions:
            return {}
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in partitions]
        configs = next(iter(self.admin.describe_configs(resources, config_filter="all").values()))
        # kafka-python tells a configuration that may not be seen as an empty one.
        if hidden := sorted(name for name in partitions if not configs[name]):
            raise refused(TopicAuthorizationFailedError(f"{', '.join(hidden)} (to see its configuration)"), self.settings)
        return {
            full[name]: Found(count, {key: str(entry["value"]) for key, entry in configs[name].items()})
            for name, count in partitions.items()
        }

    def create(self, partitions: int, replication: int) -> dict[str, str]:
        """Creates what is missing and checks what is there. Returns a line per topic: ``created`` or ``exists``.

        Never changes a topic that exists: partition counts are fixed at creation, since keys would move, and the rest is the
        operator's. Raises WrongTopic when an existing one would break the guarantees.
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
                self.admin.create_topics(missing, wait_for_metadata=True)
            except TopicAlreadyExistsError:
                pass  # another process was faster; the check below judges its work
            except KafkaError as error:
                raise WrongTopic(f"topics cannot be created: {error}") from None
        check(self.settings, self.find(TOPICS), expected_partitions=partitions)
        return {name: "exists" if name in found else "created" for name in TOPICS}

    def check(self, names: Iterable[str]) -> dict[str, Found]:
        """What a worker asks before it starts. Raises WrongTopic."""
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
        """Closes the connection."""
        self.admin.close()

    def __enter__(self) -> TopicAdmin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check(settings: KafkaSettings, found: Mapping[str, Found], *, expected_partitions: int | None = None) -> None:
    """Raises WrongTopic for the first topic that would lose data, reorder the catalog or part what belongs together."""
    for name, topic in found.items():
        wanted, full = TOPICS[name], settings.topic(name)
        partitions = wanted.partitions or expected_partitions
        if partitions is not None and topic.partitions != partitions:
            raise WrongTopic(
                f"topic {full} has {topic.partitions} partitions and {partitions} are wanted: partition counts are fixed at "
                "creation; choose another REFLINK_TOPIC_PREFIX and replay, or keep the old number"
            )
        if topic.config.get("cleanup.policy") != wanted.cleanup:
            raise WrongTopic(
                f"topic {full} has cleanup.policy={topic.config.get('cleanup.policy')} and must have {wanted.cleanup}: "
                "set it on the broker before starting workers"
            )
        if int(topic.config.get("max.message.bytes", 0)) != wanted.max_message_bytes:
            # Larger would be as wrong as smaller: what one topic takes, the dead letters must be able to hold.
            raise WrongTopic(
                f"topic {full} takes messages up to {topic.config.get('max.message.bytes')} bytes and must take "
                f"{wanted.max_message_bytes}: set max.message.bytes on the broker"
            )
        for key, value in wanted.enforced.items():
            if topic.config.get(key) != value:
                raise WrongTopic(
                    f"topic {full} has {key}={topic.config.get(key)} and must have {value}: set it on the broker before "
                    "starting workers"
                )
    paired = {name: found[name].partitions for name in PAIRED if name in found}
    if len(set(paired.values())) > 1:
        raise WrongTopic(f"topics {', '.join(paired)} must have as many partitions as each other and have {paired}")


def short_hash(text: str) -> str:
    """Eight hexadecimal digits, for names of files on disk."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]
