"""The poll thread: fetches records into the flow, handles rebalances and commits the positions of an idle worker.

Every turn seeks partitions back that must be read again, applies backpressure and polls. It waits for no batch, so heartbeats
and rebalances continue while a batch is handled.

Invariant: the consumer is sought to the committed offset of a partition before the flow accepts its records, and the position
of an idle worker is committed only beyond the known committed offset.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from kafka import ConsumerGroupMetadata, TopicPartition
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.errors import IllegalStateError, KafkaError, KafkaTimeoutError
from kafka.structs import MemberState

from workers.config.settings import WorkerSettings
from workers.kafka.clients import GroupConsumer, received, uncommitted_ends
from workers.kafka.errors import broker_errors
from workers.records import Partition
from workers.runtime.backpressure import Backpressure
from workers.runtime.finished import Finished
from workers.runtime.flow import Flow
from workers.runtime.lag import LagMeter
from workers.runtime.stalls import StallDetector
from workers.runtime.watchdog import Activity
from workers.stage import Output, Stage
from workers.telemetry import metrics

log = logging.getLogger(__name__)

_POLL_MS: Final = 100
_PAUSED_POLL_MS: Final = 10
_POSITION_MS: Final = 3000
_SEEK_MS: Final = 500


class Poller(ConsumerRebalanceListener):  # type: ignore[misc]
    """The owner of the consumer. kafka-python's thread calls the listener's methods (``on_...``), the poll thread all others.

    ``committed``: committed offset by partition, shared with the committer; valid for every partition that need not be sought
    back. ``submit`` queues positions to commit, in order with all other commits. ``remember`` receives the member id.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        stage: Stage[Any, Any],
        consumer: GroupConsumer,
        flow: Flow,
        committed: dict[Partition, int],
        submit: Callable[[Finished], object],
        activity: Activity,
        remember: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.settings, self.consumer, self.flow, self.committed = settings, consumer, flow, committed
        self._activity, self._submit, self._remember = activity, submit, remember
        #: Whether the consumer has joined its group at least once.
        self.joined = False
        self.stalls = StallDetector(settings.stall_timeout_s)
        self._names = {settings.topic(name): name for name in (*stage.inputs, *stage.background_inputs)}
        self._background = frozenset(stage.background_inputs)
        self._backpressure = Backpressure(
            consumer,
            {settings.topic(name) for name in self._background},
            max_bytes=settings.queue_bytes,
            batch_records=settings.batch_records,
        )
        self._lag = LagMeter(consumer, committed, settings.stall_timeout_s)
        # Partitions without a committed offset; ``committed`` holds the offset where reading begins.
        self._uncommitted: set[Partition] = set()
        self._next_idle_commit = 0.0
        self._next_lag = 0.0

    def subscribe(self) -> None:
        """Subscribe to the inputs. The consumer joins the group and gets partitions while it is polled."""
        self.consumer.assignor.assigned = self.on_assignment
        self.consumer.subscribe(topics=list(self._names), listener=self)

    def poll_once(self) -> None:
        """Run one turn of the poll loop. Raises WorkerError."""
        try:
            with self._activity("polling"), broker_errors(self.settings):
                if self.joining():
                    self.fetch(_POLL_MS)
                    return
                self._seek_back()
                self._backpressure.apply(self.flow.queued())
                self.fetch(_PAUSED_POLL_MS if self._backpressure.paused else _POLL_MS)
                if self.joining():
                    return
                now = time.monotonic()
                if now >= self._next_idle_commit:
                    with self.flow.rest() as idle:
                        if idle:
                            self._next_idle_commit = now + self.settings.idle_commit_s
                            self._commit_positions()
                if now >= self._next_lag:
                    self._next_lag = now + self.settings.lag_interval_s
                    self.measure()
        except KafkaError as error:
            log.warning("polling failed, trying again", extra={"reason": type(error).__name__, "detail": str(error)})
            time.sleep(0.2)

    def keep_alive(self) -> None:
        """Stay in the group without fetching, while the last batch finishes."""
        try:
            self.joining()  # the member id may change meanwhile
            self.consumer.pause(*self.consumer.assignment())
            self.consumer.poll()
        except KafkaError:
            log.debug("polling failed while draining", exc_info=True)

    # The rebalance listener. It runs in kafka-python's thread, which sends no heartbeat meanwhile: hence the short deadline.

    def on_assignment(self, membership: ConsumerGroupMetadata, assigned: Iterable[TopicPartition], continued: bool) -> None:
        """Record a new assignment, before the other calls of a rebalance; ``continued`` as in ``Partitions.join``."""
        if lost := self.flow.partitions.join(membership, self._partitions(assigned), continued=continued):
            self._report_lost(lost)

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Take over additional partitions."""
        partitions = self._partitions(assigned)
        for partition in partitions:
            self.committed.pop(partition, None)
        self.flow.partitions.assign(partitions)
        metrics.REBALANCES.labels("assigned").inc()
        log.info("partitions assigned", extra={"partitions": sorted(partitions)})

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Give up partitions once the batch in flight is committed, or is discarded at the deadline."""
        partitions = self._partitions(revoked)
        started = time.monotonic()
        in_time = self.flow.partitions.revoke(partitions, self.settings.revocation_deadline_s)
        self._forget(partitions)
        metrics.REBALANCES.labels("revoked").inc()
        log.info(
            "partitions revoked",
            extra={"partitions": sorted(partitions), "finished": in_time, "seconds": round(time.monotonic() - started, 3)},
        )

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        """Discard partitions that another worker owns already, because this member was removed from the group."""
        partitions = self._partitions(lost)
        self.flow.partitions.lose(partitions)
        self._report_lost(partitions)

    def _report_lost(self, partitions: Iterable[Partition]) -> None:
        self._forget(partitions)
        metrics.REBALANCES.labels("lost").inc()
        log.warning("partitions lost", extra={"partitions": sorted(partitions)})

    def _forget(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            self.stalls.forget(partition)
            self.committed.pop(partition, None)
            self._lag.forget(partition)

    def _partitions(self, partitions: Iterable[TopicPartition]) -> list[Partition]:
        return [(self._names[each.topic], each.partition) for each in partitions]

    def _topic_partition(self, partition: Partition) -> TopicPartition:
        return TopicPartition(self.settings.topic(partition[0]), partition[1])

    # Steps of a turn

    def joining(self) -> bool:
        """Return whether the consumer is joining the group. Meanwhile the loop only polls: see GroupConsumer."""
        metadata = self.consumer.group_metadata()
        self._remember(metadata.member_id)
        return bool(metadata.state == MemberState.REBALANCING)

    def _seek_back(self) -> None:
        sought: list[tuple[Partition, int, int]] = []
        for partition in self.flow.partitions.to_seek_back():
            topic_partition, departures = self._topic_partition(partition), self.flow.partitions.departures()
            try:
                offset = self._committed_offset(topic_partition)
                if self._has_decreased(partition, offset):
                    continue
                if offset is None:
                    self.consumer.seek_to_beginning(topic_partition)
                else:
                    self.consumer.seek(topic_partition, offset)
                self._record_position(partition, offset)
            except (IllegalStateError, AssertionError, ValueError):
                continue  # the partition has just left; the listener informs the flow
            except KafkaTimeoutError:
                continue  # a killed worker's open transaction blocks the offset: retry next turn, without delaying the others
            sought.append((partition, departures, offset or 0))
            log.info("reading from the committed offset", extra={"partition": partition, "from_offset": offset})
        for partition, departures, start in sought:  # all together, so that the stage need not open them one after the other
            self.flow.partitions.sought_back(partition, departures, start)

    def _committed_offset(self, topic_partition: TopicPartition) -> int | None:
        """Return the committed offset, or None. kafka-python gives the first request the late response of an earlier one."""
        self.consumer.committed(topic_partition, timeout_ms=_SEEK_MS)
        offset: int | None = self.consumer.committed(topic_partition, timeout_ms=_SEEK_MS)
        return offset

    def _has_decreased(self, partition: Partition, offset: int | None) -> bool:
        """Return whether the broker returned a lower offset than this member has committed, or none: the caller retries."""
        known = self.committed.get(partition)
        if known is None or partition in self._uncommitted or (offset is not None and offset >= known):
            return False
        log.warning("committed offset went back", extra={"partition": partition, "offset": offset, "known_offset": known})
        return True

    def _record_position(self, partition: Partition, offset: int | None) -> None:
        """Record the offset that background tasks commit again: the committed one, or where reading begins."""
        (self._uncommitted.add if offset is None else self._uncommitted.discard)(partition)
        position = (
            offset if offset is not None else self.consumer.position(self._topic_partition(partition), timeout_ms=_SEEK_MS)
        )
        if position is None:
            self.committed.pop(partition, None)
        else:
            self.committed[partition] = position

    def fetch(self, timeout_ms: int) -> None:
        """Poll, and queue the records. If the consumer went back by itself, seek it forward, unless the log was truncated."""
        polled = self.consumer.poll(timeout_ms=timeout_ms)
        # A member without a partition has joined too: it waits until one becomes free.
        self.joined = self.joined or self.consumer.group_metadata().state == MemberState.STABLE
        fetched = (received(self._names[record.topic], record) for records in polled.values() for record in records)
        for partition, (first, following) in self.flow.offer(fetched).items():
            topic_partition = self._topic_partition(partition)
            with suppress(IllegalStateError):  # the partition has just left
                self.consumer.seek(topic_partition, first)  # the same records again, should the next request fail
                if truncated := uncommitted_ends(self.settings, [topic_partition])[topic_partition] < following:
                    # A broker lost acknowledged records. Handling some twice is better than missing some.
                    self.flow.partitions.truncated(partition, first)
                else:
                    self.consumer.seek(topic_partition, following)
                log.warning(
                    "consumer went back", extra={"partition": partition, "from_offset": following, "truncated": truncated}
                )

    def _commit_positions(self) -> None:
        """Commit positions past transaction markers and aborted records, so that an idle worker's lag is 0."""
        advanced, departures = {}, self.flow.partitions.departures()
        for partition in self.flow.partitions.owned() - self.flow.held():
            try:
                position = self.consumer.position(self._topic_partition(partition), timeout_ms=_POSITION_MS)
            except (IllegalStateError, AssertionError):
                continue
            known = self.committed.get(partition, -1)
            # Never back: see ``Flow.offer``.
            if position is not None and (position > known or (position == known and partition in self._uncommitted)):
                advanced[partition] = position
        batch = self.flow.idle_batch(advanced, departures) if advanced and self.flow.idle() else None
        if batch is None:
            return
        # Not through the consumer: a delayed request could overwrite the offsets that a transaction has committed meanwhile.
        finished = Finished(batch, Output())
        self._submit(finished)
        self.flow.wait_for(finished.batch, self.settings.transaction_timeout_s)
        if finished.offsets is not None:
            self._uncommitted.difference_update(advanced)

    def measure(self) -> None:
        """Measure the lag, for the metrics and the backpressure. Raises Stalled if a partition makes no progress."""
        owned = self.flow.partitions.owned()
        try:
            if owned:
                self._measure(owned)
        finally:
            # kafka-python's thread may have revoked partitions before their lag was set; without this it would stay for ever.
            self._forget(owned - self.flow.partitions.owned())

    def _measure(self, owned: frozenset[Partition]) -> None:
        progress = self._lag.measure({partition: self._topic_partition(partition) for partition in owned})
        self._backpressure.live_lag = max(
            (each.lag for (topic, _), each in progress.items() if topic not in self._background), default=0
        )
        now = time.monotonic()
        outage = self.flow.outage.active
        held, handled, restoring = self.flow.held(), self.flow.handled(), self.flow.partitions.processing_events()
        for partition, (position, lag) in progress.items():
            # A background partition that is paused or not ready may stay at its offset for any time, and every partition during
            # an outage of a service: a restart would not end it.
            excused = restoring or outage or (partition[0] in self._background and partition not in handled)
            self.stalls.observe(partition, position, lag, now, excused=excused, queued=partition in held)
