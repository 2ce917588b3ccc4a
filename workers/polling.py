"""The poll thread: fetching into the flow, backpressure, rebalances, idle commits, lag."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.errors import IllegalStateError, KafkaError, KafkaTimeoutError
from kafka.structs import MemberState

from workers import metrics
from workers.clients import REFUSALS, UNREADABLE, received, refused, unreadable
from workers.errors import Stalled
from workers.flow import Flow
from workers.settings import WorkerSettings
from workers.stage import Place, Stage
from workers.watchdog import Activity

log = logging.getLogger(__name__)

_POLL_MS: Final = 100
_PAUSED_POLL_MS: Final = 10
_JOINING_POLL_MS: Final = 1000
_CALL_MS: Final = 3000
_SEEK_MS: Final = 500


class Poller(ConsumerRebalanceListener):  # type: ignore[misc]
    """Owns the consumer. All methods but the listener's three are called by one thread; those come from kafka-python's."""

    def __init__(
        self,
        settings: WorkerSettings,
        stage: Stage[Any, Any],
        consumer: KafkaConsumer,
        flow: Flow,
        committed: dict[Place, int],
        activity: Activity,
        remember: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.settings, self.stage, self.consumer, self.flow, self.activity = settings, stage, consumer, flow, activity
        #: Hears our member id.
        self._remember = remember
        self.joined = False
        #: Next committed offset by partition, shared with the committer; right for all that need not be sought back.
        self.committed = committed
        self._names = {settings.topic(name): name for name in (*stage.inputs, *stage.background_inputs)}
        self._background = frozenset(stage.background_inputs)
        #: What was last told to the consumer, and of which partitions: new ones come unpaused.
        self._paused = False
        self._told: frozenset[TopicPartition] = frozenset()
        self._lagging = False
        #: Partitions of which nothing was committed yet: ``committed`` says where they begin.
        self._untouched: set[Place] = set()
        self._next_idle_commit = 0.0
        self._next_lag = 0.0
        #: Committed position when last seen to move, and when; and when any of them last did.
        self._progress: dict[Place, tuple[int, float]] = {}
        self._any_progress = 0.0

    def subscribe(self) -> None:
        """Asks to join the group; partitions come while polling."""
        self.consumer.subscribe(topics=list(self._names), listener=self)

    def poll_once(self) -> None:
        """One turn of the loop. Raises WorkerError."""
        try:
            with self.activity("polling"):
                if self._joining():
                    self._fetch(_JOINING_POLL_MS)
                    return
                self._seek_back()
                self._pause_or_resume()
                self._fetch(_PAUSED_POLL_MS if self._paused else _POLL_MS)
                now = time.monotonic()
                if now >= self._next_idle_commit:
                    with self.flow.rest() as idle:
                        if idle:
                            self._next_idle_commit = now + self.settings.idle_commit_s
                            self._commit_position()
                if now >= self._next_lag:
                    self._next_lag = now + self.settings.lag_interval_s
                    self._measure_lag()
        except REFUSALS as error:
            raise refused(error, self.settings) from None
        except UNREADABLE as error:
            raise unreadable(error) from None
        except KafkaError as error:
            log.warning("polling failed, trying again", extra={"reason": type(error).__name__, "detail": str(error)})
            time.sleep(0.2)

    def keep_alive(self) -> None:
        """Stays in the group without fetching, while the last batch is finished."""
        try:
            self.consumer.pause(*self.consumer.assignment())
            self.consumer.poll(_JOINING_POLL_MS if self._joining() else 0)
        except KafkaError:
            log.debug("polling failed while draining", exc_info=True)

    # The listener. Called within kafka-python's thread, where no heartbeat is sent meanwhile: hence the short deadline.

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """More partitions are ours."""
        places = self._places(assigned)
        for place in places:
            self.committed.pop(place, None)
        self.flow.assign(places)
        metrics.REBALANCES.labels("assigned").inc()
        log.info("partitions assigned", extra={"partitions": sorted(places)})

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Partitions move to another worker once the batch in flight is committed, or given up at the deadline."""
        places = self._places(revoked)
        started = time.monotonic()
        in_time = self.flow.revoke(places, self.settings.revocation_deadline_s)
        self._forget(places)
        metrics.REBALANCES.labels("revoked").inc()
        log.info(
            "partitions revoked",
            extra={"partitions": sorted(places), "finished": in_time, "seconds": round(time.monotonic() - started, 3)},
        )

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        """The group did without us: another worker has these partitions already."""
        places = self._places(lost)
        self.flow.lose(places)
        self._forget(places)
        metrics.REBALANCES.labels("lost").inc()
        log.warning("partitions lost", extra={"partitions": sorted(places)})

    def _places(self, partitions: Iterable[TopicPartition]) -> list[Place]:
        return [(self._names[each.topic], each.partition) for each in partitions]

    def _forget(self, places: Iterable[Place]) -> None:
        for topic, partition in places:
            self._progress.pop((topic, partition), None)
            self.committed.pop((topic, partition), None)
            with suppress(KeyError):  # never measured
                metrics.LAG.remove(topic, str(partition))

    # Turns of the loop

    def _partition(self, place: Place) -> TopicPartition:
        return TopicPartition(self.settings.topic(place[0]), place[1])

    def _joining(self) -> bool:
        """Whether the group is being joined. Nothing but polling is done then, and that without haste.

        kafka-python 3.0.12 forgets a join that comes about while nobody polls, and begins another: with short polls and other
        calls between them a member joined again and again for minutes, and the whole group waited.
        """
        metadata = self.consumer.group_metadata()
        self._remember(metadata.member_id)
        return bool(metadata.state == MemberState.REBALANCING)

    def _seek_back(self) -> None:
        sought: list[tuple[Place, int]] = []
        for place in self.flow.to_seek_back():
            partition, departures = self._partition(place), self.flow.departures()
            try:
                offset = self._committed(partition)
                if offset is None:
                    self.consumer.seek_to_beginning(partition)
                else:
                    self.consumer.seek(partition, offset)
                self._learn(place, offset)
            except (IllegalStateError, AssertionError, ValueError):
                continue  # it left just now; the listener says so to the flow
            except KafkaTimeoutError:
                continue  # an open transaction of a killed worker holds it: next turn, the others need not wait
            sought.append((place, departures))
            log.info("reading again", extra={"partition": place, "from_offset": offset})
        for place, departures in sought:  # at once, lest the stage opens one after the other
            self.flow.sought_back(place, departures)

    def _learn(self, place: Place, offset: int | None) -> None:
        """Where a partition stands, for chores, which commit that again. Without an offset it is where reading begins."""
        (self._untouched.add if offset is None else self._untouched.discard)(place)
        position = offset if offset is not None else self.consumer.position(self._partition(place), timeout_ms=_SEEK_MS)
        if position is None:
            self.committed.pop(place, None)
        else:
            self.committed[place] = position

    def _committed(self, partition: TopicPartition) -> int | None:
        """The committed offset as it is now, None without one.

        Asked twice: kafka-python keeps the answer to a question whose asker ran out of time, and gives that to the next one.
        """
        self.consumer.committed(partition, timeout_ms=_SEEK_MS)
        offset: int | None = self.consumer.committed(partition, timeout_ms=_SEEK_MS)
        return offset

    def _pause_or_resume(self) -> None:
        assignment = frozenset(self.consumer.assignment())
        background = [each for each in assignment if self._names[each.topic] in self._background]
        paused = self.flow.full() or (self._paused and not self.flow.drained())
        if (paused, assignment) != (self._paused, self._told):
            (self.consumer.pause if paused else self.consumer.resume)(*assignment)
            self._paused, self._told = paused, assignment
        if background and not self._paused:
            # What is judged again waits for what is judged first, and little of it in memory.
            held_back = self._lagging or self.flow.full_behind()
            (self.consumer.pause if held_back else self.consumer.resume)(*background)

    def _fetch(self, timeout_ms: int) -> None:
        polled = self.consumer.poll(timeout_ms=timeout_ms)
        # A member that got no partition has joined too: it waits for one to become free.
        self.joined = self.joined or self.consumer.group_metadata().state == MemberState.STABLE
        if not polled:
            return
        names = self._names
        self.flow.offer(received(names[record.topic], record) for records in polled.values() for record in records)

    def _commit_position(self) -> None:
        """Moves the group past transaction markers and aborted records, so that an idle worker's lag is 0."""
        behind = {}
        for place in self.flow.owned() - self.flow.held():
            try:
                position = self.consumer.position(self._partition(place), timeout_ms=_CALL_MS)
            except (IllegalStateError, AssertionError):
                continue
            moved = position != self.committed.get(place) or place in self._untouched
            if position is not None and moved and not self.flow.to_seek_back():
                behind[place] = position
        if not behind or not self.flow.idle():
            return
        offsets = {self._partition(place): OffsetAndMetadata(offset, "", -1) for place, offset in behind.items()}
        try:
            self.consumer.commit(offsets, timeout_ms=_CALL_MS)
        except KafkaError as error:
            log.debug("idle commit failed", extra={"reason": type(error).__name__})
            return
        self.committed.update(behind)
        self._untouched.difference_update(behind)

    def _measure_lag(self) -> None:
        places = self.flow.owned()
        try:
            if places:
                self._show_lag(places)
        finally:
            # What kafka-python's thread took away meanwhile was forgotten before it was shown, and would be shown for ever.
            self._forget(places - self.flow.owned())

    def _show_lag(self, places: frozenset[Place]) -> None:
        ends = self.consumer.end_offsets([self._partition(place) for place in places], timeout_ms=_CALL_MS)
        now = time.monotonic()
        lagging, held, handled, hearing = False, self.flow.held(), self.flow.handled(), self.flow.hearing()
        for place in places:
            position = self.committed.get(place)
            if position is None:
                found = self.consumer.committed(self._partition(place), timeout_ms=_CALL_MS)
                position = found if found is not None else 0
            lag = max(0, ends[self._partition(place)] - position)
            # What is in hand is lag too, at any moment of steady traffic: in the queue it goes first.
            lagging |= lag > self.settings.batch_records and place[0] not in self._background
            metrics.LAG.labels(place[0], str(place[1])).set(lag)
            before = self._progress.get(place)
            # What is held back, or is not ready, may stand for as long as it likes.
            held_back = place[0] in self._background and place not in handled
            if lag == 0 or held_back or hearing or before is None or before[0] != position:
                self._progress[place] = (position, now)
                self._any_progress = now
            elif place in held and now - self._any_progress < self.settings.stall_timeout_s:
                pass  # its records wait behind those of other partitions
            elif now - before[1] > self.settings.stall_timeout_s:
                raise Stalled(
                    f"{place[0]}[{place[1]}] stands at offset {position} with {lag} records to read and has made no progress "
                    f"for {now - before[1]:.0f} s: the process ends so that it is started anew"
                )
        self._lagging = lagging
