"""Every topic is shared out evenly, whoever comes and goes, and partitions stay where they are when they can."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from workers.assignment import EvenByTopicAssignor

TOPICS = {"references": 6, "retries": 6, "catalog": 1}
Owned = dict[str, dict[str, list[int]]]  # member -> topic -> partitions


def cluster() -> Any:
    return SimpleNamespace(partitions_for_topic=lambda topic: set(range(TOPICS[topic])), topics=lambda *_: set(TOPICS))


def member(name: str, owned: dict[str, list[int]]) -> Any:
    place = ConsumerProtocolSubscription.TopicPartition
    partitions = [place(topic=topic, partitions=held) for topic, held in owned.items()]
    metadata = ConsumerProtocolSubscription(version=1, topics=sorted(TOPICS), user_data=b"", owned_partitions=partitions)
    return SimpleNamespace(member_id=name, group_instance_id=None, metadata=metadata)


def settled(owned: Owned) -> Owned:
    """Rounds of the cooperative protocol until nothing moves any more."""
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
    raise AssertionError("it does not settle")


def even(owned: Owned) -> None:
    for topic, count in TOPICS.items():
        shares = [len(each.get(topic, [])) for each in owned.values()]
        assert sum(shares) == count
        assert max(shares) - min(shares) <= 1, (topic, shares)


def test_no_member_is_left_with_the_quiet_topic():
    first = settled({"a": {}})
    both = settled({**first, "b": {}})
    even(both)
    assert len(both["a"]["references"]) == len(both["b"]["references"]) == 3


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=8))
def test_members_come_and_go(changes: list[tuple[bool, int]]):
    owned: Owned = {"m0": {}}
    for comes, number in changes:
        name = f"m{number}"
        if comes:
            owned = {**owned, name: owned.get(name, {})}
        elif len(owned) > 1:
            owned = {each: held for each, held in owned.items() if each != name}
        owned = settled(owned)
        even(owned)


def test_what_is_even_stays_where_it_is():
    both = settled({"a": {}, "b": {}})
    assert settled(both) == both
    alone = settled({"a": both["a"]})
    assert all(set(both["a"][topic]) <= set(alone["a"][topic]) for topic in both["a"])
