"""The commit thread's transactions against a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.errors import KafkaTimeoutError

from tests.kafka import lag, read_all, send, worker_settings
from tests.workers.echo import until
from tests.workers.members import member
from tests.workers.simulated import take_events
from workers.config.settings import KafkaSettings, WorkerSettings
from workers.errors import Fenced
from workers.kafka.clients import transactional_producer
from workers.kafka.transactional_producer import BoundedProducer
from workers.records import Message, Received
from workers.runtime.batching import BatchPolicy
from workers.runtime.commit_loop import Committer
from workers.runtime.finished import Finished
from workers.runtime.flow import Flow
from workers.stage import Output


def lasting(kafka: KafkaSettings, state: Path) -> WorkerSettings:
    """Return settings with which no pause of this process ends a membership or a call."""
    settings: WorkerSettings = worker_settings(kafka, state, session_timeout_s=60.0, transaction_timeout_s=60.0)
    return settings


def finished(flow: Flow, number: int, partition: int, offset: int) -> Finished:
    """Read a record from its offset on, and return a batch of it whose output has the value ``number``."""
    for each in flow.partitions.to_seek_back():
        flow.partitions.sought_back(each, flow.partitions.departures(), offset)
    take_events(flow)
    flow.offer([Received("references", partition, offset, b"k", b"%d" % number, (), 0)])
    batch = flow.take(0)
    assert batch is not None
    return Finished(batch, Output([Message("outcomes", b"k", b"%d" % number)]))


def test_offsets_of_an_aborted_transaction_are_not_committed_with_the_next_one(kafka, state):
    """kafka-python keeps them, so the next transaction would skip records that no worker has handled."""
    settings = lasting(kafka, state)
    send(kafka, "references", [(b"k%d" % number, b"x") for number in range(30)])
    with member(settings) as consumer, opened(kafka, settings) as (committer, flow):
        now = consumer.group_metadata()
        flow.partitions.join(now._replace(generation_id=now.generation_id + 7), (), continued=True)
        refused = finished(flow, 1, partition=0, offset=4)
        committer.commit([refused])
        assert refused.offsets is None
        assert read_all(kafka, "outcomes") == []
        flow.partitions.join(now, (), continued=True)
        flow.partitions.assign([("references", 1)])
        taken = finished(flow, 2, partition=1, offset=2)
        committer.commit([taken])
        assert taken.offsets is not None
        until(lambda: [record.value for record in read_all(kafka, "outcomes")] == [b"2"])
        places = [TopicPartition(kafka.topic("references"), partition) for partition in (0, 1)]
        assert [consumer.committed(place) for place in places] == [None, 3]
    assert lag(kafka, "echo", "references") == 27


@contextmanager
def opened(kafka, settings, make=None) -> Iterator[tuple[Committer, Flow]]:
    flow = Flow(BatchPolicy())
    flow.partitions.assign([("references", 0)])
    make = make or (lambda: transactional_producer(settings, "echo"))
    committer = Committer(settings, "echo", flow, {"outcomes": 3}, make, lambda _: nullcontext())
    committer.open()
    try:
        yield committer, flow
    finally:
        committer.close()


def test_a_fenced_committer_ends_the_worker_and_leaves_nothing_that_an_idle_commit_could_pass_over(kafka, state):
    settings = lasting(kafka, state)
    with member(settings) as consumer, opened(kafka, settings) as (older, flow):
        flow.partitions.join(consumer.group_metadata(), (), continued=True)
        flow.partitions.sought_back(("references", 0), flow.partitions.departures())
        take_events(flow)
        flow.offer([Received("references", 0, 0, b"k", b"1", (), 0)])
        batch = flow.take(0)
        assert batch is not None
        with opened(kafka, settings):  # another process in the same slot
            with pytest.raises(Fenced, match="run one process per slot"):
                older.commit([Finished(batch, Output([Message("outcomes", b"k", b"1")]))])
            assert not flow.idle(), "the consumer's position is beyond a record that nobody has handled"
    assert read_all(kafka, "outcomes") == []


def test_a_record_that_is_fenced_ends_the_worker_too(kafka, state):
    """kafka-python then enters a state in which no call reports the cause; a new producer would fence the newer process."""
    settings = lasting(kafka, state)
    producers: list[KafkaProducer] = []

    class Overtaken:
        """A producer whose transactional id another process takes over while it sends."""

        def __init__(self) -> None:
            producers.append(transactional_producer(settings, "echo"))

        def __getattr__(self, name):
            return getattr(producers[0], name)

        def send(self, *arguments, **more):
            producers.append(transactional_producer(settings, "echo"))
            producers[1].init_transactions()
            return producers[0].send(*arguments, **more)

        def send_offsets_to_transaction(self, *arguments):
            producers[0].flush()
            return producers[0].send_offsets_to_transaction(*arguments)

    with member(settings) as consumer, opened(kafka, settings, Overtaken) as (committer, flow):
        flow.partitions.join(consumer.group_metadata(), (), continued=True)
        try:
            with pytest.raises(Fenced, match="run one process per slot"):
                committer.commit([finished(flow, 1, partition=0, offset=0)])
            assert len(producers) == 2
            newer = BoundedProducer(producers[1], 60.0)
            newer.begin_transaction()
            newer.commit_transaction()  # it still works
        finally:
            producers[1].close(timeout=1)


def test_after_a_commit_of_which_nobody_knows_how_it_ended_the_stage_looks_after_its_store(kafka, state):
    """The commit takes effect and its response is lost: it is neither repeated nor treated as failed."""
    settings = lasting(kafka, state)

    class Silent:
        """A producer whose commit takes effect and, in the first instance only, fails as a call that does not return."""

        def __init__(self) -> None:
            self._producer = transactional_producer(settings, "echo")
            self._says_nothing = not made
            made.append(self)

        def __getattr__(self, name):
            return getattr(self._producer, name)

        def commit_transaction(self) -> None:
            self._producer.commit_transaction()
            if self._says_nothing:
                raise KafkaTimeoutError("the response was lost")

    made: list[Silent] = []
    with member(settings) as consumer, opened(kafka, settings, Silent) as (committer, flow):
        flow.partitions.join(consumer.group_metadata(), (), continued=True)
        flow.partitions.sought_back(("references", 0), flow.partitions.departures())
        assert [kind for kind, _ in take_events(flow)] == ["assigned"]
        first = finished(flow, 1, partition=0, offset=0)
        committer.commit([first])
        assert first.offsets is None
        assert take_events(flow) == [("released", (("references", 0),)), ("assigned", (("references", 0),))]
        assert flow.partitions.to_seek_back() == {("references", 0)}
        assert len(made) == 2
        second = finished(flow, 2, partition=0, offset=1)
        committer.commit([second])
        assert second.offsets is not None
        assert take_events(flow) == []
        until(lambda: [record.value for record in read_all(kafka, "outcomes")] == [b"1", b"2"])
        assert consumer.committed(TopicPartition(kafka.topic("references"), 0)) == 2
