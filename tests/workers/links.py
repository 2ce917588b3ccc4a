"""Links as the ledger writes them, for tests that read the topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reflink.entities import Link, Reference
from schemas import LinkEvent
from tests.kafka import await_markers, read_all
from workers.config.settings import KafkaSettings
from workers.kafka.bulk_producer import Sender
from workers.kafka.topics import partition_of

PARTITIONS = 3


def link(reference: str, cited: str | None = "pmid:1", **fields: Any) -> LinkEvent:
    """Return an event. Each of ``fields`` is set in the link if it has that field, otherwise in the event."""
    citing = reference.partition("#")[0]
    of_link = {name: fields.pop(name) for name in tuple(fields) if name in Link.model_fields}
    unresolved = of_link.pop("unresolved", None if cited else "not-in-catalog")
    return LinkEvent.from_dict(
        {
            "schema_version": 1,
            "citing": citing,
            "paper_version": 7,
            "arrived": 70,
            "catalog_offset": 1,
            "judged": 1_000,
            "link": {"reference": reference, "citing": citing, "cited": cited, "unresolved": unresolved, **of_link},
            "reference": Reference(id=reference, citing=citing, position=1, raw_text=f"text of {reference}").to_dict(),
            **fields,
        }
    )


def publish(kafka: KafkaSettings, *events: LinkEvent | str | tuple[str, bytes]) -> None:
    """Send events to the partitions of their papers, and a tombstone for a reference's id alone."""
    with Sender(kafka) as sender:
        for event in events:
            if isinstance(event, LinkEvent):
                key, value = event.link.reference, event.to_json()
            else:
                key, value = (event, None) if isinstance(event, str) else event  # type: ignore[assignment]
            partition = partition_of(key.partition("#")[0].encode(), PARTITIONS)
            sender.send("links", key.encode(), value, partition=partition)


def sent(kafka: KafkaSettings) -> list[dict[str, Any]]:
    """Return the decoded values in ``retries``."""
    import orjson

    await_markers(kafka.kafka_bootstrap_servers)
    return [orjson.loads(record.value or b"") for record in read_all(kafka, "retries")]


def ids(events: Iterable[dict[str, Any]]) -> list[str]:
    """Return the ids of the events' references, sorted."""
    return sorted(event["reference"]["id"] for event in events)


def links_of(kafka: KafkaSettings) -> dict[str, LinkEvent]:
    """Return the current outcome of every reference, as a reader of the compacted topic derives it."""
    current: dict[str, LinkEvent] = {}
    for record in read_all(kafka, "links"):
        key = record.key.decode()
        if record.value is None:
            current.pop(key, None)
        else:
            current[key] = LinkEvent.from_json(record.value)
    return current


def scores_apart(link: Link) -> tuple[dict[str, Any], list[float]]:
    """Return a link without its scores, and the scores: their last digits depend on the other texts of the encoder's batch."""
    fields = link.to_dict()
    scores = [fields.pop("score", None), (fields.get("runner_up") or {}).pop("score", None)]
    return fields, [-1.0 if score is None else score for score in scores]
