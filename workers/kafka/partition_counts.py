"""Partition counts in the metadata of committed offsets, which reveal added partitions even after all disks are lost.

Additional partitions move keys: later events of a paper go to another partition than its earlier ones, and the ledger of that
partition does not know them. Each worker therefore writes the partition counts of all its topics into the metadata of the
offsets that it commits. It adds the topics' ids, because a recreated topic may have another count.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final

import orjson
from kafka import TopicPartition
from kafka.errors import GroupAuthorizationFailedError, KafkaError

from workers.config.settings import KafkaSettings
from workers.errors import BrokerUnreachable, WrongTopic
from workers.kafka.errors import broker_errors
from workers.kafka.topics import TOPICS, Found, TopicAdmin

#: By topic (without prefix), the number of partitions and the first characters of its id.
Counts = Mapping[str, tuple[int, str]]

_FIELD: Final = "partitions"
#: Number of characters of an id, enough to distinguish two topics of the same name.
_ID_CHARS: Final = 8
_RETRY_S: Final = 0.2


def counts(found: Mapping[str, Found]) -> Counts:
    """Return the counts of the topics in ``found``."""
    return {name: (topic.partitions, (topic.topic_id or "")[:_ID_CHARS]) for name, topic in sorted(found.items())}


def written(counted: Counts) -> str:
    """Return the counts as metadata of an offset."""
    return orjson.dumps({_FIELD: counted}).decode()


def read(metadata: str | None) -> Counts:
    """Return the counts in the metadata of an offset; empty if this module did not write it."""
    try:
        return {
            str(name): (int(count), str(topic_id)) for name, (count, topic_id) in orjson.loads(metadata or "")[_FIELD].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def committed(settings: KafkaSettings, group: str, places: Iterable[TopicPartition]) -> list[Counts]:
    """Return the counts committed with the offsets of ``group`` (full name). Raises BrokerRefused and BrokerUnreachable.

    Each attempt has a client of its own: kafka-python's keeps the coordinator of a group after it has moved.
    """
    until = time.monotonic() + settings.kafka_connect_timeout_s
    while True:
        try:
            with TopicAdmin(settings) as admin, broker_errors(settings):
                try:
                    found = admin.admin.list_group_offsets({group: list(places)})[group]
                except GroupAuthorizationFailedError:  # kafka-python's own text does not name the group alone
                    raise GroupAuthorizationFailedError(group) from None
            return [counts_read for each in found.values() if (counts_read := read(each.metadata))]
        except KafkaError as error:  # the coordinator is moving, or does not exist yet
            if time.monotonic() > until:
                raise BrokerUnreachable(
                    f"the offsets of group {group} cannot be read: {type(error).__name__}: {error}"
                ) from None
            time.sleep(_RETRY_S)


def refuse_growth(settings: KafkaSettings, before: Counts, now: Counts) -> None:
    """Raise WrongTopic for the first topic whose number of partitions has changed, unless the topic was recreated."""
    for name in sorted(before.keys() & now.keys()):
        (had, old_id), (has, new_id) = before[name], now[name]
        if has == had or (old_id and new_id and old_id != new_id):
            continue
        remedy = "choose another REFLINK_TOPIC_PREFIX and publish the papers again"
        if TOPICS[name].cleanup == "delete":
            remedy += f", or, when every group has read it to its end, delete it and create it with {had} partitions"
        raise WrongTopic(
            f"topic {settings.topic(name)} has {has} partitions and had {had}: keys have moved to other partitions, and "
            f"Kafka cannot remove partitions: {remedy} (docs/operations.md, upgrades)"
        )
