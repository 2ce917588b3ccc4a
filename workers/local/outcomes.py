"""What became of published papers, as a read-committed reader sees it: manifests, links and dead letters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from kafka import TopicPartition

from reflink.entities import Link
from reflink.errors import BadRecord
from schemas import FallbackEvent, LinkEvent, ReferenceEvent, read_outcome_event
from schemas.links import Curated, PaperState
from schemas.outcomes import OutcomesEvent
from workers.clients import plain_consumer
from workers.poison import EXCEPTION, MESSAGE, RESOLVES, TOPIC
from workers.settings import KafkaSettings

_TOPICS: Final = ("manifests", "links", "dead-letters")


@dataclass(frozen=True, slots=True)
class Settled:
    """The newest outcome of one reference. ``seconds``: from its paper's arrival to the timestamp of the outcome's record.

    ``woken``: a change of the catalog had it judged again. ``curated``: the override that it stands under.
    """

    link: Link
    text: str
    seconds: float
    woken: bool = False
    curated: Curated | None = None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be handled: its key, the topic it came from, the error and what that said."""

    key: str
    topic: str
    error: str
    message: str


@dataclass
class Outcomes:
    """Everything seen so far. ``changes`` counts the records taken in: while it grows, there is progress.

    ``linked`` are those of ``references`` that have a link.
    """

    papers: dict[str, PaperState] = field(default_factory=dict)
    references: dict[str, Settled] = field(default_factory=dict)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    #: Keys of papers that could not be parsed.
    dead_papers: set[str] = field(default_factory=set)
    #: References that cannot have an outcome: the event that carried them is a dead letter.
    dead_references: set[str] = field(default_factory=set)
    changes: int = 0
    linked: int = 0
    #: Where it is a list, every record of ``links`` from now on: the reference, and what it says; None: it is gone.
    told: list[tuple[str, Settled | None]] | None = None

    def take_manifest(self, key: str, value: bytes | None) -> None:
        """A record of ``manifests``."""
        self.changes += 1
        if value is None:
            self.papers.pop(key, None)
        else:
            self.papers[key] = PaperState.from_json(value)

    def take_link(self, key: str, value: bytes | None, timestamp: int) -> None:
        """A record of ``links``; ``timestamp`` in milliseconds since 1970."""
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
        if self.told is not None:
            self.told.append((key, settled))

    def take_dead_letter(self, key: str, value: bytes | None, headers: Iterable[tuple[str, bytes]]) -> None:
        """A record of ``dead-letters``."""
        self.changes += 1
        said = {name: text.decode("utf-8", "replace") for name, text in headers}
        if RESOLVES in said and EXCEPTION not in said:
            return  # it says what became of another one
        letter = DeadLetter(key, said.get(TOPIC, "?"), said.get(EXCEPTION, "?"), said.get(MESSAGE, "?"))
        self.dead_letters.append(letter)
        if letter.topic == "papers":
            self.dead_papers.add(key)
        self.dead_references.update(_references_in(letter.topic, value or b""))

    def is_settled(self, key: str, version: int) -> bool:
        """Whether the paper published under that key and version is done: a dead letter, or every reference has its outcome."""
        state = self.papers.get(key)
        if state is not None and state.paper_version >= version:
            return all(each in self.references or each in self.dead_references for each in state.references)
        return key in self.dead_papers


def _references_in(topic: str, value: bytes) -> list[str]:
    """Ids of the references in a dead event, as far as it can be read."""
    readers: dict[str, Callable[[bytes], list[str]]] = {
        "references": _of_reference,
        "retries": _of_reference,
        "fallback": lambda data: [each.reference.id for each in FallbackEvent.from_json(data).items],
        "outcomes": _of_outcomes,
    }
    try:
        return readers[topic](value) if topic in readers else []
    except BadRecord:
        return []


def _of_reference(data: bytes) -> list[str]:
    return [ReferenceEvent.from_json(data).reference.id]


def _of_outcomes(data: bytes) -> list[str]:
    event = read_outcome_event(data)
    return [each.reference.id for each in event.items] if isinstance(event, OutcomesEvent) else list(event.references)


class OutcomeReader:
    """Reads the topics from their beginning into ``outcomes``. Use as a context manager, or ``close``. One thread only."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.outcomes = Outcomes()
        self._consumer = plain_consumer(settings, fetch_max_wait_ms=100)
        self._names: dict[TopicPartition, str] = {}
        for name in _TOPICS:
            topic = settings.topic(name)
            for partition in sorted(self._consumer.partitions_for_topic(topic) or ()):
                self._names[TopicPartition(topic, partition)] = name
        self._consumer.assign(list(self._names))
        self._consumer.seek_to_beginning()

    def read(self, seconds: float) -> bool:
        """Takes in what is there, waiting at most so long for something. Returns whether there was anything."""
        polled = self._consumer.poll(timeout_ms=int(seconds * 1000))
        for place, records in polled.items():
            name = self._names[place]
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

    def close(self) -> None:
        """Closes the connection."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
