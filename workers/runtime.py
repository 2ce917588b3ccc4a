"""One runtime for all workers: poll, decode, handle, produce and commit in one transaction, observe.

    poll thread ──Flow──▶ compute thread ──queue──▶ commit thread

Polling never waits for handling, so heartbeats and rebalances go on while a batch is in the encoder; handling overlaps with the
commit of the batch before, but for stages whose batches build on each other: those do chores between them (``chores.py``).
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from workers import metrics
from workers.announcing import announce
from workers.batch import Batch, BatchPolicy
from workers.chores import Chores
from workers.clients import group_consumer, transactional_producer
from workers.committer import Committer, Finished
from workers.flow import Flow
from workers.follow_share import FollowShare
from workers.health import HealthServer
from workers.journal import Journal
from workers.membership import Membership
from workers.memory import Returning, settle
from workers.poison import FloodGuard, Judged, judge
from workers.polling import Poller
from workers.settings import FollowingSettings, WorkerSettings
from workers.slot import Slot
from workers.stage import Stage
from workers.topics import Found, TopicAdmin
from workers.waiting import Background
from workers.watchdog import Watchdog

log = logging.getLogger(__name__)

#: How long compute waits for records before it looks at the catalog again.
_IDLE_S: Final = 0.05


class Runtime:
    """Runs one stage until it is told to stop or must. ``clock`` is what the compute thread measures its steps with."""

    def __init__(self, stage: Stage[Any, Any], settings: WorkerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.stage, self.settings, self._clock = stage, settings, clock
        self.watchdog = Watchdog(settings.call_deadline_s)
        policy = BatchPolicy(
            settings.batch_records,
            settings.batch_bytes,
            settings.batch_linger_s,
            tokens=settings.batch_tokens,
            target_s=settings.batch_target_s,
        )
        #: Of this worker's slot; also the name of its files.
        self._slot = f"{settings.topic(stage.name)}-{settings.slot}"
        self.journal = Journal(settings.state_dir, self._slot, deaths=settings.poison_deaths)
        self.flow = Flow(
            policy,
            queue_bytes=settings.queue_bytes,
            alone=self.journal.suspect,
            clock=clock,
            background=Background.of(stage, settings.batch_records),
        )
        self.flood = FloodGuard(window=settings.flood_window, share=settings.flood_share, run=settings.flood_run)
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._poller: Poller | None = None
        #: Where /metrics and /health are, once they are.
        self.health_port: int | None = None
        share = settings.follow_share if isinstance(settings, FollowingSettings) else 1.0
        self._follow_share = FollowShare(share, clock())
        #: Called when the stage has loaded all that it keeps.
        self.when_warm: Callable[[], object] = lambda: None

    def stop(self) -> None:
        """Drains: the batch in flight is committed, the group is left, ``run`` returns."""
        self._stopping.set()

    @property
    def warming(self) -> bool:
        """Whether the stage is still loading what it needs; nothing need be drained then."""
        return self._poller is None

    def run(self) -> None:
        """Returns after ``stop``. Raises WorkerError, or what a thread died of."""
        health = HealthServer(self.settings.http_host, self.settings.http_port, live=self._live, ready=self._ready)
        with Slot(self.settings.state_dir, self._slot), self.journal:
            announce(self.stage, self.settings)
            health.start()
            self.health_port = health.port
            try:
                self._serve()
            finally:
                metrics.READY.set(0)
                self.stage.close()
                health.stop()

    def _serve(self) -> None:
        found = self._check_topics()
        membership = Membership(self.settings, self.stage.name, self._slot)
        membership.bury()
        # Warm before joining: partitions given to a worker that cannot serve them yet would wait for it.
        started = time.monotonic()
        self.stage.warm()
        self.when_warm()
        log.info("warm", extra={"seconds": round(time.monotonic() - started, 2)})
        if self._stopping.is_set():
            return
        self.watchdog.start()
        consumer = group_consumer(self.settings, self.stage.name)
        committer = Committer(
            self.settings,
            self.stage.name,
            self.flow,
            {name: topic.partitions for name, topic in found.items()},
            lambda: transactional_producer(self.settings, self.stage.name),
            consumer.group_metadata,
            self.watchdog.activity,
            self._check_topics,
        )
        try:
            committer.open()
            self._poller = Poller(
                self.settings,
                self.stage,
                consumer,
                self.flow,
                committer.positions,
                self.watchdog.activity,
                membership.remember,
            )
            threads = [
                self._thread("compute", lambda: self._compute(committer)),
                self._thread("commit", committer.run),
            ]
            self._poller.subscribe()
            while not self._stopping.is_set() and self._failure is None:
                self._poller.poll_once()
                metrics.READY.set(self._ready()[0])
            self._drain(threads)
        finally:
            self._stopping.set()  # whatever ended this thread, the others go too
            self.watchdog.stop()
            self.flow.abandon()
            consumer.close(timeout_ms=5000)
            membership.forget()
            committer.close()
        if self._failure is not None:
            raise self._failure

    def _check_topics(self) -> dict[str, Found]:
        stage = self.stage
        with TopicAdmin(self.settings) as admin:
            return admin.check({*stage.inputs, *stage.background_inputs, *stage.outputs, *stage.follows, "dead-letters"})

    def _thread(self, name: str, body: Any) -> threading.Thread:
        def guarded() -> None:
            try:
                body()
            except BaseException as error:
                self._failure = self._failure or error

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        thread.start()
        return thread

    def _drain(self, threads: Iterable[threading.Thread]) -> None:
        self.flow.close()
        until = time.monotonic() + self.settings.drain_deadline_s
        for thread in threads:
            while thread.is_alive() and self._failure is None and time.monotonic() < until:
                # Heartbeats come from kafka-python's own thread, but only while somebody polls.
                assert self._poller is not None
                self._poller.keep_alive()
                thread.join(0.05)
            if thread.is_alive() and self._failure is None:
                log.warning("drain deadline passed: the batch in flight is given up, another worker will read it again")
                return

    # The compute thread

    def _compute(self, committer: Committer) -> None:
        try:
            returning = Returning(self._clock())
            chores = self._chores(committer) if self.stage.sequential else None
            while not self._stopping.is_set():
                returning.at(self._clock())
                self._hear_news()
                busy = self._follow()
                if chores is not None:
                    busy |= chores.turn()
                waited = self._clock()
                # While there is news of the catalog, or a chore, an idle worker does not sleep.
                batch = self.flow.take(0.0 if busy else _IDLE_S)
                if batch is None:
                    continue
                started = self._clock()
                metrics.STAGE_SECONDS.labels("wait").observe(started - waited)
                finished = self._handle(batch)
                self._learn(finished, self._clock() - started)
                committer.finished.put(finished)
                if self.stage.sequential:
                    self._await_commit(finished)
        finally:
            committer.finished.put(None)

    def _hear_news(self) -> None:
        # Not watched: a stage may have a store to rebuild, which takes as long as it takes and watches itself.
        while news := self.flow.news():
            for kind, places in news:
                (self.stage.assigned if kind == "assigned" else self.stage.released)(places)

    def _follow(self) -> bool:
        """The catalog's turn: its share of the time while live records wait, else as long as there is news, in short turns."""
        started = self._clock()
        # What is judged again waits for works, so its waiting is no reason to leave them alone.
        seconds = self._follow_share.turn(started, waiting=self.flow.live_s() is not None)
        if seconds is None:
            return False
        with self.watchdog.activity("following the catalog"):
            any_news = self.stage.follow(seconds)
        ended = self._clock()
        self._follow_share.took(ended, self.flow.live_s() or 0.0)
        if any_news:
            metrics.STAGE_SECONDS.labels("follow").observe(ended - started)
        return any_news

    def _learn(self, finished: Finished, seconds: float) -> None:
        policy, batch = self.flow.policy, finished.batch
        metrics.STAGE_SECONDS.labels("handle").observe(seconds)
        metrics.BATCH_EXPECTED_SECONDS.set(policy.expected_s(batch.bytes))
        policy.learn(len(batch.records), batch.bytes, seconds, finished.output.observed.tokens)
        metrics.BATCH_BUDGET_BYTES.set(policy.budget)

    def _handle(self, batch: Batch) -> Finished:
        records = batch.records
        if killer := self.journal.condemned(records[0]):  # a suspect is alone in its batch
            judged = Judged(poison=[(records[0], killer)])
        else:
            with self.watchdog.activity("handling a batch"):
                judged = judge(self.stage, records, self.journal.hand(records))
            self.journal.passed(records)
        self.flood.watch(batch.records, judged.poison)
        for record, error in judged.poison:
            log.warning(
                "dead letter",
                extra={"record": record.place, "error": type(error).__name__, "detail": str(error)},
            )
        return Finished(batch, judged.output, judged.poison)

    def _await_commit(self, finished: Finished) -> None:
        while not self.flow.wait_for(finished.batch, 1.0):
            if self._failure is not None:
                return
        if finished.offsets is not None:
            self.stage.committed(finished.output, finished.offsets)

    def _chores(self, committer: Committer) -> Chores:
        def commit(finished: Finished) -> None:
            committer.finished.put(finished)
            self._await_commit(finished)

        return Chores(self.stage, self.flow, committer.positions, commit, self.watchdog.activity, self._clock)

    # Probes

    def _live(self) -> tuple[bool, dict[str, Any]]:
        late = self.watchdog.overdue()
        facts = {"worker": self.stage.name, "slot": self.settings.slot}
        return (late is None and self._failure is None, facts | ({"overdue": late[0]} if late else {}))

    def _ready(self) -> tuple[bool, dict[str, Any]]:
        joined = self._poller is not None and self._poller.joined
        return (joined and not self._stopping.is_set(), {"joined": joined, "partitions": len(self.flow.owned())})


def run_until_signalled(runtime: Runtime) -> None:
    """``run`` with SIGTERM and SIGINT draining the worker, or ending it at once while it warms up. Main thread only."""

    def told_to_stop(*_: object) -> None:
        runtime.stop()
        if runtime.warming:
            raise _StoppedWarming

    runtime.when_warm = settle
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, told_to_stop)
    try:
        runtime.run()
    except _StoppedWarming:
        log.info("stopped before it was warm")


class _StoppedWarming(BaseException):
    """No Exception, so that nothing that is being loaded takes it for its own."""
