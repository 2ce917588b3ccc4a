"""Background tasks of a sequential stage: work between batches that no record triggers.

The messages of a task are committed like those of a batch. Their transaction also holds the unchanged offsets of the task's
partitions. So the broker refuses the task of a worker that has lost them, because the group then has another generation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from workers.rates import FollowShare
from workers.records import Partition
from workers.runtime.finished import Finished
from workers.runtime.flow import Flow
from workers.runtime.watchdog import Activity
from workers.stage import Output, Stage
from workers.telemetry import metrics
from workers.telemetry.recording import observe

#: Maximum share of a busy worker's time for background tasks, including their commits.
_SHARE: Final = 0.2


class BackgroundTasks:
    """The runner of background tasks, which takes turns on the compute thread.

    ``commit`` returns once a task is committed and the stage is notified, or the task is given up. ``positions`` are the
    committed offsets that this worker knows; ``clock`` returns seconds.
    """

    def __init__(
        self,
        stage: Stage[Any, Any],
        flow: Flow,
        positions: Mapping[Partition, int],
        commit: Callable[[Finished], None],
        activity: Activity,
        clock: Callable[[], float],
    ) -> None:
        self.stage, self.flow, self._positions, self._commit = stage, flow, positions, commit
        self._activity, self._clock = activity, clock
        self._share = FollowShare(_SHARE, clock())

    def turn(self) -> bool:
        """Run background tasks within their share, or for a short turn if no live record waits. Return whether any was done.

        A turn also ends if the stage has no task or the output was discarded. Exceptions of a task propagate.
        """
        started = self._clock()
        seconds = self._share.turn(started, waiting=self.flow.live_wait_s() is not None)
        if seconds is None:
            return False
        done = False
        while self._one():
            done = True
            if self._clock() - started >= seconds:
                break
        self._share.took(self._clock(), self.flow.live_wait_s() or 0.0)
        return done

    def _one(self) -> bool:
        """Run one task. Return whether the stage had one and its output took effect."""
        started = self._clock()
        with self._activity("running a background task"):
            output = self.stage.background_task()
        if output is None:
            return False
        metrics.STAGE_SECONDS.labels("chore").observe(self._clock() - started)
        return self._send(output) if output.messages else self._keep(output)

    def _keep(self, output: Output) -> bool:
        if not self.flow.undisturbed(output.partitions):
            return False
        self.stage.committed(output, {})
        observe(output.observed)
        return True

    def _send(self, output: Output) -> bool:
        if not output.partitions:
            raise ValueError(
                f"a background task of {self.stage.name} has messages and names no partition: no broker could refuse them"
            )
        batch = self.flow.background_batch(output.partitions, self._positions)
        if batch is None:
            return False
        finished = Finished(batch, output)
        self._commit(finished)
        return finished.offsets is not None
