"""Load the changes of an updated state into the catalog topic.

1. A change is marked as published after the broker has acknowledged it, so a killed load repeats it at most.
2. The state belongs to one topic. If the topic is another one, every work counts as a change, except those that the topic has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reflink.entities import Work
from reflink.errors import BadRecord
from reflink.updating import Change, State, pending
from reflink.updating.changes import mark, mark_all, works
from reflink.updating.output import TOPIC, check_lost, publish_all
from schemas import SCHEMA_VERSION, CatalogEvent
from workers.config.settings import KafkaSettings
from workers.kafka.bulk_producer import Sender
from workers.kafka.clients import end_of
from workers.kafka.range_reader import Range
from workers.kafka.topics import TopicAdmin

#: The reason in the event of a work that its sources no longer have.
_REMOVED: Final = "its source removed the work"
#: Number of records of the topic that are compared together.
_BATCH: Final = 1000


def load_changes(
    state: State,
    settings: KafkaSettings,
    *,
    max_removed: float = 1.0,
    progress: Callable[[int], object] = lambda _: None,
) -> tuple[int, int]:
    """Send the works that changed since the last load, and return the numbers of works that were put and removed.

    Raises BadDump, before anything is sent, if more than the share ``max_removed`` of the works would be removed; NotSent,
    BrokerRefused, BrokerUnreachable, Stalled, StateFailed.
    """
    _bind(state, settings, progress)
    check_lost(state, max_removed, settings.topic("catalog"))
    with Sender(settings) as sender:

        def send(batch: list[Change]) -> None:
            for change in batch:
                _send(change, sender)
            sender.flush()
            progress(sender.sent)

        return publish_all(state, pending(state), send)


def _send(change: Change, sender: Sender) -> None:
    key = change.work_id.encode()
    if change.json is None:
        event = CatalogEvent(schema_version=SCHEMA_VERSION, withdrawn=_REMOVED)
        sender.send("catalog", key, event.to_json(), partition=0)
        sender.send("catalog", key, None, partition=0)
    else:
        event = CatalogEvent(schema_version=SCHEMA_VERSION, work=Work.from_json(change.json))
        sender.send("catalog", key, event.to_json(), partition=0)


def _bind(state: State, settings: KafkaSettings, progress: Callable[[int], object]) -> None:
    """Compare the works with those of the topic if the state was not loaded into this topic before."""
    with TopicAdmin(settings) as admin:
        topic = [admin.cluster_id(), settings.topic("catalog"), admin.topic_ids(["catalog"])["catalog"]]
    if state.fact(TOPIC) == topic:
        return
    mark_all(state)
    if end_of(settings, "catalog"):
        with Range(settings, "catalog", [0]) as records:
            latest: dict[str, bytes | None] = {}
            for number, record in enumerate(records, start=1):
                latest[(record.key or b"").decode("utf-8", "replace")] = record.value
                if len(latest) == _BATCH:
                    _compare(state, latest)
                    latest = {}
                    progress(number)
            _compare(state, latest)
    state.set_fact(TOPIC, topic)


def _compare(state: State, latest: dict[str, bytes | None]) -> None:
    """Mark the works that the topic has as published, and those that it has otherwise as changed."""
    ours = works(state, list(latest))
    same, differ = list[str](), list[str]()
    for (work_id, value), json in zip(latest.items(), ours, strict=True):
        if json is not None:
            (same if value is not None and _work(value) == json else differ).append(work_id)
    mark(state, same, changed=False)
    mark(state, differ, changed=True)


def _work(value: bytes) -> bytes | None:
    try:
        work = CatalogEvent.from_json(value).work
    except BadRecord:
        return None
    return None if work is None else work.to_json()
