"""The scenario of a run: quiet, a burst, quiet, a second burst in which a node is lost, and quiet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tests.campaigns.autoscaling.agent import Agent
from tests.campaigns.autoscaling.controlplane import ControlPlane
from tests.campaigns.autoscaling.feeding import Feeder
from tests.campaigns.autoscaling.nodes import Nodes
from tests.campaigns.autoscaling.record import Record
from tests.campaigns.autoscaling.verdict import SCALED, SETTLED_S, peaks
from tests.campaigns.autoscaling.waiting import wait_for

#: Seconds.
_QUIET_S: Final = 15.0
_DRAIN_S: Final = 300.0
_CALM_S: Final = 240.0
_GROW_S: Final = 200.0
#: From the loss of a node until the removal of its object, as by a cloud's controller when the machine is gone.
_REMOVED_S: Final = 40.0
#: Linkers that must be ready before a node is lost.
_AT_WORK: Final = 2
#: Minimum and maximum length of a burst; between them, it ends once each scaled worker has had more ready replicas.
_BURST_S, _MAX_BURST_S = 75.0, 200.0


@dataclass
class Scenario:
    """The scenario; it can run once."""

    plane: ControlPlane
    nodes: Nodes
    agent: Agent
    record: Record
    feeder: Feeder
    log: Callable[[str], None]

    def run(self, papers: int, minimum: Mapping[str, int]) -> None:
        """Run two bursts that begin with ``papers`` papers. Raises RunFailed if a phase does not end in time."""
        self._wait("every worker to be ready", lambda: self._at(minimum), _CALM_S)
        self._mark("quiet")
        self._pass(_QUIET_S)
        self._mark("burst")
        self._burst(papers, minimum)
        self._mark("papers end")
        self._drain("drained")
        self._calm("at the minimum", minimum)
        self._mark("second burst")
        self._burst(papers, minimum, self._lose)
        self._mark("papers end again")
        self._drain("drained again")
        self._calm("at the minimum again", minimum)
        self._pass(_QUIET_S)
        self._mark("end")

    def _burst(self, papers: int, minimum: Mapping[str, int], meanwhile: Callable[[], None] = lambda: None) -> None:
        """Send papers until each scaled worker has grown, or the time is over; the verdict reports missing growth."""
        began = self.record.now()
        self.feeder.start(papers)
        meanwhile()

        def enough() -> bool:
            now = self.record.now()
            maximum = peaks(self.record, began, now)
            grown = all(maximum.get(worker, 0) > minimum[worker] for worker in SCALED)
            return now - began >= (_BURST_S if grown else _MAX_BURST_S)

        self._wait("the burst's end", enough, _MAX_BURST_S + 30)

    def _lose(self) -> None:
        """Lose a node with a linker on it; later remove the node's object."""
        self._wait(f"{_AT_WORK} linkers to be ready", lambda: self._ready("linker") >= _AT_WORK, _GROW_S)
        lost = self._fullest()
        self.nodes.lose(lost)
        self._mark("node lost")
        self.log(f"{lost} is lost")
        self._pass(_REMOVED_S)
        self.nodes.remove(lost)
        self._mark("node removed")

    def _drain(self, mark: str) -> None:
        self.feeder.stop()
        wanted = self.feeder.links()
        self._wait(f"{wanted} links", lambda: self.feeder.seen() >= wanted, _DRAIN_S)
        self._mark(mark)

    def _calm(self, mark: str, minimum: Mapping[str, int]) -> None:
        since = self.record.now()
        self._wait("the minimum of replicas", lambda: self.record.now() - since > SETTLED_S + 10 and self._at(minimum), _CALM_S)
        self._mark(mark)

    def _fullest(self) -> str:
        """Return the node with a linker that also has a ledger, if any, otherwise the one with the most workers."""
        count = Counter(each.node for each in self.agent.alive())
        linkers, ledgers = (
            {each.node for each in self.agent.alive() if each.component == name} for name in ("linker", "ledger")
        )
        return max(sorted(linkers), key=lambda node: (node in ledgers, count[node]))

    def _at(self, minimum: Mapping[str, int]) -> bool:
        last = self.record.samples[-1]
        running = Counter(each.component for each in self.agent.alive())
        return all(last["wanted"][name] == last["ready"][name] == running[name] == count for name, count in minimum.items())

    def _ready(self, worker: str) -> int:
        return int(self.record.samples[-1]["ready"][worker])

    def _pass(self, seconds: float) -> None:
        since = self.record.now()
        self._wait("time to pass", lambda: self.record.now() - since >= seconds, seconds + 30)

    def _mark(self, text: str) -> None:
        self.record.mark(text)
        last = self.record.samples[-1]
        self.log(f"{text}: KEDA's lag {last['keda']}, ready {last['ready']}, {last['links']} links")

    def _wait(self, what: str, condition: Callable[[], bool], timeout_s: float) -> None:
        wait_for(what, condition, timeout_s, self._check)

    def _check(self) -> None:
        self.plane.check()
        self.feeder.check()
        if self.agent.failure is not None:
            raise self.agent.failure
