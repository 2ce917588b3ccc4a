"""The result of one disturbed run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from tests.campaigns.chaos.checker import check
from tests.campaigns.chaos.cluster import Cluster
from tests.campaigns.chaos.world import World

#: Exit codes that a fault explains: killed, SIGTERM before the handler was installed, drained, fenced, stalled, no broker,
#: the store's disk full. Any other exit code is a defect.
_FINE: Final = (-9, -15, 0, 5, 7, 9, 10)


@dataclass
class Verdict:
    """Counts of the faults of a run, and its problems.

    ``overtaken``: absences during which the group committed beyond the member's batch. ``defects``: exits of workers that
    no fault explains; they are among the problems.
    """

    world: str
    papers: int
    seconds: float
    kills: Counter[str] = field(default_factory=Counter)
    victims: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    overtaken: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    defects: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def close(self, world: World) -> None:
        """Record the papers that were sent, and the exit codes of the workers."""
        self.papers = world.sent
        self.ends = {f"{worker} {code}": count for (worker, code), count in sorted(world.ends.items())}
        for (worker, code), count in world.ends.items():
            if code not in _FINE:
                self.defects.append(f"{worker} ended {count} times with exit code {code}: {_last_words(world, worker)}")

    def check(self, cluster: Cluster, prefix: str, *, like: str | None = None, beyond: str | None = None) -> list[str]:
        """Run the checker and fill in the counts; return the problems, the defects first."""
        self.counts, problems = check(cluster.address, prefix, self.papers, like, beyond)
        return [*self.defects, *self._not_done(), *problems]

    def _not_done(self) -> list[str]:
        """Return a problem if more than a twentieth of the drawn faults took no effect: then the run proves little."""
        done = sum(self.kills.values()) + sum(self.others.values())
        return [f"{len(self.missed)} faults did not take effect"] if 20 * len(self.missed) > done + len(self.missed) else []

    def report(self) -> dict[str, Any]:
        """Return the verdict as a JSON object."""
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in vars(self).items()}


def _last_words(world: World, worker: str) -> str:
    return "; ".join(process.last_line() for process in world.pipeline.processes if process.worker == worker)[:500]
