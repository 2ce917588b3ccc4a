"""The catalog topic from which an index is made."""

from __future__ import annotations

from typing import NamedTuple

from workers.config.settings import KafkaSettings
from workers.kafka.topics import TopicAdmin


class Origin(NamedTuple):
    """A topic, by the id of its cluster, its name, and its id, which differs after it was deleted and created again."""

    cluster: str
    topic: str
    topic_id: str | None


def origin_of(settings: KafkaSettings) -> Origin:
    """Return the present catalog topic. Raises BrokerUnreachable and BrokerRefused."""
    with TopicAdmin(settings) as admin:
        return Origin(admin.cluster_id(), settings.topic("catalog"), admin.topic_ids(["catalog"])["catalog"])
