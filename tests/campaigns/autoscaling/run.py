"""One run from an empty folder to a verdict: starts all components, and ends them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.campaigns.autoscaling.agent import Agent
from tests.campaigns.autoscaling.containers import Folders
from tests.campaigns.autoscaling.controlplane import ControlPlane
from tests.campaigns.autoscaling.feeding import Feeder
from tests.campaigns.autoscaling.keda import Keda
from tests.campaigns.autoscaling.nodes import Nodes
from tests.campaigns.autoscaling.record import Record, Sampler, by_component, event_lines, replicas
from tests.campaigns.autoscaling.release import NAME, NAMESPACE, install, volumes
from tests.campaigns.autoscaling.scenario import Scenario
from tests.campaigns.autoscaling.values import MIN_REPLICAS, PARTITIONS, values
from tests.campaigns.autoscaling.verdict import problems
from tests.campaigns.chaos.checker import check
from tests.campaigns.follower import Follower
from tests.kafka import create_topics
from tests.programs import program
from tests.workers.corpus import catalog_works, loaded, make_snapshot
from workers.devkit.broker import Broker
from workers.devkit.ports import free_port
from workers.devkit.processes import WORKERS

PROGRAMS: Final = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "keda-operator", "keda-adapter", "kwok", "helm",
)  # fmt: skip
_PREFIX: Final = "reflink."
_WORKLOADS: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}"


class Run:
    """A run. Its fields contain the results, also if it did not complete."""

    def __init__(self, folder: Path, record: Record, log: Callable[[str], None]) -> None:
        self.folder, self.record, self.log = folder, record, log
        self.papers = 0
        self.finished = False
        self.problems: list[str] = []
        self.counts: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        #: Kubernetes events, as lines of text.
        self.events: list[str] = []

    def run(self, papers: int, settings: Mapping[str, str]) -> None:
        """Run two bursts that begin with ``papers`` papers; ``settings`` are additional settings of all workers.

        Raises RunFailed, or ProgramMissing or LocalSetupError if the machine lacks a program.
        """
        for name in PROGRAMS:
            self.log(f"{name}: {program(name)}")
        with ExitStack() as stack:
            self.folder.mkdir(parents=True, exist_ok=True)
            broker = stack.enter_context(Broker.start(self.folder / "kafka", port=free_port()))
            kafka = create_topics(broker.address, _PREFIX, PARTITIONS)
            works = catalog_works()
            catalogs = self.folder / "catalogs"
            catalogs.mkdir()
            bound = loaded(works, make_snapshot(works, self.folder / "snapshot"), kafka, catalogs)
            (catalogs / "current").symlink_to(bound.name)
            self.log("Kafka has its topics and the catalog")
            plane = stack.enter_context(ControlPlane(self.folder / "plane"))
            nodes, keda = Nodes(plane), Keda(plane)
            nodes.start()
            keda.start()
            self.log("the control plane, its nodes and KEDA are ready")
            claims = {f"{NAME}-catalogs": catalogs}
            folders = Folders(self.folder / "volumes", plane.api, NAMESPACE, claims)
            agent = Agent(plane.api, NAMESPACE, nodes, folders, self.folder / "logs", self.log)
            stack.callback(agent.stop)
            agent.start()
            volumes(plane, self.folder / "volumes", 2 + MIN_REPLICAS["ledger"])
            install(plane, values(broker.address, _PREFIX, settings))
            self.log("the chart is installed")
            links = Follower(kafka, "links")
            stack.callback(links.close)
            sampler = Sampler(
                self.record,
                (
                    lambda: {"links": links.count, "load": round(os.getloadavg()[0], 1)},
                    lambda: {"lag": _lag(agent), "processes": _count(agent)},
                    lambda: {"keda": by_component(keda.lag())},
                    lambda: replicas(
                        plane.api.items(f"{_WORKLOADS}/deployments") + plane.api.items(f"{_WORKLOADS}/statefulsets")
                    ),
                ),
            )
            sampler.start()
            feeder = Feeder(kafka, works, lambda: links.count)
            scenario = Scenario(plane, nodes, agent, self.record, feeder, self.log)
            try:
                scenario.run(papers, MIN_REPLICAS)
                self.finished = True
            finally:
                self.papers = feeder.papers
                sampler.stop()
                self.ends = dict(agent.ends())
                self.events = event_lines(plane.api.items(f"/api/v1/namespaces/{NAMESPACE}/events"))
                self.events += event_lines(plane.api.items("/api/v1/namespaces/default/events"))
            self.counts, found = check(broker.address, _PREFIX, self.papers)
            self.problems += problems(self.record, MIN_REPLICAS, found, self.ends)


def _lag(agent: Agent) -> dict[str, float]:
    """Return the lag that the workers report, by worker."""
    found: dict[str, float] = dict.fromkeys(WORKERS, 0.0)
    for held in agent.alive():
        if held.component in found:
            found[held.component] += sum(held.lag().values())
    return found


def _count(agent: Agent) -> dict[str, int]:
    counted = Counter(held.component for held in agent.alive())
    return {worker: counted[worker] for worker in WORKERS}
