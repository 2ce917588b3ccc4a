"""Which member of a group gets which partitions: each topic is shared out evenly by itself.

kafka-python's assignor, like Java's, counts partitions over all topics. A linker could so hold all of ``retries``, where next
to nothing happens, while another held all of ``references``: the second did all the work, and a third would not have helped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor


class EvenByTopicAssignor(CooperativeStickyAssignor):  # type: ignore[misc]
    """The cooperative sticky assignor, applied to one topic after the other.

    Its name on the wire is the same, so that workers of both kinds can be in a group while it is upgraded.
    """

    def assign(self, cluster: Any, members: Sequence[Any]) -> dict[str, Any]:
        """Member id to assignment, of every member. Partitions that move are given out in the next round, as ever."""
        whole: dict[str, Any] = {}
        for topic in sorted({topic for member in members for topic in member.metadata.topics}):
            for member_id, part in super().assign(cluster, _about(topic, members)).items():
                if member_id in whole:
                    whole[member_id].assigned_partitions += part.assigned_partitions
                else:
                    whole[member_id] = part
        return whole


def _about(topic: str, members: Iterable[Any]) -> list[Any]:
    """The members as if they had subscribed to this topic alone, or to nothing."""
    narrowed = []
    for member in members:
        one, metadata = copy(member), copy(member.metadata)
        metadata.topics = [each for each in metadata.topics if each == topic]
        metadata.owned_partitions = [each for each in metadata.owned_partitions or () if each.topic == topic]
        one.metadata = metadata
        narrowed.append(one)
    return narrowed
