"""No record is committed twice when a member is removed from its group with a batch in flight and returns.

The tests hold the window between the removal and the call of ``on_partitions_lost`` open: the worker's poll thread, or
kafka-python's own thread, waits in a patched method while the group continues without this worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import ConsumerGroupMetadata, KafkaAdminClient, TopicPartition
from kafka.admin import MemberToRemove

from tests.kafka import lag, send, worker_settings
from tests.workers.echo import Echo, Running, running, until
from tests.workers.runtime.test_runtime import numbered, once_each, values
from workers.config.settings import KafkaSettings
from workers.kafka.clients import connect, plain_consumer
from workers.records import Received
from workers.stage import NoView, Output

SECOND = 60  # the number of records before the batch that waits at the gate


class Gate:
    """A gate that blocks each thread that reaches it while it is shut, until it is opened."""

    def __init__(self) -> None:
        self.reached, self._open, self.shut = threading.Event(), threading.Event(), False

    def pass_through(self) -> None:
        if self.shut:
            self.reached.set()
            assert self._open.wait(120), "the gate was never opened"

    def open(self) -> None:
        self.shut = False
        self._open.set()


class Held(Echo):
    """A stage that waits at a gate with the first batch of the second sixty records."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    def handle(self, batch: Sequence[Received], view: NoView) -> Output:
        if any(int(record.value or b"0") >= SECOND for record in batch):
            self.gate.pass_through()
        return super().handle(batch, view)


def remove(kafka: KafkaSettings, worker: Running) -> None:
    """Remove the worker's member from the group, as the broker does when a session expires."""
    member = consumer_of(worker).group_metadata().member_id
    admin = connect(kafka, KafkaAdminClient)
    try:
        admin.remove_group_members(kafka.topic("echo"), [MemberToRemove(member_id=member, reason="a test")])
    finally:
        admin.close()


def consumer_of(worker: Running) -> Any:
    assert worker.runtime.poller is not None
    return worker.runtime.poller.consumer


def committed(kafka: KafkaSettings) -> list[int]:
    consumer = plain_consumer(kafka, group_id=kafka.topic("echo"))
    try:
        return [consumer.committed(TopicPartition(kafka.topic("references"), number)) or 0 for number in range(3)]
    finally:
        consumer.close()


@contextmanager
def holding_a_batch(kafka: KafkaSettings, state, handling: Gate):
    """Yield a worker that has committed sixty records and has a batch of the next sixty in flight."""
    handling.shut = True
    with running(Held(handling), worker_settings(kafka, state / "a")) as worker:
        try:
            send(kafka, "references", numbered(SECOND))
            until(lambda: lag(kafka, "echo", "references") == 0)
            send(kafka, "references", numbered(SECOND, SECOND))
            assert handling.reached.wait(60)
            yield worker
        finally:
            handling.open()


def joined_as_another(now: ConsumerGroupMetadata, former: str) -> bool:
    return now.generation_id > 0 and now.member_id != former


def wrapped(before: Callable[[], None], method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **more: Any) -> Any:
        before()
        return method(*arguments, **more)

    return call


def goes_on_without(kafka: KafkaSettings, state, worker: Running) -> list[int]:
    """Let another worker handle the same records and more. Return the offsets committed while it still runs."""
    with running(Echo(), worker_settings(kafka, state / "b", slot="b")):
        remove(kafka, worker)
        until(lambda: lag(kafka, "echo", "references") == 0, what="the other worker took over")
        send(kafka, "references", numbered(SECOND, 2 * SECOND))
        until(lambda: lag(kafka, "echo", "references") == 0, what="the other worker went on")
        return committed(kafka)


def test_a_batch_that_ends_after_its_member_was_removed_is_not_committed(kafka, state):
    """After a removal kafka-python reports generation -1 and no member id, which a broker accepts in a transaction."""
    handling, polling = Gate(), Gate()
    with holding_a_batch(kafka, state, handling) as worker:
        consumer = consumer_of(worker)
        consumer.poll = wrapped(polling.pass_through, consumer.poll)
        polling.shut = True
        try:
            assert polling.reached.wait(30)
            before = goes_on_without(kafka, state, worker)
            until(lambda: not consumer.group_metadata().member_id, what="its heartbeat is refused")
            handling.open()
            until(lambda: not worker.runtime.flow.handled(), what="its commit ended")
            assert committed(kafka) == before, "committed offsets went back"
        finally:
            polling.open()
        until(lambda: lag(kafka, "echo", "references") == 0)
    once_each(values(kafka), 3 * SECOND)


def test_a_batch_of_a_member_that_lost_its_membership_while_it_joined_is_not_committed(kafka, state):
    """kafka-python then joins again with another member id and never calls on_partitions_lost (Java's KAFKA-12983)."""
    handling, joining = Gate(), Gate()
    with holding_a_batch(kafka, state, handling) as worker:
        consumer = consumer_of(worker)
        coordinator = consumer._coordinator
        former = consumer.group_metadata().member_id
        coordinator._process_join_group_response = wrapped(joining.pass_through, coordinator._process_join_group_response)
        joining.shut = True
        try:
            with running(Echo(), worker_settings(kafka, state / "b", slot="b")) as other:
                assert joining.reached.wait(60), "the first worker joins again"
                remove(kafka, worker)
                until(lambda: lag(kafka, "echo", "references") == 0, what="the other worker took over")
                send(kafka, "references", numbered(SECOND, 2 * SECOND))
                until(lambda: lag(kafka, "echo", "references") == 0, what="the other worker went on")
                joining.open()
                until(lambda: joined_as_another(consumer.group_metadata(), former), what="the first one is back")
                handling.open()
                until(lambda: len(worker.runtime.flow.partitions.owned()) + len(other.runtime.flow.partitions.owned()) == 3)
                until(lambda: lag(kafka, "echo", "references") == 0)
        finally:
            joining.open()
        until(lambda: lag(kafka, "echo", "references") == 0)
    once_each(values(kafka), 3 * SECOND)
