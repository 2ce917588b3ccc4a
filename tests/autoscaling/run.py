"""One run from an empty folder to a verdict: everything is started here, and ended here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tests.autoscaling.agent import Agent
from tests.autoscaling.containers import Folders
from tests.autoscaling.controlplane import ControlPlane
from tests.autoscaling.errors import RunFailed
from tests.autoscaling.feeding import Feeder
from tests.autoscaling.keda import Keda
from tests.autoscaling.nodes import Nodes
from tests.autoscaling.record import WORKERS, Links, Record, Sampler, by_component, replicas, told
from tests.autoscaling.release import NAME, NAMESPACE, install, volumes
from tests.autoscaling.scenario import Scenario
from tests.autoscaling.values import LEAST, PARTITIONS, values
from tests.autoscaling.verdict import problems
from tests.kafka import create_topics
from tests.programs import program
from tests.workers.corpus import catalog_works, loaded, make_snapshot
from workers.local.broker import Broker
from workers.local.ports import free_port

PROGRAMS: Final = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "keda-operator",
    "keda-adapter",
    "kwok",
    "helm",
)
_PREFIX: Final = "reflink."
_WORKLOADS: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}"


class Run:
    """What came of it is in its fields, also when it did not come to its end."""

    def __init__(self, folder: Path, record: Record, say: Callable[[str], None]) -> None:
        self.folder, self.record, self.say = folder, record, say
        self.papers = 0
        self.finished = False
        self.problems: list[str] = []
        self.counts: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        #: What Kubernetes says that it did.
        self.told: list[str] = []

    def run(self, papers: int, settings: Mapping[str, str]) -> None:
        """Two bursts of so many papers, with more settings of all workers. Raises RunFailed and what the machine lacks."""
        for name in PROGRAMS:
            self.say(f"{name}: {program(name)}")
        with ExitStack() as stack:
            self.folder.mkdir(parents=True, exist_ok=True)
            broker = stack.enter_context(Broker.start(self.folder / "kafka", port=free_port()))
            kafka = create_topics(broker.address, _PREFIX, PARTITIONS)
            works = catalog_works()
            catalogs = self.folder / "catalogs"
            catalogs.mkdir()
            bound = loaded(works, make_snapshot(works, self.folder / "snapshot"), kafka, catalogs)
            (catalogs / "current").symlink_to(bound.name)
            self.say("Kafka has its topics and the catalog")
            plane = stack.enter_context(ControlPlane(self.folder / "plane"))
            nodes, keda = Nodes(plane), Keda(plane)
            nodes.start()
            keda.start()
            self.say("the control plane, its nodes and KEDA are there")
            claims = {f"{NAME}-catalogs": catalogs}
            folders = Folders(self.folder / "volumes", plane.api, NAMESPACE, claims)
            agent = Agent(plane.api, NAMESPACE, nodes, folders, self.folder / "logs", self.say)
            stack.callback(agent.stop)
            agent.start()
            volumes(plane, self.folder / "volumes", 2 + LEAST["ledger"])
            install(plane, values(broker.address, _PREFIX, settings))
            self.say("the chart is installed")
            links = Links(kafka)
            links.start()
            stack.callback(links.stop)
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
            scenario = Scenario(plane, nodes, agent, self.record, links, feeder, self.say)
            try:
                scenario.run(papers, LEAST)
                self.finished = True
            finally:
                self.papers = feeder.papers
                sampler.stop()
                self.ends = dict(agent.ends())
                self.told = told(plane.api.items(f"/api/v1/namespaces/{NAMESPACE}/events"))
                self.told += told(plane.api.items("/api/v1/namespaces/default/events"))
            found = self._checked(broker.address)
            self.problems += problems(self.record, LEAST, found, self.ends)

    def _checked(self, broker: str) -> list[str]:
        """What a process of its own, which knows nothing of the workers, finds in the topics."""
        command = [sys.executable, "-m", "tests.chaos.checker", broker, _PREFIX, "--papers", str(self.papers)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1) or not done.stdout:
            raise RunFailed(f"the checker failed: {done.stderr[-500:]}")
        report: dict[str, Any] = json.loads(done.stdout)
        self.counts = report["counts"]
        return list(report["problems"])


def _lag(agent: Agent) -> dict[str, float]:
    """As the workers count it themselves, by worker."""
    found = dict.fromkeys(WORKERS, 0.0)
    for held in agent.alive():
        if held.component in found:
            found[held.component] += sum(held.lag().values())
    return found


def _count(agent: Agent) -> dict[str, int]:
    counted = Counter(held.component for held in agent.alive())
    return {worker: counted[worker] for worker in WORKERS}
