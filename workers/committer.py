"""The commit thread: outputs and offsets of finished batches, in one Kafka transaction."""

from __future__ import annotations

import logging
import queue
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from kafka import ConsumerGroupMetadata, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    RebalanceInProgressError,
    RecordListTooLargeError,
    UnknownMemberIdError,
)

from workers import metrics
from workers.batch import Batch
from workers.clients import REFUSALS, fenced, refused
from workers.errors import BrokerUnreachable, Fenced, WorkerError, WrongTopic
from workers.flow import Flow
from workers.observing import observe
from workers.poison import dead_letter
from workers.settings import WorkerSettings
from workers.stage import Message, Output, Place, Received
from workers.topics import TOPICS, partition_of
from workers.transactions import BoundedProducer
from workers.watchdog import Activity

log = logging.getLogger(__name__)

#: The group moved on while the transaction was open: not a fault, the records are read again by whoever has them now.
_MOVED_ON: Final = (
    CommitFailedError,
    IllegalGenerationError,
    UnknownMemberIdError,
    RebalanceInProgressError,
    FencedInstanceIdError,
)
#: The broker says so of one record; kafka-python splits a batch of several by itself.
_TOO_LARGE: Final = (MessageSizeTooLargeError, RecordListTooLargeError)
#: Batches finished meanwhile share a transaction, up to so many: a commit costs the same for one and for all.
_SHARED: Final = 16
_BACKOFF_S: Final = 0.5


@dataclass
class Finished:
    """A handled batch, or a chore, on its way to commit. ``offsets`` is set once it is committed; None when it is given up."""

    batch: Batch
    output: Output
    poison: Sequence[tuple[Received, Exception]] = ()
    offsets: Mapping[Place, int] | None = None
    consumed: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.consumed.update(record.topic for record in self.batch.records)


class Committer:
    """Owns the transactional producer. ``run`` is the thread's body; whatever it raises ends the worker."""

    def __init__(
        self,
        settings: WorkerSettings,
        worker: str,
        flow: Flow,
        partitions: Mapping[str, int],
        make_producer: Callable[[], KafkaProducer],
        group_metadata: Callable[[], ConsumerGroupMetadata],
        activity: Activity,
        check_topics: Callable[[], object] = lambda: None,
    ) -> None:
        self.settings, self.worker, self.flow, self.activity = settings, worker, flow, activity
        self._check_topics = check_topics
        self.finished: queue.Queue[Finished | None] = queue.Queue(maxsize=2)
        #: Next committed offset, as this worker committed or found it, by partition; what idle commits, chores and lag start
        #: from.
        self.positions: dict[Place, int] = {}
        self._partitions = partitions
        self._make_producer = make_producer
        self._group_metadata = group_metadata
        self._producer: BoundedProducer | None = None
        self._partition = lru_cache(maxsize=8192)(partition_of)

    def open(self) -> None:
        """Takes over the slot's transactional id: what a crash left open is aborted. Raises WorkerError."""
        with self.activity("opening the transactional producer"):
            # The broker gives a transaction up after as long.
            producer = BoundedProducer(self._make_producer(), self.settings.transaction_timeout_s)
            try:
                producer.init_transactions()
            except REFUSALS as error:
                raise refused(error, self.settings) from None
            except KafkaError as error:
                if fenced(error):
                    raise Fenced(self._fenced_by_another(error)) from None
                raise
            self._producer = producer

    def run(self) -> None:
        """Commits until ``None`` comes through the queue."""
        while (first := self.finished.get()) is not None:
            group = [first]
            ended = False
            while len(group) < _SHARED and not ended:
                try:
                    more = self.finished.get_nowait()
                except queue.Empty:
                    break
                ended = more is None
                if more is not None:
                    group.append(more)
            self._commit(group)
            if ended:
                return

    def close(self) -> None:
        """Closes the producer; an open transaction is left for the next owner of the slot to abort."""
        if self._producer is not None:
            self._producer.close(timeout=2)

    def _commit(self, group: list[Finished]) -> None:
        current = [each for each in group if self.flow.current(each.batch)]
        try:
            if current:
                self._transaction(current)
        except BaseException:
            # Before they count as done: the position of an idle worker is committed, and theirs is not.
            self.flow.discard()
            raise
        finally:
            for each in group:
                self.flow.done(each.batch)

    def _transaction(self, group: list[Finished]) -> None:
        assert self._producer is not None
        positions: dict[Place, int] = {}
        for each in group:
            positions.update(each.batch.positions)
        started = time.monotonic()
        sent: list[tuple[Message, Any]] = []
        uncertain = False
        try:
            with self.activity("committing a transaction"):
                self._producer.begin_transaction()
                for each in group:
                    sent += ((message, self._send(message)) for message in (*each.output.messages, *self._dead_letters(each)))
                self._producer.send_offsets_to_transaction(
                    {
                        TopicPartition(self.settings.topic(topic), partition): OffsetAndMetadata(offset, "", -1)
                        for (topic, partition), offset in positions.items()
                    },
                    self._group_metadata(),
                )
                if not all(self.flow.current(each.batch) for each in group):
                    raise RebalanceInProgressError("partitions were taken away while the transaction was open")
                uncertain = True
                self._producer.commit_transaction()
        except WorkerError:
            raise
        except REFUSALS as error:
            raise refused(error, self.settings) from None
        except KafkaError as error:
            # A fenced producer tells a record so, and then says of each call only that it does not fit its state.
            for each in (error, *(future.exception for _, future in sent)):
                if each is not None and fenced(each):
                    raise Fenced(self._fenced_by_another(each)) from None
            self._refuse_too_large(sent)
            self._give_up(error, uncertain=uncertain)
            if not isinstance(error, _MOVED_ON):
                # What a topic takes may have been changed: kafka-python would split and try again without end.
                with suppress(BrokerUnreachable, KafkaError), self.activity("checking the topics"):
                    self._check_topics()
            return
        self.positions.update(positions)
        offsets: dict[Place, int] = {}
        for message, future in sent:
            written = future.get(timeout=0)  # committed, so acknowledged: this cannot wait
            offsets[message.topic, written.partition] = written.offset
        for each in group:
            each.offsets = offsets
            self._observe(each)
        metrics.TRANSACTIONS.labels("committed").inc()
        metrics.LAST_COMMIT.set_to_current_time()
        metrics.STAGE_SECONDS.labels("commit").observe(time.monotonic() - started)

    def _dead_letters(self, finished: Finished) -> list[Message]:
        return [dead_letter(record, error, self.worker) for record, error in finished.poison]

    def _send(self, message: Message) -> Any:
        assert self._producer is not None
        key = message.partition_key if message.partition_key is not None else message.key or b""
        return self._producer.send(
            self.settings.topic(message.topic),
            value=message.value,
            key=message.key,
            headers=list(message.headers),
            partition=self._partition(key, self._partitions[message.topic]),
            timestamp_ms=message.timestamp,
        )

    def _give_up(self, error: KafkaError, *, uncertain: bool) -> None:
        """Aborts; all that is uncommitted is read again. Broker faults come here and never make a dead letter.

        ``uncertain``: the commit was asked for, and may have come about.
        """
        moved_on = isinstance(error, _MOVED_ON)
        log.log(
            logging.INFO if moved_on else logging.WARNING,
            "transaction aborted",
            extra={"reason": type(error).__name__, "detail": str(error)},
        )
        metrics.TRANSACTIONS.labels("aborted").inc()
        # First, so that nothing more is computed from records that will be read again; and none of them is, until it is known
        # where to begin.
        self.flow.discard(hold=True)
        assert self._producer is not None
        if not uncertain and not isinstance(error, KafkaTimeoutError):
            try:
                with self.activity("aborting a transaction"):
                    self._producer.abort_transaction()
            except (KafkaError, RuntimeError) as failure:
                if fenced(failure):
                    raise Fenced(self._fenced_by_another(failure)) from None
                # The next one, with the same id, makes the broker abort what is open.
                log.warning("abort failed", extra={"reason": type(failure).__name__, "detail": str(failure)})
        if not moved_on:
            time.sleep(_BACKOFF_S)
        self._replace()
        self.flow.resume(renew=uncertain)

    def _replace(self) -> None:
        """A producer with an aborted transaction is never used again.

        kafka-python 3.0.12 keeps offsets that an aborted transaction could not commit, and commits them with the next one: the
        records they stand for would be lost (tests/workers/test_runtime.py, with rebalances under load, showed it).
        It is replaced at once: until the open transaction has ended, the offsets to read from are not known.
        """
        assert self._producer is not None
        self._producer.close(timeout=1)
        self._producer = None
        while self._producer is None and not self.flow.closed():
            try:
                self.open()
            except (BrokerUnreachable, KafkaError) as error:
                log.warning("no new producer yet", extra={"reason": type(error).__name__, "detail": str(error)})
                time.sleep(_BACKOFF_S)

    def _fenced_by_another(self, error: BaseException) -> str:
        return (
            f"slot {self.settings.slot} of {self.worker} was taken over by another process, or its transaction outlived "
            f"{self.settings.transaction_timeout_s:g} s ({type(error).__name__}): run one process per slot; this one ends"
        )

    def _refuse_too_large(self, sent: Sequence[tuple[Message, Any]]) -> None:
        for message, future in sent:
            if isinstance(future.exception, _TOO_LARGE):
                raise WrongTopic(
                    f"topic {self.settings.topic(message.topic)} no longer takes what it took at the start: the broker refuses "
                    f"an event of {message.size()} bytes as too large; set max.message.bytes of the topic to "
                    f"{TOPICS[message.topic].max_message_bytes}; nothing of this batch is committed"
                )

    def _observe(self, finished: Finished) -> None:
        for topic, count in finished.consumed.items():
            metrics.RECORDS_IN.labels(topic).inc(count)
        out = Counter(message.topic for message in finished.output.messages)
        for topic, count in out.items():
            metrics.RECORDS_OUT.labels(topic).inc(count)
        for _, error in finished.poison:
            metrics.DEAD_LETTERS.labels(type(error).__name__).inc()
        if finished.batch.records:  # else a chore
            metrics.BATCH_RECORDS.observe(len(finished.batch.records))
        observe(finished.output.observed)
