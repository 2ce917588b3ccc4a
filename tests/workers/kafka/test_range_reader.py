"""Reading a topic between offsets, its partitions in turn."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from kafka import TopicPartition

from tests.kafka import read_all, worker_settings
from workers.config.settings import KafkaSettings
from workers.errors import Stalled
from workers.kafka.bulk_producer import Sender
from workers.kafka.clients import transactional_producer
from workers.kafka.range_reader import Range
from workers.kafka.topics import TopicAdmin

SIZES = (5000, 40, 0)


@pytest.fixture
def filled(kafka: KafkaSettings) -> KafkaSettings:
    """Topic ``references`` with a long partition, a short one and an empty one, in batches as workers send them."""
    with Sender(kafka) as sender:
        for partition, size in enumerate(SIZES):
            for number in range(size):
                sender.send("references", b"%d" % number, b"x" * 200, headers=(("h", b"v"),), partition=partition)
                if number % 500 == 0:
                    sender.flush()
    return kafka


def test_each_record_is_read_once_in_the_order_of_its_partition(filled: KafkaSettings):
    with Range(filled, "references", range(3)) as records:
        read = list(records)
        assert records.done
        assert records.positions == records.ends == dict(enumerate(SIZES))
    assert sorted(read, key=lambda each: (each.partition, each.offset)) == read_all(filled, "references")
    for partition in range(3):
        offsets = [each.offset for each in read if each.partition == partition]
        assert offsets == sorted(offsets)


def test_partitions_take_turns(filled: KafkaSettings):
    with Range(filled, "references", range(3)) as records:
        read = []
        while not {each.partition for each in read} >= {0, 1}:
            read += records.take(4)
        before = len(read)
        while len(read) < before + 20:
            read += records.take(3)
    turns = [each.partition for each in read[before:]]
    assert turns.count(0) == turns.count(1) == 10 or abs(turns.count(0) - turns.count(1)) <= 1


def test_the_reader_starts_and_ends_at_given_offsets_and_has_the_position_after_the_records_taken(filled: KafkaSettings):
    with Range(filled, "references", [0, 1], positions={0: 4000, 1: 10}, ends={0: 4500, 1: 20}) as records:
        assert records.oldest == {0: 0, 1: 0}
        taken = records.take(7)
        while len(taken) < 7:
            taken += records.take(7 - len(taken))
        given = {partition: [each.offset for each in taken if each.partition == partition] for partition in (0, 1)}
        for partition, first in ((0, 4000), (1, 10)):
            assert given[partition] == list(range(first, records.positions[partition]))
        rest = list(records)
    assert len(taken) + len(rest) == 510
    assert max(each.offset for each in rest if each.partition == 0) == 4499


def test_a_missing_record_stalls_the_reader(filled: KafkaSettings):
    with (
        Range(filled, "references", [2], ends={2: 1}, patience_s=0.2) as records,
        pytest.raises(Stalled, match="no record arrived"),
    ):
        list(records)


def test_deleted_records_are_skipped(filled: KafkaSettings):
    with TopicAdmin(filled) as admin:
        admin.admin.delete_records({TopicPartition(filled.topic("references"), 1): 30})
    with Range(filled, "references", [1], positions={1: 7}) as records:
        assert records.oldest == records.positions == {1: 30}
        assert [each.offset for each in records] == list(range(30, 40))


def test_the_reader_waits_for_open_transactions_if_undecided(kafka: KafkaSettings, state: Path):
    settings = worker_settings(kafka, state, transaction_timeout_s=60.0)
    with closing(transactional_producer(settings, "echo")) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(kafka.topic("references"), b"v", b"k", partition=0).get(30)
        with Range(kafka, "references", [0], ends={0: 5}, undecided=True) as records:
            assert records.ends == {0: 1}
            assert records.take(10) == []
            assert not records.done
            producer.commit_transaction()
            assert [each.value for each in records] == [b"v"]


def test_a_reader_continues_to_later_ends(filled: KafkaSettings):
    with Range(filled, "references", range(3), ends={0: 1200, 1: 40, 2: 0}) as records:
        read = list(records)
        assert records.progress == (1240, 1240)
        records.extend({0: 1200, 1: 41, 2: 0})
        assert not records.done
        with Sender(filled) as sender:
            sender.send("references", b"new", b"v", partition=1)
        read += list(records)
        records.extend({0: 5000, 1: 41, 2: 0})
        read += list(records)
    assert sorted(read, key=lambda each: (each.partition, each.offset)) == read_all(filled, "references")
