"""What happens in a run: quiet, a burst, quiet again, a second burst in which a node is lost, and quiet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from tests.autoscaling.agent import Agent
from tests.autoscaling.controlplane import ControlPlane
from tests.autoscaling.feeding import Feeder
from tests.autoscaling.nodes import Nodes
from tests.autoscaling.record import Links, Record
from tests.autoscaling.verdict import SCALED, SETTLED_S, peaks
from tests.autoscaling.waiting import wait_for

#: Seconds.
_QUIET_S: Final = 15.0
_DRAIN_S: Final = 300.0
_CALM_S: Final = 240.0
_GROW_S: Final = 200.0
#: From the loss of a node until its object is removed, as a cloud's controller does when the machine is gone.
_REMOVED_S: Final = 40.0
#: So many linkers must be at work before a node goes.
_AT_WORK: Final = 2
#: Papers come for so long at least, and until each worker that is scaled had more at work, but no longer than the second.
_BURST_S, _LONGEST_BURST_S = 75.0, 200.0


class Scenario:
    """Runs once, from the top."""

    def __init__(
        self,
        plane: ControlPlane,
        nodes: Nodes,
        agent: Agent,
        record: Record,
        links: Links,
        feeder: Feeder,
        say: Callable[[str], None],
    ) -> None:
        self.plane, self.nodes, self.agent, self.record, self.links = plane, nodes, agent, record, links
        self.feeder, self.say = feeder, say

    def run(self, papers: int, least: Mapping[str, int]) -> None:
        """Two bursts that begin with so many papers. Raises RunFailed when it goes no further."""
        self._wait("every worker to be ready", lambda: self._at(least), _CALM_S)
        self._mark("quiet")
        self._pass(_QUIET_S)
        self._mark("burst")
        self._burst(papers, least)
        self._mark("papers end")
        self._drain("drained")
        self._calm("at the least", least)
        self._mark("second burst")
        self._burst(papers, least, self._lose)
        self._mark("papers end again")
        self._drain("drained again")
        self._calm("at the least again", least)
        self._pass(_QUIET_S)
        self._mark("end")

    def _burst(self, papers: int, least: Mapping[str, int], meanwhile: Callable[[], None] = lambda: None) -> None:
        """Papers come and come. That nobody was scaled is the verdict's to say."""
        began = self.record.now()
        self.feeder.start(papers)
        meanwhile()

        def enough() -> bool:
            now = self.record.now()
            most = peaks(self.record, began, now)
            grown = all(most.get(worker, 0) > least[worker] for worker in SCALED)
            return now - began >= (_BURST_S if grown else _LONGEST_BURST_S)

        self._wait("the burst's end", enough, _LONGEST_BURST_S + 30)

    def _lose(self) -> None:
        """A node, while linkers are at work on it; later its object."""
        self._wait(f"{_AT_WORK} linkers to be ready", lambda: self._ready("linker") >= _AT_WORK, _GROW_S)
        lost = self._fullest()
        self.nodes.lose(lost)
        self._mark("node lost")
        self.say(f"{lost} is lost")
        self._pass(_REMOVED_S)
        self.nodes.remove(lost)
        self._mark("node removed")

    def _drain(self, mark: str) -> None:
        self.feeder.stop()
        wanted = self.feeder.links()
        self._wait(f"{wanted} links", lambda: self.links.count >= wanted, _DRAIN_S)
        self._mark(mark)

    def _calm(self, mark: str, least: Mapping[str, int]) -> None:
        since = self.record.now()
        self._wait("as few replicas as may be", lambda: self.record.now() - since > SETTLED_S + 10 and self._at(least), _CALM_S)
        self._mark(mark)

    def _fullest(self) -> str:
        """Of the nodes with a linker that of the ledger, if there is one, else the one with most workers."""
        count = Counter(each.node for each in self.agent.alive())
        linkers, ledgers = (
            {each.node for each in self.agent.alive() if each.component == name} for name in ("linker", "ledger")
        )
        return max(sorted(linkers), key=lambda node: (node in ledgers, count[node]))

    def _at(self, least: Mapping[str, int]) -> bool:
        last = self.record.samples[-1]
        running = Counter(each.component for each in self.agent.alive())
        return all(last["wanted"][name] == last["ready"][name] == running[name] == count for name, count in least.items())

    def _ready(self, worker: str) -> int:
        return int(self.record.samples[-1]["ready"][worker])

    def _pass(self, seconds: float) -> None:
        since = self.record.now()
        self._wait("time to pass", lambda: self.record.now() - since >= seconds, seconds + 30)

    def _mark(self, text: str) -> None:
        self.record.mark(text)
        last = self.record.samples[-1]
        self.say(f"{text}: KEDA's lag {last['keda']}, ready {last['ready']}, {last['links']} links")

    def _wait(self, what: str, condition: Callable[[], bool], timeout_s: float) -> None:
        wait_for(what, condition, timeout_s, self._check)

    def _check(self) -> None:
        self.plane.check()
        self.feeder.check()
        if self.agent.failure is not None:
            raise self.agent.failure
