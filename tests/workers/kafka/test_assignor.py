"""Partition assignment: each topic is distributed evenly when members join or leave, and partitions move only if necessary."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from kafka import ConsumerGroupMetadata, TopicPartition
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from workers.kafka.assignor import EvenByTopicAssignor

TOPICS = {"references": 6, "retries": 6, "catalog": 1}
Owned = dict[str, dict[str, list[int]]]  # member -> topic -> partitions


def cluster() -> Any:
    return SimpleNamespace(partitions_for_topic=lambda topic: set(range(TOPICS[topic])), topics=lambda *_: set(TOPICS))


def member(name: str, owned: dict[str, list[int]], generation: int | None = None) -> Any:
    """Return a member as the assignor gets it. Without a generation it uses kafka-python's own assignor."""
    place = ConsumerProtocolSubscription.TopicPartition
    metadata = ConsumerProtocolSubscription(
        version=1 if generation is None else 2,
        topics=sorted(TOPICS),
        user_data=b"",
        owned_partitions=[place(topic=topic, partitions=held) for topic, held in owned.items()],
        generation_id=-1 if generation is None else generation,
    )
    return SimpleNamespace(member_id=name, group_instance_id=None, metadata=metadata)


def settled(owned: Owned) -> Owned:
    """Run rounds of the cooperative protocol until no partition moves. Return the assignment."""
    for _ in range(4):
        members = [member(name, held) for name, held in owned.items()]
        given_out = EvenByTopicAssignor().assign(cluster(), members)
        now: Owned = {
            name: {topic: sorted(parts) for topic, parts in assignment.assigned_partitions if parts}
            for name, assignment in given_out.items()
        }
        held = [(topic, part) for each in now.values() for topic, parts in each.items() for part in parts]
        assert len(held) == len(set(held)), "a partition was given out twice"
        if now == owned:
            return now
        owned = now
    raise AssertionError("the assignment does not settle")


def assert_even(owned: Owned) -> None:
    for topic, count in TOPICS.items():
        shares = [len(each.get(topic, [])) for each in owned.values()]
        assert sum(shares) == count
        assert max(shares) - min(shares) <= 1, (topic, shares)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=8))
def test_the_assignment_is_even_when_members_join_and_leave(changes: list[tuple[bool, int]]):
    owned: Owned = {"m0": {}}
    for comes, number in changes:
        name = f"m{number}"
        if comes:
            owned = {**owned, name: owned.get(name, {})}
        elif len(owned) > 1:
            owned = {each: held for each, held in owned.items() if each != name}
        owned = settled(owned)
        assert_even(owned)


def test_an_even_assignment_does_not_change():
    both = settled({"a": {}, "b": {}})
    assert settled(both) == both
    alone = settled({"a": both["a"]})
    assert all(set(both["a"][topic]) <= set(alone["a"][topic]) for topic in both["a"])


# Claims of returning members


def references_of(members: list[Any]) -> dict[str, list[int]]:
    given_out = EvenByTopicAssignor().assign(cluster(), members)
    return {
        name: sorted(part for topic, parts in each.assigned_partitions if topic == "references" for part in parts)
        for name, each in given_out.items()
    }


@pytest.mark.parametrize("order", [("returning", "owner"), ("owner", "returning")])
def test_a_stale_claim_is_ignored(order: tuple[str, str]):
    members = {
        "owner": member("owner", {"references": [0, 1, 2, 3, 4, 5]}, 8),
        "returning": member("returning", {"references": [0, 1, 2]}, 7),
    }
    shares = references_of([members[name] for name in order])
    assert set(shares["owner"]) <= {0, 1, 2, 3, 4, 5}
    assert shares["returning"] == [], "the owner has not revoked them yet"


@pytest.mark.parametrize("order", [("returning", "owner"), ("owner", "returning")])
def test_without_generations_a_partition_with_two_claims_is_not_assigned(order: tuple[str, str]):
    members = {"owner": {"references": [0, 1, 2, 3, 4, 5]}, "returning": {"references": [0, 1, 2]}}
    shares = references_of([member(name, members[name]) for name in order])
    assert shares["returning"] == []
    assert set(shares["owner"]) <= {3, 4, 5}, "it revokes the contested ones, and the next round assigns them"


def test_a_member_that_lost_its_membership_claims_nothing():
    now = [ConsumerGroupMetadata("group", 3, "former", None)]
    assignor = EvenByTopicAssignor(lambda: now[0])
    changes_seen: list[tuple[ConsumerGroupMetadata, bool]] = []
    assignor.assigned = lambda membership, _, continued: changes_seen.append((membership, continued))
    assignment = SimpleNamespace(partitions=lambda: [TopicPartition("references", 1)])
    assignor.on_assignment(assignment, 3)
    claim = assignor.metadata({"references"})
    assert [(each.topic, each.partitions) for each in claim.owned_partitions] == [("references", [1])]
    assert claim.generation_id == 3
    assignor.on_assignment(assignment, 4)
    for lost in (now[0]._replace(generation_id=-1), now[0]._replace(member_id="new", generation_id=-1)):
        now[0] = lost
        claim = assignor.metadata({"references"})
        assert (claim.owned_partitions, claim.generation_id) == ([], -1)
        assignor.on_assignment(assignment, 6)
    assert [(each.member_id, each.generation_id, continued) for each, continued in changes_seen] == [
        ("former", 3, False),
        ("former", 4, True),
        ("former", 6, False),
        ("new", 6, False),
    ]


names = st.sampled_from(["a", "b", "c"])


class Member:
    """A client: its assignor, the membership that kafka-python's coordinator keeps, and the partitions it may still commit."""

    def __init__(self) -> None:
        self.now = ConsumerGroupMetadata("group", -1, "", None)
        self.assignor = EvenByTopicAssignor(lambda: self.now)
        self.assignor.assigned = self._assigned
        #: The assigned partitions, and the member id (``committing``) that may commit them.
        self.holds: set[TopicPartition] = set()
        self.committing = ""

    def _assigned(self, membership: ConsumerGroupMetadata, partitions: Any, continued: bool) -> None:
        self.holds, self.committing = set(partitions), membership.member_id


class Protocol(RuleBasedStateMachine):
    """No partition is assigned to a member while another member may still commit it.

    The group runs rounds in which members are removed, return and miss assignments.
    """

    def __init__(self) -> None:
        super().__init__()
        self.members = {name: Member() for name in "abc"}
        #: The member ids that the broker knows, by client.
        self.known: dict[str, str] = {}
        self.generation = self.ids = 0

    @initialize(first=names)
    def begin(self, first: str) -> None:
        self.round([first], set())

    @rule(name=names)
    def remove(self, name: str) -> None:
        """Remove the member at the broker. Its client does not know it yet, and continues as before."""
        self.known.pop(name, None)

    @precondition(lambda self: self.generation)
    @rule(joining=st.permutations("abc"), count=st.integers(0, 3), missed=st.sets(names), forgets=st.booleans())
    def rebalance(self, joining: list[str], count: int, missed: set[str], forgets: bool) -> None:
        """Let the members that the broker knows and up to ``count`` others join; ``missed`` do not receive their assignment.

        With ``forgets`` a removed client loses only its generation, otherwise its member id too. In kafka-python this depends
        on the error that it received.
        """
        others = [name for name in joining if name not in self.known][:count]
        for name in others:
            client = self.members[name]
            client.now = client.now._replace(generation_id=-1, member_id=client.now.member_id if forgets else "")
        self.round([name for name in joining if name in self.known or name in others], missed)

    def round(self, joining: list[str], missed: set[str]) -> None:
        for name in joining:
            if name not in self.known:
                self.ids += 1
                self.known[name] = f"{name}-{self.ids}"
                client = self.members[name]
                client.now = client.now._replace(member_id=self.known[name])
        requests = [
            SimpleNamespace(
                member_id=self.known[name],
                group_instance_id=None,
                metadata=ConsumerProtocolSubscription.decode(self.members[name].assignor.metadata(TOPICS).encode()),
            )
            for name in joining
        ]
        # Only a member that the broker knows can commit, and only with the member id to which its partitions were assigned.
        able = [name for name in joining if self.members[name].committing == self.known[name]]
        held = {partition: name for name in able for partition in self.members[name].holds}
        self.generation += 1
        assignments = EvenByTopicAssignor().assign(cluster(), requests)
        assigned: set[TopicPartition] = set()
        for name in joining:
            client, assignment = self.members[name], assignments[self.known[name]]
            for partition in assignment.partitions():
                assert held.get(partition, name) == name, "its owner may have a batch of it in flight"
                assert partition not in assigned, "assigned twice"
                assigned.add(partition)
            client.now = client.now._replace(generation_id=self.generation)
            if name not in missed:
                client.assignor.on_assignment(assignment, self.generation)


TestProtocol = Protocol.TestCase
