"""A reader of reflink's links: it keeps the current link of every reference and prints each change of an outcome.

    python examples/consumer.py [BROKERS] [TOPIC]

Needs kafka-python and nothing of reflink. docs/consuming.md explains every line.
"""

from __future__ import annotations

import json
import sys

from kafka import KafkaConsumer, TopicPartition


def open_links(brokers: str, topic: str) -> KafkaConsumer:
    """Return a consumer of all committed records of the topic, from its beginning."""
    consumer = KafkaConsumer(bootstrap_servers=brokers, isolation_level="read_committed", enable_auto_commit=False)
    consumer.assign([TopicPartition(topic, partition) for partition in consumer.partitions_for_topic(topic) or ()])
    consumer.seek_to_beginning()
    return consumer


def read(consumer: KafkaConsumer, links: dict[str, str], timeout_ms: int = 500) -> list[str]:
    """Apply new records to ``links``, reference id -> work id, and return a line per record. Applying one twice is harmless."""
    lines = []
    for records in consumer.poll(timeout_ms=timeout_ms).values():
        for record in records:
            reference = record.key.decode()
            links.pop(reference, None)
            if record.value is None:
                lines.append(f"{reference} is gone")
            elif dict(record.headers)["reflink-outcome"] == b"unresolved":
                lines.append(f"{reference} cites nothing known: {json.loads(record.value)['link']['unresolved']}")
            else:
                links[reference] = json.loads(record.value)["link"]["cited"]
                lines.append(f"{reference} cites {links[reference]}")
    return lines


def caught_up(consumer: KafkaConsumer) -> bool:
    """Return whether all committed records were read, so that ``links`` is complete."""
    ends = consumer.end_offsets(list(consumer.assignment()))
    return all(consumer.position(place) >= end for place, end in ends.items())


if __name__ == "__main__":
    defaults = ["127.0.0.1:9092", "reflink.links"]
    reader = open_links(*sys.argv[1:], *defaults[len(sys.argv) - 1 :])
    current: dict[str, str] = {}
    while True:
        for line in read(reader, current):
            print(line, flush=True)
