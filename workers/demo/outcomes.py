"""The outcomes of published papers, read from the manifests, links and dead letters by a read-committed consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from reflink.entities import Link
from reflink.errors import BadRecord
from schemas import FallbackEvent, LinkEvent, ReferenceEvent, read_outcome_event
from schemas.links import PROPAGATION_KEY, Curated, PaperState
from schemas.outcomes import OutcomesEvent
from workers.config.settings import KafkaSettings
from workers.dead_letter import EXCEPTION, MESSAGE, RESOLVES, TOPIC
from workers.kafka.partition_reader import PartitionReader
from workers.kafka.topics import TopicAdmin

_TOPICS: Final = ("manifests", "links", "dead-letters")


@dataclass(frozen=True, slots=True)
class Settled:
    """The newest outcome of one reference. ``seconds``: from the paper's arrival to the timestamp of the outcome's record.

    ``woken``: the reference was re-evaluated after a change of the catalog. ``curated``: the override that applies to it.
    """

    link: Link
    text: str
    seconds: float
    woken: bool = False
    curated: Curated | None = None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be handled: its key, its topic of origin, the error and the error's message."""

    key: str
    topic: str
    error: str
    message: str


@dataclass
class Outcomes:
    """Everything read so far. ``changes`` counts the records processed: while it grows, there is progress.

    ``linked``: the number of ``references`` with a link.
    """

    papers: dict[str, PaperState] = field(default_factory=dict)
    references: dict[str, Settled] = field(default_factory=dict)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    #: Keys of papers that could not be parsed.
    dead_papers: set[str] = field(default_factory=set)
    #: References that cannot get an outcome, because the event that carried them is a dead letter.
    dead_references: set[str] = field(default_factory=set)
    changes: int = 0
    linked: int = 0
    #: If it is a list, every record of ``links`` from now on: the reference and its outcome, None for a tombstone.
    published: list[tuple[str, Settled | None]] | None = None

    def take_manifest(self, key: str, value: bytes | None) -> None:
        """Process a record of ``manifests``."""
        if key == PROPAGATION_KEY:
            return
        self.changes += 1
        if value is None:
            self.papers.pop(key, None)
        else:
            self.papers[key] = PaperState.from_json(value)

    def take_link(self, key: str, value: bytes | None, timestamp: int) -> None:
        """Process a record of ``links``; ``timestamp`` in milliseconds since 1970."""
        self.changes += 1
        before = self.references.pop(key, None)
        self.linked -= before is not None and before.link.cited is not None
        settled = None
        if value is not None:
            event = LinkEvent.from_json(value)
            self.linked += event.link.cited is not None
            seconds = (timestamp - event.arrived) / 1000
            settled = Settled(event.link, event.reference.raw_text, seconds, event.woken > 0, event.curated)
            self.references[key] = settled
        if self.published is not None:
            self.published.append((key, settled))

    def take_dead_letter(self, key: str, value: bytes | None, headers: Iterable[tuple[str, bytes]]) -> None:
        """Process a record of ``dead-letters``."""
        self.changes += 1
        fields = {name: text.decode("utf-8", "replace") for name, text in headers}
        if RESOLVES in fields and EXCEPTION not in fields:
            return  # it marks an earlier dead letter as resolved
        letter = DeadLetter(key, fields.get(TOPIC, "?"), fields.get(EXCEPTION, "?"), fields.get(MESSAGE, "?"))
        self.dead_letters.append(letter)
        if letter.topic == "papers":
            self.dead_papers.add(key)
        self.dead_references.update(_references_in(letter.topic, value or b""))

    def is_settled(self, key: str, version: int) -> bool:
        """Return whether this version of the paper is done: it is a dead letter, or every reference has its outcome."""
        state = self.papers.get(key)
        if state is not None and state.paper_version >= version:
            return all(each in self.references or each in self.dead_references for each in state.references)
        return key in self.dead_papers


def _references_in(topic: str, value: bytes) -> list[str]:
    """Return the ids of the references in the event of a dead letter; an empty list if the event cannot be decoded."""
    readers: dict[str, Callable[[bytes], list[str]]] = {
        **dict.fromkeys(("references", "retries"), lambda data: [ReferenceEvent.from_json(data).reference.id]),
        "fallback": lambda data: [each.reference.id for each in FallbackEvent.from_json(data).items],
        "outcomes": _of_outcomes,
    }
    try:
        return readers[topic](value) if topic in readers else []
    except BadRecord:
        return []


def _of_outcomes(data: bytes) -> list[str]:
    event = read_outcome_event(data)
    return [each.reference.id for each in event.items] if isinstance(event, OutcomesEvent) else list(event.references)


class OutcomeReader(PartitionReader):
    """Reads the topics from their beginning into ``outcomes``."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.outcomes = Outcomes()
        with TopicAdmin(settings) as admin:
            topics = admin.find(_TOPICS)
        places = ((name, partition) for name, topic in topics.items() for partition in range(topic.partitions))
        super().__init__(settings, dict.fromkeys(places), fetch_max_wait_ms=100)

    def read(self, seconds: float) -> bool:
        """Process the available records, waiting at most ``seconds`` for the first. Returns whether there were any."""
        polled = self.poll(seconds)
        for (name, _), records in polled.items():
            for record in records:
                key = (record.key or b"").decode("utf-8", "replace")
                match name:
                    case "manifests":
                        self.outcomes.take_manifest(key, record.value)
                    case "links":
                        self.outcomes.take_link(key, record.value, record.timestamp)
                    case _:
                        self.outcomes.take_dead_letter(key, record.value, record.headers)
        return bool(polled)

    def finish(self) -> None:
        """Process all records that are committed now."""
        ends = self.end_offsets()
        while any(self.next_offsets[place] < end for place, end in ends.items()):
            self.read(0.5)
