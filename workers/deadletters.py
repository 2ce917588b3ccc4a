"""Dead letters: what is open, sending one back where it came from, dropping one.

The topic only grows. What became of a dead letter is a record in it too: without a value, with headers that name the offset it
resolves and how. It is written in one transaction with the replayed record, so a dead letter is replayed once however the
command ends. The transactional id is the same for all: a second command fences the first and reads only what that has
committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Literal, Self

from kafka import TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError

from reflink.errors import BadRecord, ReflinkError, TooLarge
from schemas.papers import CONTENT_HEADER, ENCODING_HEADER, VERSION_HEADER
from workers.clients import REFUSALS, UNREADABLE, fenced, plain_consumer, refused, transactional_producer, unreadable
from workers.errors import Fenced
from workers.poison import (
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
from workers.publishing import compress
from workers.sending import NotSent
from workers.settings import WorkerSettings
from workers.stage import Headers, Message, Received, split
from workers.topics import TOPICS, TopicAdmin, partition_of
from workers.transactions import BoundedProducer

NAME: Final = "dead-letters"
Resolution = Literal["replayed", "dropped"]

#: Topics that workers consume, and whose records may die.
SOURCES: Final = ("papers", "references", "retries", "fallback", "outcomes", "catalog")

#: Bytes sent in one transaction.
_TOGETHER: Final = 8_000_000
_MAGIC: Final = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))


class CannotReplay(ReflinkError):
    """A dead letter that cannot be sent back; the message says why."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One dead letter without its value. ``timestamp``: when it died, in milliseconds since 1970."""

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
    #: None while it is open.
    resolution: str | None = None
    #: What was said when it was dropped.
    why: str = ""

    @property
    def place(self) -> str:
        """Where it came from."""
        return f"{self.topic}[{self.partition}]@{self.source_offset}"


def read(settings: WorkerSettings) -> list[DeadLetter]:
    """All dead letters that the topic still holds, in order of their offsets, with what became of them."""
    letters: dict[int, DeadLetter] = {}
    for record in _records(settings, 0, None):
        if (resolved := _resolves(record)) is None:
            letters[record.offset] = _letter(record)
        elif resolved in letters:
            how, why = record.header(RESOLUTION) or "?", record.header(MESSAGE) or ""
            letters[resolved] = replace(letters[resolved], resolution=how, why=why)
    return list(letters.values())


def fetch(settings: WorkerSettings, offsets: Iterable[int]) -> Iterator[Received]:
    """The records at these offsets of the topic, in order, with their values."""
    wanted = set(offsets)
    if wanted:
        yield from (each for each in _records(settings, min(wanted), max(wanted) + 1) if each.offset in wanted)


def as_it_was(record: Received, partitions: Mapping[str, int]) -> tuple[Message, int]:
    """The message that a dead letter was, with its attempts, and the partition it came from. Raises CannotReplay.

    ``partitions`` of the topics that exist, by name. Its time is that of the replay, since retention counts from it; a paper's
    version, which is its first timestamp where it has no other, stays.
    """
    topic, place = record.header(TOPIC) or "", record.header(PARTITION) or ""
    if topic not in partitions or topic == NAME:
        raise CannotReplay(f"dead letter {record.offset}: the topic that it says it came from, {topic!r}, is none of reflink's")
    tried = ((ATTEMPT, str(attempts(record)).encode()),)
    headers = (*(header for header in record.headers if header[0] not in OURS), *tried)
    if topic == "papers" and record.header(VERSION_HEADER) is None and (first := record.header(TIMESTAMP)):
        headers = (*headers, (VERSION_HEADER, first.encode()))
    known = place.isascii() and place.isdigit() and len(place) < 10 and int(place) < partitions[topic]
    partition = int(place) if known else partition_of(record.key or b"", partitions[topic])
    return Message(topic, record.key, record.value, headers), partition


def mended(message: Message, value: bytes) -> Message:
    """The message with another value; of a paper the headers say how that is compressed. Raises TooLarge."""
    headers: Headers = message.headers
    if message.topic == "papers":
        encoding = next((name for magic, name in _MAGIC if value.startswith(magic)), "")
        if not encoding:
            value, encoding = compress(value, "zstd"), "zstd"
        told = ((CONTENT_HEADER, b"xml"), (ENCODING_HEADER, encoding.encode()))
        headers = (*(header for header in headers if header[0] not in (CONTENT_HEADER, ENCODING_HEADER)), *told)
    changed = replace(message, value=value, headers=headers)
    if changed.size() > (limit := TOPICS[message.topic].max_message_bytes):
        raise TooLarge(f"the mended value makes a record of {changed.size()} bytes and {message.topic} takes {limit}")
    return changed


class Resolver:
    """Replays and drops. Use as a context manager: it fences any other command that is at it."""

    def __init__(self, settings: WorkerSettings) -> None:
        self.settings = settings.model_copy(update={"slot": "operator"})
        with TopicAdmin(settings) as admin:
            self._partitions = {name: topic.partitions for name, topic in admin.find((*SOURCES, NAME)).items()}

    def __enter__(self) -> Self:
        """Ends what another command left open, so that what is read from now on is how it stays. Raises BrokerRefused."""
        producer = transactional_producer(self.settings, NAME)
        self._producer = BoundedProducer(producer, self.settings.transaction_timeout_s)
        try:
            self._producer.init_transactions()
        except REFUSALS as error:
            raise refused(error, self.settings) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._producer.close(timeout=5)

    def replay(
        self, offsets: Sequence[int], *, value: bytes | None = None, done: Callable[[int], object] = lambda _: None
    ) -> tuple[int, list[ReflinkError]]:
        """Sends them back; ``value`` replaces that of the only one. Returns how many, and what was wrong with the others.

        Raises NotSent or Fenced: those told to ``done`` are replayed, no other is.
        """
        count, failed = 0, list[ReflinkError]()

        def wanted() -> Iterator[tuple[int, tuple[int, Message, int]]]:
            for record in fetch(self.settings, offsets):
                try:
                    message, partition = as_it_was(record, self._partitions)
                    message = message if value is None else mended(message, value)
                except ReflinkError as error:
                    failed.append(error)
                    continue
                yield message.size(), (record.offset, message, partition)

        for group in split(wanted(), _TOGETHER):
            sent = [(message, partition) for _, message, partition in group]
            self._commit([*sent, *((_resolution(offset, "replayed"), 0) for offset, _, _ in group)])
            count += len(group)
            done(count)
        return count, failed

    def drop(self, offsets: Sequence[int], why: str) -> int:
        """Marks them as dropped; they stay where they are until the topic's retention takes them. Returns how many."""
        if offsets:
            self._commit([(_resolution(offset, "dropped", why), 0) for offset in offsets])
        return len(offsets)

    def _commit(self, messages: Sequence[tuple[Message, int]]) -> None:
        try:
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
        except REFUSALS as error:
            raise refused(error, self.settings) from None
        except KafkaError as error:
            if fenced(error):
                raise Fenced(
                    "another `reflink-worker dead-letters` is at it and took over: list what is open, then go on"
                ) from None
            if isinstance(error, KafkaTimeoutError):
                raise NotSent(
                    f"{error}: it is not known whether the last step came about; list what is open, then go on"
                ) from None
            raise NotSent(f"the broker did not take it, nothing of the last step is replayed: {error or type(error)}") from None


def _resolution(offset: int, how: Resolution, why: str = "") -> Message:
    said = ((MESSAGE, why.encode()),) if why else ()
    return Message(NAME, b"%d" % offset, None, ((RESOLVES, b"%d" % offset), (RESOLUTION, how.encode()), *said))


def _resolves(record: Received) -> int | None:
    """The offset that the record resolves; None for a dead letter, whatever headers its producer gave it."""
    said = record.header(RESOLVES)
    if said is None or record.value is not None or record.header(EXCEPTION) is not None:
        return None
    return int(said) if said.isascii() and said.isdigit() else -1


def _letter(record: Received) -> DeadLetter:
    def number(name: str) -> int:
        said = record.header(name) or ""
        return int(said) if said.isascii() and said.isdigit() else -1

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
    """Records of the topic from ``start`` (or the oldest that is left) to ``end``, None: to where it ends now."""
    consumer: Any = plain_consumer(settings)
    try:
        place = TopicPartition(settings.topic(NAME), 0)
        if not consumer.partitions_for_topic(place.topic):
            raise BadRecord(f"topic {place.topic} does not exist: create the topics with `reflink-worker topics`")
        consumer.assign([place])
        last = consumer.end_offsets([place])[place]
        end = last if end is None else min(end, last)
        consumer.seek(place, max(start, consumer.beginning_offsets([place])[place]))
        while consumer.position(place) < end:
            for records in consumer.poll(timeout_ms=500).values():
                for each in records:
                    if each.offset < end:
                        headers = tuple((name, value or b"") for name, value in each.headers)
                        yield Received(NAME, 0, each.offset, each.key, each.value, headers, each.timestamp)
    except UNREADABLE as error:
        raise unreadable(error) from None
    finally:
        consumer.close()
