"""Nodes simulated by kwok, one process each. Killing the process ends the heartbeats, like the loss of the node."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.campaigns.autoscaling.background import Background
from tests.campaigns.autoscaling.controlplane import ControlPlane
from tests.campaigns.autoscaling.waiting import wait_for
from tests.programs import GO
from tests.programs.golang import module_folder

NODES: Final = ("node-a", "node-b", "node-c")
#: The annotation in which the agent reports the state of a pod's process; kwok's stages react to it.
ANNOTATION: Final = "reflink.test/process"
#: Duration of a node's lease in seconds (40 in production); heartbeats come at a quarter of it.
_LEASE_S: Final = 8
#: Capacity of a machine suitable for production, because the pods' requests are those of production.
_CAPACITY: Final = {"cpu": "32", "memory": "256Gi", "ephemeral-storage": "512Gi", "pods": "110"}
_READY_S: Final = 60.0


class Nodes:
    """The simulated nodes of a control plane."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._kwok: dict[str, Background] = {}
        #: Lost nodes: their processes are killed, and no state is reported from there.
        self.lost: set[str] = set()

    def start(self) -> None:
        """Create all nodes; return when they are ready."""
        stages = Path(module_folder(GO["kwok"].module, GO["kwok"].version)) / "kustomize" / "stage" / "node"
        whole = [stages / "fast" / "node-initialize.yaml", stages / "heartbeat-with-lease" / "node-heartbeat-with-lease.yaml"]
        config = self._plane.folder / "stages.yaml"
        config.write_text("\n---\n".join(path.read_text() for path in [*whole, Path(__file__).with_name("stages.yaml")]))
        status = {"capacity": _CAPACITY, "allocatable": _CAPACITY}
        for number, name in enumerate(NODES):
            labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
            self._plane.api.create(
                "/api/v1/nodes",
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status},
            )
            self._kwok[name] = self._plane.run(
                "kwok",
                f"--kubeconfig={self._plane.kubeconfig}",
                f"--config={config}",
                f"--manage-single-node={name}",
                f"--node-lease-duration-seconds={_LEASE_S}",
                f"--cidr=10.{number + 1}.0.1/24",
                log=f"kwok-{name}",
            )
        wait_for("the nodes to be ready", self._all_ready, _READY_S, self._plane.check)

    def lose(self, name: str) -> None:
        """End the node's heartbeats at once; the agent kills its processes."""
        self.lost.add(name)
        self._plane.give_up(self._kwok.pop(name))

    def remove(self, name: str) -> None:
        """Delete the node's object, as a cloud's controller does when the machine is gone; its pods are deleted with it."""
        self._plane.api.delete(f"/api/v1/nodes/{name}")

    def _all_ready(self) -> bool:
        ready = 0
        for node in self._plane.api.items("/api/v1/nodes"):
            conditions = {each["type"]: each["status"] for each in node.get("status", {}).get("conditions", ())}
            ready += conditions.get("Ready") == "True"
        return ready == len(NODES)
