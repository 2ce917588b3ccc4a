"""The position of a replay: the committed offsets of its own consumer group, with its other state in their metadata.

The position therefore outlives the machine that the replay ran on, and advances in the transactions that send the records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from kafka import KafkaAdminClient, TopicPartition
from kafka.structs import OffsetAndMetadata

from reflink.errors import ReflinkError
from workers.config.settings import KafkaSettings
from workers.kafka.clients import connect, plain_consumer
from workers.kafka.errors import broker_errors

TOPIC: Final = "links"
#: Prefix of the group id and of the transactional id.
NAME: Final = "replay"
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,100}")
#: A selection with more bytes of JSON is left out. A broker stores 4,096 bytes by default, and other fields need space too.
_MAX_CRITERIA_BYTES: Final = 2500
_CALL_MS: Final = 30_000
#: Fields of a position in the metadata of the first partition, besides ``said``: the criteria.
_WHOLE: Final = ("digest", "topic_id", "began", "at", "selected")


class BadReplay(ReflinkError):
    """A replay cannot be started, continued or forgotten; the message gives the reason."""


@dataclass(frozen=True)
class Part:
    """The progress in one partition of ``links``.

    ``first``, ``position`` and ``end`` are offsets: where the replay began, where it continues and where it stops. The other
    fields count the references sent, and those passed over for each reason.
    """

    first: int
    position: int
    end: int
    sent: int = 0
    pinned: int = 0
    superseded: int = 0
    unreadable: int = 0

    @property
    def done(self) -> bool:
        """Whether the partition was read to its end."""
        return self.position >= self.end


@dataclass(frozen=True)
class Position:
    """The progress of a whole replay.

    ``digest`` and ``criteria`` describe the selection. ``began`` and ``at`` are the times of its start and of this position, in
    milliseconds since 1970. ``selected`` is the number of selected references at the last count.
    """

    digest: str
    criteria: Mapping[str, Any]
    topic_id: str | None
    began: int
    at: int
    selected: int
    parts: Mapping[int, Part]

    @property
    def done(self) -> bool:
        """Whether all partitions were read to their ends, so that nothing is left to send."""
        return all(part.done for part in self.parts.values())

    @property
    def left(self) -> int:
        """The number of offsets that were not read yet."""
        return sum(max(0, part.end - part.position) for part in self.parts.values())

    @property
    def share(self) -> float:
        """The share of the offsets between start and end that were read: 0 to 1."""
        total = sum(part.end - part.first for part in self.parts.values())
        return 1 - self.left / total if total else 1.0

    def total(self, what: str) -> int:
        """Return the sum of one field of the parts."""
        return sum(getattr(part, what) for part in self.parts.values())

    def as_metadata(self, prefix_of_topic: str) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets and metadata to commit.

        They always include all partitions, so that the committed offset of none expires before the others.
        """
        whole = {name: getattr(self, name) for name in _WHOLE}
        whole["said"] = self.criteria if len(orjson.dumps(dict(self.criteria))) <= _MAX_CRITERIA_BYTES else {}
        committed = {}
        for partition, part in self.parts.items():
            fields = {name: value for name, value in vars(part).items() if name != "position"}
            metadata = orjson.dumps({**fields, **whole} if partition == min(self.parts) else fields).decode()
            committed[TopicPartition(prefix_of_topic, partition)] = OffsetAndMetadata(part.position, metadata, -1)
        return committed

    @classmethod
    def from_metadata(cls, offsets: Mapping[int, tuple[int, str]]) -> Position:
        """Parse a committed position: offset and metadata by partition. Raises BadReplay."""
        try:
            parsed = {partition: (offset, orjson.loads(metadata)) for partition, (offset, metadata) in offsets.items()}
            whole = parsed[min(parsed)][1]
            names = [name for name in Part.__dataclass_fields__ if name != "position"]
            parts = {
                partition: Part(position=offset, **{name: int(fields[name]) for name in names})
                for partition, (offset, fields) in parsed.items()
            }
            began, at, selected = (int(whole[name]) for name in ("began", "at", "selected"))
            return cls(str(whole["digest"]), dict(whole["said"]), whole["topic_id"], began, at, selected, parts)
        except (ValueError, KeyError, TypeError):
            raise BadReplay(
                "this version of reflink cannot read its position: continue with the version that wrote it, or --forget it"
            ) from None

    def moved(self, parts: Mapping[int, Part], at: int) -> Position:
        """Return a copy with these parts, as of the time ``at``."""
        return replace(self, parts=dict(parts), at=at)


def group_of(settings: KafkaSettings, name: str) -> str:
    """Return the id of the consumer group that stores the position. Raises BadReplay for an invalid name."""
    if not _NAME.fullmatch(name):
        raise BadReplay(f"{name!r} is not a name of a replay: at most 100 letters, digits, '.', '_' and '-'")
    return settings.topic(f"{NAME}-{name}")


def read(settings: KafkaSettings, name: str) -> Position | None:
    """Return the position of the replay with this name, or None if there is none.

    Raises BadReplay, BrokerRefused or BrokerUnreachable.
    """
    topic, kept = settings.topic(TOPIC), dict[int, tuple[int, str]]()
    # With read_committed isolation the broker returns stable offsets only, so this waits until an open transaction has ended.
    consumer: Any = plain_consumer(settings, group_id=group_of(settings, name))
    with broker_errors(settings, "try again"), closing(consumer):
        for partition in consumer.partitions_for_topic(topic) or ():
            found = consumer.committed(TopicPartition(topic, partition), metadata=True, timeout_ms=_CALL_MS)
            if found is not None and found.offset >= 0:
                kept[partition] = (found.offset, found.metadata)
    return Position.from_metadata(kept) if kept else None


def names(settings: KafkaSettings) -> list[str]:
    """Return the names of the replays whose positions the brokers store. Raises BrokerRefused or BrokerUnreachable."""
    begins = settings.topic(f"{NAME}-")
    admin: Any = connect(settings, KafkaAdminClient)
    with broker_errors(settings, "try again"), closing(admin):
        groups: Iterable[Any] = admin.list_groups()
    found = (each["group_id"] for each in groups)
    return sorted(each.removeprefix(begins) for each in found if each.startswith(begins))


def forget(settings: KafkaSettings, name: str) -> None:
    """Delete the position, so that the next run starts from the beginning.

    Raises BadReplay if there is none or the broker does not delete it, BrokerRefused or BrokerUnreachable.
    """
    group = group_of(settings, name)
    admin: Any = connect(settings, KafkaAdminClient)
    with broker_errors(settings, "try again"), closing(admin):
        result = admin.delete_groups([group])[group]
    if result == "GroupIdNotFoundError":
        raise BadReplay(f"no replay is named {name}: `reflink-worker replay --status` lists all")
    if result != "OK":
        raise BadReplay(
            f"the position of replay {name} cannot be deleted: {result}: this needs the right to delete the group {group}"
        )
