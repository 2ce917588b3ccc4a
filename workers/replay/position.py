"""Where a replay stands: the committed offsets of a consumer group of its own, and what it must remember in their metadata.

So it survives the machine that it ran on, and moves in the transactions in which it sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from reflink.errors import ReflinkError
from workers.clients import REFUSALS, connect, plain_consumer, refused
from workers.errors import BrokerUnreachable
from workers.settings import KafkaSettings

TOPIC: Final = "links"
#: Begins the name of the group, and of the transactional id.
NAME: Final = "replay"
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,100}")
#: A broker keeps 4,096 bytes of metadata by default, and there are other things to remember.
_MOST_SAID: Final = 2500
_CALL_MS: Final = 30_000


class BadReplay(ReflinkError):
    """A replay cannot be begun, gone on with or forgotten; says why."""


@dataclass(frozen=True)
class Part:
    """One partition of ``links``: where the replay began, stands and ends, what it read, and how many it sent."""

    first: int
    position: int
    end: int
    sent: int = 0
    pinned: int = 0
    superseded: int = 0
    unreadable: int = 0

    @property
    def done(self) -> bool:
        """Whether all of it was read."""
        return self.position >= self.end


@dataclass(frozen=True)
class Position:
    """A whole replay. ``began`` and ``at``, when it stood so: milliseconds. ``selected`` of all references, as last counted."""

    digest: str
    said: Mapping[str, Any]
    topic_id: str | None
    began: int
    at: int
    selected: int
    parts: Mapping[int, Part]

    @property
    def done(self) -> bool:
        """Whether all was read, so that nothing is left to send."""
        return all(part.done for part in self.parts.values())

    @property
    def share(self) -> float:
        """Of the offsets between beginning and end, how many are behind it: 0 to 1."""
        total = sum(part.end - part.first for part in self.parts.values())
        left = sum(max(0, part.end - part.position) for part in self.parts.values())
        return 1 - left / total if total else 1.0

    def total(self, what: str) -> int:
        """The sum of a number of its parts."""
        return sum(getattr(part, what) for part in self.parts.values())

    def as_metadata(self, prefix_of_topic: str) -> dict[TopicPartition, OffsetAndMetadata]:
        """What is committed: all partitions each time, so that a broker forgets none of them before the others."""
        whole = {
            "digest": self.digest,
            "said": self.said if len(orjson.dumps(dict(self.said))) <= _MOST_SAID else {},
            "topic_id": self.topic_id,
            "began": self.began,
            "at": self.at,
            "selected": self.selected,
        }
        return {
            TopicPartition(prefix_of_topic, partition): OffsetAndMetadata(
                part.position,
                orjson.dumps(
                    {**{name: value for name, value in vars(part).items() if name != "position"}, **whole}
                    if partition == min(self.parts)
                    else {name: value for name, value in vars(part).items() if name != "position"}
                ).decode(),
                -1,
            )
            for partition, part in self.parts.items()
        }

    @classmethod
    def from_metadata(cls, offsets: Mapping[int, tuple[int, str]]) -> Position:
        """What was committed: offset and metadata by partition. Raises BadReplay."""
        try:
            told = {partition: (offset, orjson.loads(said)) for partition, (offset, said) in offsets.items()}
            whole = told[min(told)][1]
            names = [name for name in Part.__dataclass_fields__ if name != "position"]
            parts = {
                partition: Part(position=offset, **{name: int(said[name]) for name in names})
                for partition, (offset, said) in told.items()
            }
            return cls(
                str(whole["digest"]),
                dict(whole["said"]),
                whole["topic_id"],
                int(whole["began"]),
                int(whole["at"]),
                int(whole["selected"]),
                parts,
            )
        except (ValueError, KeyError, TypeError):
            raise BadReplay(
                "its position is not one that this reflink wrote: go on with the version that did, or --forget it"
            ) from None

    def moved(self, parts: Mapping[int, Part], at: int) -> Position:
        """The same replay further on."""
        return replace(self, parts=dict(parts), at=at)


def group_of(settings: KafkaSettings, name: str) -> str:
    """The consumer group that keeps the position. Raises BadReplay for a name that cannot be part of one."""
    if not _NAME.fullmatch(name):
        raise BadReplay(f"{name!r} is no name of a replay: letters, digits, '.', '_' and '-', at most 100")
    return settings.topic(f"{NAME}-{name}")


def read(settings: KafkaSettings, name: str) -> Position | None:
    """Where the replay of that name stands, None when there is none. Raises BadReplay, BrokerRefused, BrokerUnreachable."""
    topic, kept = settings.topic(TOPIC), dict[int, tuple[int, str]]()
    # A reader of committed records waits until it is known what became of a transaction that was left open.
    consumer: Any = plain_consumer(settings, group_id=group_of(settings, name))
    with _named(settings), closing(consumer):
        for partition in consumer.partitions_for_topic(topic) or ():
            found = consumer.committed(TopicPartition(topic, partition), metadata=True, timeout_ms=_CALL_MS)
            if found is not None and found.offset >= 0:
                kept[partition] = (found.offset, found.metadata)
    return Position.from_metadata(kept) if kept else None


def names(settings: KafkaSettings) -> list[str]:
    """The replays that brokers remember. Raises BrokerRefused or BrokerUnreachable."""
    begins = settings.topic(f"{NAME}-")
    admin: Any = connect(settings, KafkaAdminClient)
    with _named(settings), closing(admin):
        groups: Iterable[Any] = admin.list_groups()
    found = (each["group_id"] for each in groups)
    return sorted(each.removeprefix(begins) for each in found if each.startswith(begins))


def forget(settings: KafkaSettings, name: str) -> None:
    """Deletes the position, so that the replay begins anew. Raises BadReplay when there is none, or it cannot be."""
    group = group_of(settings, name)
    admin: Any = connect(settings, KafkaAdminClient)
    with _named(settings), closing(admin):
        said = admin.delete_groups([group])[group]
    if said == "GroupIdNotFoundError":
        raise BadReplay(f"there is no replay named {name}: `reflink-worker replay --status` lists those that there are")
    if said != "OK":
        raise BadReplay(f"the replay {name} cannot be forgotten: {said}: it needs the right to delete the group {group}")


@contextmanager
def _named(settings: KafkaSettings) -> Iterator[None]:
    """Gives Kafka's faults the names that end a tool."""
    try:
        yield
    except REFUSALS as error:
        raise refused(error, settings) from None
    except KafkaError as error:
        raise BrokerUnreachable(
            f"{settings.kafka_bootstrap_servers}: {type(error).__name__}: {error}: try again when it answers"
        ) from None
