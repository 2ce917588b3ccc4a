"""The commit thread: writes the outputs and offsets of finished batches in one Kafka transaction.

1. A transaction holds the outputs, dead letters and offsets of up to 16 batches, so they take effect together or not at all.
2. It commits the offsets with the membership under which the partitions were assigned (see ``flow``), and only if all its
   batches are still of the current epoch.
3. After a fault of the broker all uncommitted records are read again, once a new producer has ended the open transaction.

Cost: one commit for all batches that finished during the previous commit.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from kafka import KafkaProducer, OffsetAndMetadata, TopicPartition
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

from workers.config.settings import WorkerSettings
from workers.dead_letter import dead_letter
from workers.errors import BrokerUnreachable, Fenced, WrongTopic
from workers.kafka.errors import broker_errors, fenced
from workers.kafka.topics import TOPICS, partition_of
from workers.kafka.transactional_producer import BoundedProducer
from workers.records import Message, Partition
from workers.runtime.finished import Finished
from workers.runtime.flow import Flow
from workers.runtime.watchdog import Activity
from workers.telemetry import metrics

log = logging.getLogger(__name__)

#: The group has rebalanced while the transaction was open. This is not a fault: the present owners read the records again.
_REBALANCED: Final = (
    CommitFailedError,
    IllegalGenerationError,
    UnknownMemberIdError,
    RebalanceInProgressError,
    FencedInstanceIdError,
)
#: The broker's errors for a single record; kafka-python splits a larger batch by itself.
_TOO_LARGE: Final = (MessageSizeTooLargeError, RecordListTooLargeError)
#: Maximum number of finished batches in one transaction: the cost of a commit does not depend on their number.
_MAX_GROUP: Final = 16
_BACKOFF_S: Final = 0.5

#: A message and kafka-python's future of its acknowledgement.
Sent = tuple[Message, Any]


class Committer:
    """The owner of the transactional producer. ``run`` is the body of the commit thread; its exceptions end the worker."""

    def __init__(
        self,
        settings: WorkerSettings,
        worker: str,
        flow: Flow,
        partitions: Mapping[str, int],
        make_producer: Callable[[], KafkaProducer],
        activity: Activity,
        check_topics: Callable[[], object] = lambda: None,
        note: str = "",
    ) -> None:
        self.settings, self.worker, self.flow, self.activity = settings, worker, flow, activity
        self._check_topics = check_topics
        #: Metadata of all committed offsets.
        self._note = note
        self.finished: queue.Queue[Finished | None] = queue.Queue(maxsize=2)
        #: Committed offset (the next to read) of each partition, as this worker committed or found it. Idle commits, background
        #: tasks and the measurement of lag use it.
        self.positions: dict[Partition, int] = {}
        self._partitions = partitions
        self._make_producer = make_producer
        self._producer: BoundedProducer | None = None
        self._partition = lru_cache(maxsize=8192)(partition_of)

    def open(self) -> None:
        """Take over the slot's transactional id; the broker aborts a transaction that a crash left open. Raises WorkerError."""
        with self.activity("opening the transactional producer"):
            # The broker aborts a transaction after the same time.
            producer = BoundedProducer(self._make_producer(), self.settings.transaction_timeout_s)
            try:
                with broker_errors(self.settings):
                    producer.init_transactions()
            except KafkaError as error:
                if fenced(error):
                    raise Fenced(self._fenced_by_another(error)) from None
                raise
            self._producer = producer

    @property
    def producer(self) -> BoundedProducer:
        """The open producer."""
        assert self._producer is not None
        return self._producer

    def run(self) -> None:
        """Commit finished batches until the queue delivers ``None``."""
        ended = False
        while not ended:
            group, ended = self._next_group()
            if group:
                self.commit(group)

    def _next_group(self) -> tuple[list[Finished], bool]:
        """Wait for a finished batch. Return it with all that follow it already, and whether the queue has ended."""
        group: list[Finished] = []
        each = self.finished.get()
        while each is not None:
            group.append(each)
            if len(group) == _MAX_GROUP:
                return group, False
            try:
                each = self.finished.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def close(self) -> None:
        """Close the producer. The next owner of the slot aborts a transaction that is still open."""
        if self._producer is not None:
            self._producer.close(timeout=2)

    def commit(self, group: Sequence[Finished]) -> None:
        """Commit the batches of the group that are still current, and remove all of them from the batches in flight."""
        current = [each for each in group if self.flow.current(each.batch)]
        try:
            if current:
                self._transaction(current)
        except BaseException:
            # Discard before ``done``: otherwise the worker looks idle, and an idle commit would skip these records.
            self.flow.discard()
            raise
        finally:
            for each in group:
                self.flow.done(each.batch)

    def _transaction(self, group: Sequence[Finished]) -> None:
        positions: dict[Partition, int] = {}
        for each in group:
            positions.update(each.batch.positions)
        started = time.monotonic()
        sent: list[Sent] = []
        uncertain = False
        try:
            with self.activity("committing a transaction"), broker_errors(self.settings):
                self._write(group, positions, sent)
                uncertain = True
                self.producer.commit_transaction()
        except KafkaError as error:
            self._recover(error, sent, uncertain=uncertain)
            return
        self.positions.update(positions)
        # Committed, so acknowledged: the futures cannot wait.
        written = [(message.topic, future.get(timeout=0)) for message, future in sent]
        offsets = {(topic, record.partition): record.offset for topic, record in written}
        for each in group:
            each.offsets = offsets
            each.update_metrics()
        metrics.TRANSACTIONS.labels("committed").inc()
        metrics.LAST_COMMIT.set_to_current_time()
        metrics.STAGE_SECONDS.labels("commit").observe(time.monotonic() - started)

    def _write(self, group: Sequence[Finished], positions: Mapping[Partition, int], sent: list[Sent]) -> None:
        """Begin a transaction, send it messages and offsets, and append the messages to ``sent``.

        Raises RebalanceInProgressError if a batch is no longer current.
        """
        self.producer.begin_transaction()
        for each in group:
            dead_letters = (dead_letter(record, error, self.worker) for record, error in each.poison)
            sent += ((message, self._send(message)) for message in (*each.output.messages, *dead_letters))
        membership = self.flow.membership(each.batch for each in group)
        if membership is None or not membership.member_id:
            raise RebalanceInProgressError("partitions were taken away before the transaction had their offsets")
        offsets = {
            TopicPartition(self.settings.topic(topic), partition): OffsetAndMetadata(offset, self._note, -1)
            for (topic, partition), offset in positions.items()
        }
        self.producer.send_offsets_to_transaction(offsets, membership)
        if not all(self.flow.current(each.batch) for each in group):
            raise RebalanceInProgressError("partitions were taken away while the transaction was open")

    def _send(self, message: Message) -> Any:
        partition = message.partition
        if partition is None:
            key = message.partition_key if message.partition_key is not None else message.key or b""
            partition = self._partition(key, self._partitions[message.topic])
        return self.producer.send(
            self.settings.topic(message.topic),
            value=message.value,
            key=message.key,
            headers=list(message.headers),
            partition=partition,
            timestamp_ms=message.timestamp,
        )

    def _recover(self, error: KafkaError, sent: Sequence[Sent], *, uncertain: bool) -> None:
        """Abort the transaction, discard everything uncommitted, and replace the producer.

        All broker faults are handled here, so they never make a dead letter. ``uncertain``: the commit was requested and may
        have succeeded. Raises Fenced, and WrongTopic if a topic no longer accepts what it accepted at the start.
        """
        # kafka-python reports fencing in a record's future. Later calls raise only an error about the producer's state.
        for each in (error, *(future.exception for _, future in sent)):
            if each is not None and fenced(each):
                raise Fenced(self._fenced_by_another(each)) from None
        self._check_sizes(sent)
        rebalanced = isinstance(error, _REBALANCED)
        log.log(
            logging.INFO if rebalanced else logging.WARNING,
            "transaction aborted",
            extra={"reason": type(error).__name__, "detail": str(error)},
        )
        metrics.TRANSACTIONS.labels("aborted").inc()
        # First, so that no more records are handled that will be read again. Reading is suspended until the offsets are known.
        self.flow.discard(hold=True)
        if not uncertain and not isinstance(error, KafkaTimeoutError):
            self._abort()
        if not rebalanced:
            time.sleep(_BACKOFF_S)
        self._replace()
        self.flow.resume(renew=uncertain)
        if not rebalanced:
            # A topic's size limit may have been lowered: kafka-python would split and retry without end.
            with self.activity("checking the topics"):
                self._check_topics()

    def _abort(self) -> None:
        try:
            with self.activity("aborting a transaction"):
                self.producer.abort_transaction()
        except (KafkaError, RuntimeError) as error:
            if fenced(error):
                raise Fenced(self._fenced_by_another(error)) from None
            # The next producer has the same id, so the broker aborts the open transaction.
            log.warning("abort failed", extra={"reason": type(error).__name__, "detail": str(error)})

    def _replace(self) -> None:
        """Replace the producer after an aborted transaction.

        kafka-python 3.0.12 keeps the offsets that an aborted transaction could not commit and commits them with the next
        transaction, which would lose their records (tests/workers/runtime/test_commit_loop.py).
        """
        self.producer.close(timeout=1)
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

    def _check_sizes(self, sent: Sequence[Sent]) -> None:
        for message, future in sent:
            if isinstance(future.exception, _TOO_LARGE):
                raise WrongTopic(
                    f"topic {self.settings.topic(message.topic)} accepts smaller events than at the start: the broker refuses "
                    f"an event of {message.size()} bytes as too large; set max.message.bytes of the topic to "
                    f"{TOPICS[message.topic].max_message_bytes}; nothing of this batch is committed"
                )
