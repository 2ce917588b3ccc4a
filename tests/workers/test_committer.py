"""The commit thread's transactions against a real broker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest
from kafka import KafkaProducer, TopicPartition

from tests.kafka import lag, read_all, send, worker_settings
from tests.workers.echo import until
from workers.batch import Batch, BatchPolicy
from workers.clients import group_consumer, transactional_producer
from workers.committer import Committer, Finished
from workers.errors import Fenced
from workers.flow import Flow
from workers.stage import Message, Output, Received


def finished(number: int, epoch: int, partition: int, offset: int) -> Finished:
    record = Received("references", partition, offset, b"k", b"%d" % number, (), 0)
    return Finished(Batch(number, epoch, [record]), Output([Message("outcomes", b"k", b"%d" % number)]))


def test_offsets_of_an_aborted_transaction_are_not_committed_with_the_next_one(kafka, state):
    """kafka-python keeps them; records would be passed over that nobody has handled."""
    settings = worker_settings(kafka, state)
    send(kafka, "references", [(b"k%d" % number, b"x") for number in range(30)])
    consumer = group_consumer(settings, "echo")
    consumer.subscribe([kafka.topic("references")])
    until(lambda: consumer.poll(timeout_ms=100) or consumer.assignment())
    stale = [True]

    def metadata():
        known = consumer.group_metadata()
        return known._replace(generation_id=known.generation_id + 7) if stale[0] else known

    flow = Flow(BatchPolicy(), queue_bytes=10**6)
    committer = Committer(
        settings,
        "echo",
        flow,
        {"outcomes": 3},
        lambda: transactional_producer(settings, "echo"),
        metadata,
        lambda _: nullcontext(),
    )
    committer.open()
    try:
        refused = finished(1, flow._epoch, partition=0, offset=4)
        committer._commit([refused])
        assert refused.offsets is None
        assert read_all(kafka, "outcomes") == []
        stale[0] = False
        taken = finished(2, flow._epoch, partition=1, offset=2)
        committer._commit([taken])
        assert taken.offsets is not None
        assert [record.value for record in read_all(kafka, "outcomes")] == [b"2"]
        places = [TopicPartition(kafka.topic("references"), partition) for partition in (0, 1)]
        assert [consumer.committed(place) for place in places] == [None, 3]
    finally:
        committer.close()
        consumer.close()
    assert lag(kafka, "echo", "references") == 27


@contextmanager
def opened(kafka, settings, group_metadata) -> Iterator[tuple[Committer, Flow]]:
    flow = Flow(BatchPolicy(), queue_bytes=10**6)
    flow.assign([("references", 0)])
    committer = Committer(
        settings,
        "echo",
        flow,
        {"outcomes": 3},
        lambda: transactional_producer(settings, "echo"),
        group_metadata,
        lambda _: nullcontext(),
    )
    committer.open()
    try:
        yield committer, flow
    finally:
        committer.close()


def test_a_fenced_committer_ends_the_worker_and_leaves_nothing_that_an_idle_commit_could_pass_over(kafka, state):
    settings = worker_settings(kafka, state)
    consumer = group_consumer(settings, "echo")
    try:
        with opened(kafka, settings, consumer.group_metadata) as (older, flow):
            flow.sought_back(("references", 0), flow.departures())
            flow.news()
            flow.offer([Received("references", 0, 0, b"k", b"1", (), 0)])
            batch = flow.take(0)
            assert batch is not None
            with opened(kafka, settings, consumer.group_metadata):  # another process in the same slot
                with pytest.raises(Fenced, match="run one process per slot"):
                    older._commit([Finished(batch, Output([Message("outcomes", b"k", b"1")]))])
                assert not flow.idle(), "the consumer's position is beyond a record that nobody has handled"
    finally:
        consumer.close()
    assert read_all(kafka, "outcomes") == []


def test_a_record_that_is_fenced_ends_the_worker_too(kafka, state):
    """kafka-python then goes into a state in which no call says what is wrong; a new producer would fence the newer process."""
    settings = worker_settings(kafka, state)
    consumer = group_consumer(settings, "echo")
    producers: list[KafkaProducer] = []

    class Overtaken:
        """Another process takes its id over as it sends."""

        def __init__(self) -> None:
            producers.append(transactional_producer(settings, "echo"))

        def __getattr__(self, name):
            return getattr(producers[0], name)

        def send(self, *arguments, **more):
            producers.append(transactional_producer(settings, "echo"))
            producers[1].init_transactions()
            return producers[0].send(*arguments, **more)

    def after_sending():
        producers[0].flush()
        return consumer.group_metadata()

    flow = Flow(BatchPolicy(), queue_bytes=10**6)
    committer = Committer(
        settings, "echo", flow, {"outcomes": 3}, Overtaken, after_sending, lambda _: nullcontext()
    )  # fmt: skip
    committer.open()
    try:
        with pytest.raises(Fenced, match="run one process per slot"):
            committer._commit([finished(1, flow._epoch, partition=0, offset=0)])
        assert len(producers) == 2
        producers[1].begin_transaction()
        producers[1].commit_transaction()  # the newer one goes on
    finally:
        committer.close()
        producers[1].close(timeout=1)
        consumer.close()


def test_after_a_commit_of_which_nobody_knows_how_it_ended_the_stage_looks_after_its_store(kafka, state):
    """The commit came about, and its answer did not: it is neither done again nor taken for failed."""
    settings = worker_settings(kafka, state, transaction_timeout_s=2.0)
    consumer = group_consumer(settings, "echo")
    never = threading.Event()

    class Silent:
        """Commits, and never says so; the first of its kind only."""

        def __init__(self) -> None:
            self._producer = transactional_producer(settings, "echo")
            self._says_nothing = not made
            made.append(self)

        def __getattr__(self, name):
            return getattr(self._producer, name)

        def commit_transaction(self) -> None:
            self._producer.commit_transaction()
            if self._says_nothing:
                never.wait()

    made: list[Silent] = []
    flow = Flow(BatchPolicy(), queue_bytes=10**6)
    flow.assign([("references", 0)])
    committer = Committer(
        settings, "echo", flow, {"outcomes": 3}, Silent, consumer.group_metadata, lambda _: nullcontext()
    )  # fmt: skip
    committer.open()
    try:
        flow.sought_back(("references", 0), flow.departures())
        assert [kind for kind, _ in flow.news()] == ["assigned"]
        first = finished(1, flow._epoch, partition=0, offset=0)
        committer._commit([first])
        assert first.offsets is None
        assert flow.news() == [("released", (("references", 0),)), ("assigned", (("references", 0),))]
        assert flow.to_seek_back() == {("references", 0)}
        assert len(made) == 2
        second = finished(2, flow._epoch, partition=0, offset=1)
        committer._commit([second])
        assert second.offsets is not None
        assert flow.news() == []
        assert [record.value for record in read_all(kafka, "outcomes")] == [b"1", b"2"]
        assert consumer.committed(TopicPartition(kafka.topic("references"), 0)) == 2
    finally:
        never.set()
        committer.close()
        consumer.close()
