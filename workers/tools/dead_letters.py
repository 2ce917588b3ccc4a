"""Dead letters: listing them, replaying them to their source topics, and dropping them.

Invariant: a dead letter is replayed at most once.

1. The topic is append-only. The resolution of a dead letter is another record of the topic, without a value; its headers name
   the resolved offset and the resolution.
2. One transaction writes the resolution and the replayed record, so both exist or neither, however the command ends.
3. All commands share one transactional id: a second command fences the first and reads only what the first has committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Self

from kafka.errors import KafkaError, KafkaTimeoutError

from reflink.errors import ReflinkError, TooLarge
from schemas.papers import CONTENT_HEADER, ENCODING_HEADER, VERSION_HEADER
from workers.config.settings import WorkerSettings
from workers.dead_letter import (
    ATTEMPT,
    EXCEPTION,
    MESSAGE,
    OFFSET,
    OURS,
    PARTITION,
    RESOLUTION,
    RESOLVES,
    TIMESTAMP,
    TOPIC,
    WORKER,
    attempts,
)
from workers.errors import Fenced, WrongTopic
from workers.kafka.bulk_producer import NotSent
from workers.kafka.clients import transactional_producer
from workers.kafka.errors import broker_errors, fenced
from workers.kafka.range_reader import Range
from workers.kafka.topics import TOPICS, TopicAdmin, partition_of
from workers.kafka.transactional_producer import BoundedProducer
from workers.papers.publishing import compress
from workers.records import Headers, Message, Received, split

NAME: Final = "dead-letters"
Resolution = Literal["replayed", "dropped"]

#: Topics that workers consume, and whose records may become dead letters.
SOURCES: Final = ("papers", "references", "retries", "fallback", "outcomes", "catalog")

#: Maximum bytes of one transaction.
_TRANSACTION_BYTES: Final = 8_000_000
_MAGIC: Final = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))


class CannotReplay(ReflinkError):
    """A dead letter that cannot be replayed; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One dead letter without its value. ``timestamp``: when it was written, in milliseconds since 1970."""

    offset: int
    timestamp: int
    topic: str
    partition: int
    source_offset: int
    worker: str
    reason: str
    message: str
    attempt: int
    size: int
    #: None while it is unresolved.
    resolution: str | None = None
    #: The reason given when it was dropped.
    why: str = ""

    @property
    def place(self) -> str:
        """The address of the original record: topic, partition and offset."""
        return f"{self.topic}[{self.partition}]@{self.source_offset}"


def read(settings: WorkerSettings) -> list[DeadLetter]:
    """Return all dead letters that the topic still holds, in order of their offsets, with their resolutions."""
    letters: dict[int, DeadLetter] = {}
    for record in _records(settings, 0, None):
        if (resolved := _resolves(record)) is None:
            letters[record.offset] = _letter(record)
        elif resolved in letters:
            how, why = record.header(RESOLUTION) or "?", record.header(MESSAGE) or ""
            letters[resolved] = replace(letters[resolved], resolution=how, why=why)
    return list(letters.values())


def fetch(settings: WorkerSettings, offsets: Iterable[int]) -> Iterator[Received]:
    """Yield the records at these offsets of the topic, in order, with their values."""
    wanted = set(offsets)
    if wanted:
        yield from (each for each in _records(settings, min(wanted), max(wanted) + 1) if each.offset in wanted)


def as_it_was(record: Received, partitions: Mapping[str, int]) -> tuple[Message, int]:
    """Return the original message of a dead letter, with its number of attempts, and its partition. Raises CannotReplay.

    ``partitions``: the partition counts of the existing topics, by name. The message gets the time of the replay, because
    retention counts from it. A paper keeps its version: without a version header, that is its first timestamp.
    """
    topic, place = record.header(TOPIC) or "", record.header(PARTITION) or ""
    if topic not in partitions or topic == NAME:
        raise CannotReplay(f"dead letter {record.offset}: its source topic {topic!r} is not a topic of reflink")
    tried = ((ATTEMPT, str(attempts(record)).encode()),)
    headers = (*(header for header in record.headers if header[0] not in OURS), *tried)
    if topic == "papers" and record.header(VERSION_HEADER) is None and (first := record.header(TIMESTAMP)):
        headers = (*headers, (VERSION_HEADER, first.encode()))
    known = place.isascii() and place.isdigit() and len(place) < 10 and int(place) < partitions[topic]
    partition = int(place) if known else partition_of(record.key or b"", partitions[topic])
    return Message(topic, record.key, record.value, headers), partition


def corrected(message: Message, value: bytes) -> Message:
    """Return the message with another value; for a paper, set the headers for its compression. Raises TooLarge."""
    headers: Headers = message.headers
    if message.topic == "papers":
        encoding = next((name for magic, name in _MAGIC if value.startswith(magic)), "")
        if not encoding:
            value, encoding = compress(value, "zstd"), "zstd"
        described = ((CONTENT_HEADER, b"paper"), (ENCODING_HEADER, encoding.encode()))
        headers = (*(header for header in headers if header[0] not in (CONTENT_HEADER, ENCODING_HEADER)), *described)
    changed = replace(message, value=value, headers=headers)
    if changed.size() > (limit := TOPICS[message.topic].max_message_bytes):
        raise TooLarge(f"with this value the record has {changed.size()} bytes, more than the {limit} of {message.topic}")
    return changed


class Resolver:
    """The writer of resolutions. Use it as a context manager: it fences any other running command."""

    def __init__(self, settings: WorkerSettings) -> None:
        self.settings = settings.model_copy(update={"slot": "operator"})
        with TopicAdmin(settings) as admin:
            self._partitions = {name: topic.partitions for name, topic in admin.find((*SOURCES, NAME)).items()}

    def __enter__(self) -> Self:
        """End another command's open transaction, so that records read from now on are final. Raises BrokerRefused."""
        producer = transactional_producer(self.settings, NAME)
        self._producer = BoundedProducer(producer, self.settings.transaction_timeout_s)
        with broker_errors(self.settings):
            self._producer.init_transactions()
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close(timeout=5)

    def replay(
        self, offsets: Sequence[int], *, value: bytes | None = None, done: Callable[[int], object] = lambda _: None
    ) -> tuple[int, list[ReflinkError]]:
        """Replay the dead letters at ``offsets``. Return the number replayed, and the errors of the others.

        ``value`` replaces the value if there is only one dead letter. ``done`` receives the number replayed after each
        transaction. Raises NotSent or Fenced: then only those already reported to ``done`` are replayed, except that the result
        of the last transaction is unknown after a timeout.
        """
        count, failed = 0, list[ReflinkError]()

        def wanted() -> Iterator[tuple[int, tuple[int, Message, int]]]:
            for record in fetch(self.settings, offsets):
                try:
                    message, partition = as_it_was(record, self._partitions)
                    message = message if value is None else corrected(message, value)
                except ReflinkError as error:
                    failed.append(error)
                    continue
                yield message.size(), (record.offset, message, partition)

        for group in split(wanted(), _TRANSACTION_BYTES):
            sent = [(message, partition) for _, message, partition in group]
            self._commit([*sent, *((_resolution(offset, "replayed"), 0) for offset, _, _ in group)])
            count += len(group)
            done(count)
        return count, failed

    def drop(self, offsets: Sequence[int], why: str) -> int:
        """Mark the dead letters as dropped; they stay in the topic until its retention ends. Return their number."""
        if offsets:
            self._commit([(_resolution(offset, "dropped", why), 0) for offset in offsets])
        return len(offsets)

    def _commit(self, messages: Sequence[tuple[Message, int]]) -> None:
        try:
            with broker_errors(self.settings):
                self._producer.begin_transaction()
                for message, partition in messages:
                    self._producer.send(
                        self.settings.topic(message.topic),
                        value=message.value,
                        key=message.key,
                        headers=list(message.headers),
                        partition=partition,
                    )
                self._producer.commit_transaction()
        except KafkaError as error:
            if fenced(error):
                raise Fenced(
                    "another `reflink-worker dead-letters` has taken over: list the open dead letters, then continue"
                ) from None
            if isinstance(error, KafkaTimeoutError):
                raise NotSent(
                    f"{error}: the result of the last transaction is unknown; list the open dead letters, then continue"
                ) from None
            raise NotSent(
                f"the last transaction failed, and none of its dead letters is replayed: {error or type(error)}"
            ) from None


def _resolution(offset: int, how: Resolution, why: str = "") -> Message:
    reason = ((MESSAGE, why.encode()),) if why else ()
    return Message(NAME, b"%d" % offset, None, ((RESOLVES, b"%d" % offset), (RESOLUTION, how.encode()), *reason))


def _resolves(record: Received) -> int | None:
    """Return the offset that the record resolves; None for a dead letter, whatever headers its producer set."""
    resolved = record.header(RESOLVES)
    if resolved is None or record.value is not None or record.header(EXCEPTION) is not None:
        return None
    return int(resolved) if resolved.isascii() and resolved.isdigit() else -1


def _letter(record: Received) -> DeadLetter:
    def number(name: str) -> int:
        text = record.header(name) or ""
        return int(text) if text.isascii() and text.isdigit() else -1

    return DeadLetter(
        offset=record.offset,
        timestamp=record.timestamp,
        topic=record.header(TOPIC) or "?",
        partition=number(PARTITION),
        source_offset=number(OFFSET),
        worker=record.header(WORKER) or "?",
        reason=record.header(EXCEPTION) or "?",
        message=record.header(MESSAGE) or "",
        attempt=attempts(record),
        size=len(record.value or b""),
    )


def _records(settings: WorkerSettings, start: int, end: int | None) -> Iterator[Received]:
    """Yield the records from ``start`` (or the oldest left) to ``end``; None reads all records committed by now.

    It reads to the high watermark: a resolution may lie behind a worker's open transaction, and without it the dead letter
    would be replayed twice. Raises Stalled if no record arrives for a minute.
    """
    with TopicAdmin(settings) as admin:
        if NAME not in admin.find([NAME]):
            raise WrongTopic(f"topic {settings.topic(NAME)} does not exist: create the topics with `reflink-worker topics`")
    ends = None if end is None else {0: end}
    with Range(settings, NAME, [0], positions={0: start}, ends=ends, undecided=True) as records:
        yield from records
