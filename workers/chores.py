"""A sequential stage's chores: what it does between batches though no record asks for it.

A chore's messages are committed as a batch's are, on behalf of partitions whose positions stay as they are. These are sent
along, so that the broker refuses the chore of a worker that has lost its partitions: the group is of another generation then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from workers import metrics
from workers.committer import Finished
from workers.flow import Flow
from workers.follow_share import FollowShare
from workers.observing import observe
from workers.stage import Output, Place, Stage
from workers.watchdog import Activity

#: Largest share of a busy worker's time that chores may take, their commits included.
_SHARE: Final = 0.2


class Chores:
    """Takes turns on the compute thread. ``commit`` returns once a chore is committed and the stage knows, or it is given up.

    ``positions`` are the committed offsets as this worker knows them; ``clock`` counts seconds.
    """

    def __init__(
        self,
        stage: Stage[Any, Any],
        flow: Flow,
        positions: Mapping[Place, int],
        commit: Callable[[Finished], None],
        activity: Activity,
        clock: Callable[[], float],
    ) -> None:
        self.stage, self.flow, self._positions, self._commit = stage, flow, positions, commit
        self._activity, self._clock = activity, clock
        self._share = FollowShare(_SHARE, clock())

    def turn(self) -> bool:
        """Chores for as long as their share allows, else one after the other in short turns. Returns whether any was done.

        A turn ends with the first that is not there, or came to nothing. Raises what a chore raises.
        """
        started = self._clock()
        seconds = self._share.turn(started, waiting=self.flow.live_s() is not None)
        if seconds is None:
            return False
        done = False
        while self._one():
            done = True
            if self._clock() - started >= seconds:
                break
        self._share.took(self._clock(), self.flow.live_s() or 0.0)
        return done

    def _one(self) -> bool:
        """Returns whether there was one, and it was committed."""
        started = self._clock()
        with self._activity("doing a chore"):
            output = self.stage.chore()
        if output is None:
            return False
        metrics.STAGE_SECONDS.labels("chore").observe(self._clock() - started)
        return self._send(output) if output.messages else self._keep(output)

    def _keep(self, output: Output) -> bool:
        if not self.flow.undisturbed(output.places):
            return False
        self.stage.committed(output, {})
        observe(output.observed)
        return True

    def _send(self, output: Output) -> bool:
        if not output.places:
            raise ValueError(f"a chore of {self.stage.name} has messages and names no partition: no broker could refuse them")
        batch = self.flow.chore(output.places, self._positions)
        if batch is None:
            return False
        finished = Finished(batch, output)
        self._commit(finished)
        return finished.offsets is not None
