"""A stage that waits while it processes the assignment of partitions, and stops when it no longer needs them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from kafka.admin import MemberToRemove

from tests.kafka import create_topics, new_prefix, worker_settings
from tests.workers.echo import Echo, Running, until
from workers.config.settings import KafkaSettings
from workers.devkit.broker import Broker
from workers.kafka.topics import TopicAdmin
from workers.records import Partition


class Waiting(Echo):
    """A stage that waits in ``assigned`` until its partitions are no longer wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.given_up: list[Partition] = []

    def assigned(self, places: Sequence[Partition]) -> None:
        self.came += places
        while any(self.wanted(place) for place in places):
            threading.Event().wait(0.02)
        self.given_up += places


@pytest.fixture
def kafka(broker: Broker) -> KafkaSettings:
    """Topics with one partition: several may be assigned to the stage one after the other."""
    return create_topics(broker.address, new_prefix(), partitions=1)


def test_a_stage_that_waits_for_its_partitions_lets_the_worker_end(kafka, state):
    stage = Waiting()
    worker = Running(stage, worker_settings(kafka, state))
    until(lambda: len(stage.came) == 1)
    worker.stop(20)
    assert worker.error is None
    assert sorted(stage.given_up) == sorted(stage.came)


def test_a_stage_that_waits_for_partitions_stops_when_the_group_gave_them_away(kafka, state):
    stage = Waiting()
    worker = Running(stage, worker_settings(kafka, state))
    until(lambda: len(stage.came) == 1)
    with TopicAdmin(kafka) as admin:
        group = kafka.topic("echo")
        described = admin.admin.describe_groups([group])[group]
        member = described["members"][0]["member_id"]
        admin.admin.remove_group_members(group, [MemberToRemove(member_id=member)])
    until(lambda: len(stage.went) == 1, what="released after the wait")
    until(lambda: len(stage.came) == 2, what="its partitions again, as a new member")
    assert len(stage.given_up) == 1
    worker.stop(20)
