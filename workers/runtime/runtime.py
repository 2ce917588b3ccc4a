"""The runtime of all workers: poll, decode, handle, produce and commit in one transaction, update metrics.

    poll thread ──Flow──▶ compute thread ──queue──▶ commit thread

1. Polling never waits for handling, so heartbeats and rebalances continue while a batch is in the encoder.
2. The worker handles a batch while it commits the previous one. A sequential stage is the exception, because its batches depend
   on each other: the runtime commits each batch before it handles the next, and runs background tasks between them
   (``background_tasks.py``).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final

from workers.config.settings import FollowingSettings, WorkerSettings
from workers.errors import ServiceUnavailable
from workers.kafka.clients import group_consumer, transactional_producer
from workers.rates import FollowShare
from workers.runtime.background_tasks import BackgroundTasks
from workers.runtime.batching import Batch, BatchPolicy
from workers.runtime.commit_loop import Committer
from workers.runtime.crash_journal import Journal
from workers.runtime.exclusive_handling import ExclusiveHandling
from workers.runtime.finished import Finished
from workers.runtime.flood_guard import FloodGuard
from workers.runtime.flow import Flow
from workers.runtime.group_membership import Membership
from workers.runtime.initial_series import announce
from workers.runtime.isolation import Isolated, isolate, report
from workers.runtime.poll_loop import Poller
from workers.runtime.process_memory import Returning
from workers.runtime.record_queue import Background
from workers.runtime.slot_lock import Slot
from workers.runtime.topic_watch import TopicWatch
from workers.runtime.watchdog import Watchdog
from workers.stage import Stage
from workers.telemetry import metrics
from workers.telemetry.http_server import HealthServer

log = logging.getLogger(__name__)

#: Seconds that the compute thread waits for records before it checks the catalog again.
_IDLE_S: Final = 0.05


class Runtime:
    """Runs one stage until ``stop`` is called or a thread fails. ``clock`` (seconds) times the compute thread's steps."""

    def __init__(self, stage: Stage[Any, Any], settings: WorkerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.stage, self.settings, self._clock = stage, settings, clock
        self.watchdog = Watchdog(settings.call_deadline_s)
        #: Full name of the slot, which also names its files.
        self._slot = f"{settings.topic(stage.name)}-{settings.slot}"
        self.journal = Journal(settings.state_dir, self._slot, deaths=settings.poison_deaths)
        background = Background.of(stage, settings.batch_records)
        self.flow = Flow(BatchPolicy.of(settings), alone=self.journal.suspect, clock=clock, background=background)
        self.flood = FloodGuard(
            stage.inputs,
            window=settings.flood_window,
            max_invalid_ratio=settings.flood_share,
            max_consecutive_invalid=settings.flood_run,
        )
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        #: When the last attempt at a batch began: earlier ones in an outage, and other stages, say nothing about its cost.
        self._attempted = clock()
        #: None until the stage is warm.
        self.poller: Poller | None = None
        #: Port of /metrics and /health; None before the server has started.
        self.health_port: int | None = None
        share = settings.follow_share if isinstance(settings, FollowingSettings) else 1.0
        self._follow_share = FollowShare(share, clock())
        #: Called when the stage has loaded everything that it keeps.
        self.when_warm: Callable[[], object] = lambda: None
        #: Set by a process with several stages: when to load and to work, and what to call with whether this stage is ready.
        self.loading: AbstractContextManager[None] = nullcontext()
        self.exclusive = ExclusiveHandling()
        self.show_ready: Callable[[bool], object] = metrics.READY.set
        stage.wanted = self.flow.wanted
        self._topics = TopicWatch(settings, stage)

    def stop(self) -> None:
        """Drain the worker: ``run`` commits the batches in flight, leaves the group and returns."""
        self._stopping.set()

    @property
    def warming(self) -> bool:
        """Whether the stage is still loading; then there is nothing to drain."""
        return self.poller is None

    def run(self) -> None:
        """Run the worker until ``stop`` is called. Raises WorkerError, or the exception that ended a thread."""
        health = HealthServer(self.settings.http_host, self.settings.http_port, live=self.live, ready=self.ready)
        health.start()
        self.health_port = health.port
        try:
            self.run_stage()
        finally:
            health.stop()

    def run_stage(self) -> None:
        """Run the worker without the server of its probes and metrics. Raises as ``run``."""
        with Slot(self.settings.state_dir, self._slot), self.journal:
            announce(self.stage, self.settings)
            try:
                self._serve()
            finally:
                self.show_ready(False)
                self.stage.close()

    def _serve(self) -> None:
        found = self._topics.check()
        membership = Membership(self.settings, self.stage.name, self._slot)
        membership.remove_predecessor()
        # Warm before joining: partitions assigned to a worker that is still loading would wait for it.
        with self.loading, self.exclusive.turn(alone=False):
            started = time.monotonic()
            self.stage.warm()
            self.when_warm()
        log.info("warm", extra={"seconds": round(time.monotonic() - started, 2)})
        if self._stopping.is_set():
            return
        self.watchdog.start()
        settings, stage, flow, activity = self.settings, self.stage, self.flow, self.watchdog.activity
        consumer = group_consumer(settings, stage.name)
        partitions = {name: topic.partitions for name, topic in found.items()}
        producer = partial(transactional_producer, settings, stage.name)
        committer = Committer(
            settings, stage.name, flow, partitions, producer, activity, self._topics.check_again, self._topics.note
        )
        submit = committer.finished.put
        try:
            committer.open()
            self.poller = Poller(settings, stage, consumer, flow, committer.positions, submit, activity, membership.remember)
            threads = [self._thread("compute", lambda: self._compute(committer)), self._thread("commit", committer.run)]
            self._thread("topics", lambda: self._topics.run(self._stopping))
            self.poller.subscribe()
            while not self._stopping.is_set() and self._failure is None:
                self.poller.poll_once()
                self.show_ready(self.ready()[0])
            self._drain(threads)
        finally:
            self._stopping.set()  # whatever ended this thread, the others must end too
            self.watchdog.stop()
            self.flow.abandon()
            consumer.close(timeout_ms=5000)
            membership.forget()
            committer.close()
        if self._failure is not None:
            raise self._failure

    def _thread(self, name: str, body: Any) -> threading.Thread:
        def guarded() -> None:
            try:
                body()
            except BaseException as error:
                self._failure = self._failure or error
                self.flow.abandon()  # nothing commits or handles the batches in flight any more: do not wait for them

        thread = threading.Thread(target=guarded, name=f"{self.stage.name}-{name}", daemon=True)
        thread.start()
        return thread

    def _drain(self, threads: Iterable[threading.Thread]) -> None:
        self.flow.close()
        until = time.monotonic() + self.settings.drain_deadline_s
        for thread in threads:
            while thread.is_alive() and self._failure is None and time.monotonic() < until:
                # kafka-python sends heartbeats from its own thread, but only while the consumer is polled.
                assert self.poller is not None
                self.poller.keep_alive()
                thread.join(0.05)
            if thread.is_alive() and self._failure is None:
                log.warning("drain deadline passed: the batch in flight is given up, another worker will read it again")
                return

    # The compute thread

    def _compute(self, committer: Committer) -> None:
        try:
            returning = Returning(self._clock())
            background = self._background_tasks(committer) if self.stage.sequential else None
            # Until the flow is closed, not until ``stop``: the poll thread may still wait for an idle commit in flight.
            while not self.flow.closed():
                returning.at(self._clock())
                self._process_assignment_events()
                with self.exclusive.turn(alone=False):
                    busy = self._follow()
                if background is not None:
                    busy |= background.turn()
                waited = self._clock()
                # An idle worker does not sleep while there are catalog changes or background tasks.
                if (batch := self.flow.take(0.0 if busy else _IDLE_S)) is None:
                    continue
                metrics.STAGE_SECONDS.labels("wait").observe(self._clock() - waited)
                if (finished := self._handle(batch)) is None:
                    continue
                self._learn(finished, self._clock() - self._attempted)
                committer.finished.put(finished)
                if self.stage.sequential:
                    self._await_commit(finished)
        finally:
            committer.finished.put(None)

    def _process_assignment_events(self) -> None:
        # Outside the watchdog: a stage may restore a store for any length of time, and supervises that itself.
        while event := self.flow.partitions.next_event():
            kind, partitions = event
            (self.stage.assigned if kind == "assigned" else self.stage.released)(partitions)

    def _follow(self) -> bool:
        """Apply catalog changes: within their share of the time while live records wait, otherwise in short turns."""
        started = self._clock()
        # Only live records count: background records wait for works, so they are no reason to defer reading works.
        seconds = self._follow_share.turn(started, waiting=self.flow.live_wait_s() is not None)
        if seconds is None:
            return False
        with self.watchdog.activity("following the catalog"):
            changed = self.stage.follow(seconds)
        ended = self._clock()
        self._follow_share.took(ended, self.flow.live_wait_s() or 0.0)
        if changed:
            metrics.STAGE_SECONDS.labels("follow").observe(ended - started)
        return changed

    def _learn(self, finished: Finished, seconds: float) -> None:
        policy, batch = self.flow.policy, finished.batch
        metrics.STAGE_SECONDS.labels("handle").observe(seconds)
        metrics.BATCH_EXPECTED_SECONDS.set(policy.expected_s(batch.bytes))
        policy.learn(len(batch.records), batch.bytes, seconds, finished.output.observed.tokens)
        metrics.BATCH_BUDGET_BYTES.set(policy.budget)

    def _handle(self, batch: Batch) -> Finished | None:
        """Handle a batch, again and again during an outage. None if it was given up meanwhile; it is not committed."""
        records, self._attempted = batch.records, self._clock()
        if killer := self.journal.condemned(records[0]):  # a suspect forms a batch of its own
            isolated = Isolated(poison=[(records[0], killer)])
        else:
            while True:
                try:
                    alone = self.journal.suspect(records[0])
                    with self.exclusive.turn(alone=alone), self.watchdog.activity("handling a batch"):
                        self._attempted = self._clock()
                        isolated = isolate(self.stage, records, self.journal.in_flight(records))
                    break
                except ServiceUnavailable as error:
                    if not self._wait(batch, self.flow.outage.failed(error)):
                        return None
            self.flow.outage.over()
            self.journal.passed(records)
        self.flood.watch(batch.records, isolated.poison)
        report(isolated.poison)
        return Finished(batch, isolated.output, isolated.poison)

    def _wait(self, batch: Batch, seconds: float) -> bool:
        """Wait during an outage. Return False if the worker ends or has lost a partition of the batch: it is given up."""
        until = time.monotonic() + seconds
        while not self.flow.closed():
            if not self.flow.current(batch):
                self.flow.done(batch)
                self.flow.outage.given_up()
                return False
            left = until - time.monotonic()
            if left <= 0:
                return True
            time.sleep(min(left, _IDLE_S))
        return False

    def _await_commit(self, finished: Finished) -> None:
        while not self.flow.wait_for(finished.batch, 1.0):
            if self._failure is not None:
                return
        if finished.offsets is not None:
            self.stage.committed(finished.output, finished.offsets)

    def _background_tasks(self, committer: Committer) -> BackgroundTasks:
        def commit(finished: Finished) -> None:
            committer.finished.put(finished)
            self._await_commit(finished)

        return BackgroundTasks(self.stage, self.flow, committer.positions, commit, self.watchdog.activity, self._clock)

    # Probes

    def live(self) -> tuple[bool, dict[str, Any]]:
        """Return whether the process need not be restarted, and facts for the response."""
        late = self.watchdog.overdue()
        facts = {"worker": self.stage.name, "slot": self.settings.slot}
        return (late is None and self._failure is None, facts | ({"overdue": late[0]} if late else {}))

    def ready(self) -> tuple[bool, dict[str, Any]]:
        """Return whether the worker handles records, and facts for the response."""
        joined = self.poller is not None and self.poller.joined
        return (joined and not self._stopping.is_set(), {"joined": joined, "partitions": len(self.flow.partitions.owned())})
