"""Partition assignment: each topic is distributed evenly over the members, and a stale claim never wins.

kafka-python's assignor, like Java's, counts partitions over all topics together. One linker could then hold all of ``retries``,
which is almost empty, and another all of ``references``. The second would do all the work, and a third would not help.

Invariant: a partition is not assigned to a member while another member of the group may still commit it.

1. A member claims the partitions of its last assignment, with the generation of that assignment (KIP-792). It claims none after
   it has lost its membership: the broker then gives it another member id, or the coordinator forgets its generation.
2. Of several claims to a partition, the claim of the newest generation counts. In one generation a partition has at most one
   owner, so equal claims come from members that send no generation (kafka-python's own assignor). The valid claim is unknown,
   so the partition is assigned to no member in this round: its owner revokes it and joins again.
3. A partition with an owner is assigned to another member only in the round after its owner has revoked it (KIP-429).

Cost: the group leader runs kafka-python's assignor once for each topic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, Final

from kafka import ConsumerGroupMetadata, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

#: Arguments: the membership, its partitions, and whether the member was in the group without a gap since its last assignment.
OnAssignment = Callable[[ConsumerGroupMetadata, Iterable[TopicPartition], bool], object]

_NO_MEMBER: Final = ConsumerGroupMetadata("", -1, "", None)


class EvenByTopicAssignor(CooperativeStickyAssignor):  # type: ignore[misc]
    """The cooperative sticky assignor, applied to each topic separately.

    Its name in the protocol is unchanged, so members with either assignor can share a group during an upgrade.
    ``membership`` returns the consumer's current member id and generation.
    """

    #: Version of the subscription: the first that has a generation.
    version = 2

    def __init__(self, membership: Callable[[], ConsumerGroupMetadata] = lambda: _NO_MEMBER) -> None:
        super().__init__()
        self._membership = membership
        self._held: ConsumerGroupMetadata | None = None
        self.member_assignment: list[TopicPartition] | None = None
        #: Called with each assignment, before the consumer's listener. kafka-python does not call the listener for partitions
        #: that a member lost between JoinGroup and SyncGroup and received again (Java's KAFKA-12983).
        self.assigned: OnAssignment = lambda *_: None

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """Return the member's subscription for JoinGroup: topics, claimed partitions, and the generation that assigned them."""
        now, held = self._membership(), self._held
        if held is not None and (now.member_id != held.member_id or now.generation_id < 0):
            self._held = held = self.member_assignment = None
        claimed: dict[str, list[int]] = defaultdict(list)
        for each in self.member_assignment or ():
            claimed[each.topic].append(each.partition)
        return ConsumerProtocolSubscription(
            version=self.version,
            topics=sorted(topics),
            user_data=b"",
            owned_partitions=[
                ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=sorted(partitions))
                for topic, partitions in claimed.items()
            ],
            generation_id=-1 if held is None else held.generation_id,
        )

    def on_assignment(self, assignment: Any, generation: int) -> None:
        """Store the assignment and its generation, and report both to ``assigned``."""
        super().on_assignment(assignment, generation)
        continued = self._held is not None
        self._held = self._membership()._replace(generation_id=generation)
        self.assigned(self._held, self.member_assignment or (), continued)

    def assign(self, cluster: Any, members: Sequence[Any]) -> dict[str, Any]:
        """Return the assignment of every member, by member id. Partitions that move are assigned in the next round."""
        owners, contested = _owners(members)
        whole: dict[str, Any] = {}
        for topic in sorted({topic for member in members for topic in member.metadata.topics}):
            for member_id, part in super().assign(cluster, _about(topic, members, owners)).items():
                part.assigned_partitions = [
                    (name, [each for each in partitions if TopicPartition(name, each) not in contested])
                    for name, partitions in part.assigned_partitions
                ]
                if member_id in whole:
                    whole[member_id].assigned_partitions += part.assigned_partitions
                else:
                    whole[member_id] = part
        return whole


def _claims(member: Any) -> Iterable[TopicPartition]:
    for each in member.metadata.owned_partitions or ():
        for partition in each.partitions:
            yield TopicPartition(each.topic, partition)


def _owners(members: Iterable[Any]) -> tuple[dict[TopicPartition, str], set[TopicPartition]]:
    """Return the member with the valid claim to each partition, and the partitions whose owner is unknown."""
    newest: dict[TopicPartition, tuple[int, str]] = {}
    contested: set[TopicPartition] = set()
    for member in members:
        generation = member.metadata.generation_id
        for partition in _claims(member):
            known = newest.get(partition)
            if known is None or generation > known[0]:
                newest[partition] = generation, member.member_id
                contested.discard(partition)
            elif generation == known[0]:
                contested.add(partition)
    return {partition: owner for partition, (_, owner) in newest.items() if partition not in contested}, contested


def _about(topic: str, members: Iterable[Any], owners: dict[TopicPartition, str]) -> list[Any]:
    """Return the members with subscriptions reduced to this topic, or to none, and with their valid claims only."""
    narrowed = []
    for member in members:
        one, metadata = copy(member), copy(member.metadata)
        held = [each.partition for each in _claims(member) if each.topic == topic and owners.get(each) == member.member_id]
        metadata.topics = [each for each in metadata.topics if each == topic]
        metadata.owned_partitions = [ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=held)] if held else []
        one.metadata = metadata
        narrowed.append(one)
    return narrowed
