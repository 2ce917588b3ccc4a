"""Records of dead letters: the original message, a corrected value, and the headers of a resolution."""

from __future__ import annotations

import pytest

from workers.dead_letter import dead_letter
from workers.demo.outcomes import Outcomes
from workers.kafka.topics import TOPICS, partition_of
from workers.records import Message, Received
from workers.tools.dead_letters import CannotReplay, as_it_was, corrected


def letter_of(record: Received) -> Received:
    message = dead_letter(record, CannotReplay("x"), "parser")
    return Received("dead-letters", 0, 5, message.key, message.value, message.headers, record.timestamp)


def test_the_key_selects_the_partition_if_the_original_one_does_not_exist():
    record = letter_of(Received("papers", 7, 1, b"doi:10.1000/a", b"v", (), 1))
    assert as_it_was(record, {"papers": 8})[1] == 7
    assert as_it_was(record, {"papers": 4})[1] == partition_of(b"doi:10.1000/a", 4)


def test_a_corrected_event_of_another_topic_keeps_its_headers():
    message = Message("references", b"k", b"old", (("own", b"1"), ("reflink-attempt", b"1")))
    assert corrected(message, b"\x1f\x8b new").headers == message.headers


def test_a_corrected_value_above_the_limit_of_the_topic_is_refused():
    with pytest.raises(Exception, match="more than the 2000000 of references"):
        corrected(Message("references", b"k", b""), b"x" * TOPICS["references"].max_message_bytes)


def test_a_failing_record_with_the_headers_of_a_resolution_is_a_dead_letter():
    record = letter_of(Received("papers", 0, 1, b"k", None, (("reflink-resolves", b"3"),), 1))
    assert record.header("reflink-resolves") is None
    outcomes = Outcomes()
    outcomes.take_dead_letter("k", None, record.headers)
    outcomes.take_dead_letter("5", None, (("reflink-resolves", b"5"), ("reflink-resolution", b"dropped")))
    assert len(outcomes.dead_letters) == 1
