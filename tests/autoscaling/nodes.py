"""Nodes that kwok plays, one process each: killing it is losing the node, for its heartbeats end."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.autoscaling.background import Background
from tests.autoscaling.controlplane import ControlPlane
from tests.autoscaling.waiting import wait_for
from tests.programs import GO
from tests.programs.golang import module_folder

NODES: Final = ("node-a", "node-b", "node-c")
#: What the agent says of a pod's process there, and kwok's stages follow.
ANNOTATION: Final = "reflink.test/process"
#: Heartbeats come at a quarter of it (40).
_LEASE_S: Final = 8
#: As a machine that would do in production; the pods' requests are production's too.
_CAPACITY: Final = {"cpu": "32", "memory": "256Gi", "ephemeral-storage": "512Gi", "pods": "110"}
_READY_S: Final = 60.0


class Nodes:
    """The nodes of a control plane."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._kwok: dict[str, Background] = {}
        #: Those that are lost: what ran there is dead, and nobody there says so.
        self.lost: set[str] = set()

    def start(self) -> None:
        """Makes all nodes; returns when they are ready."""
        stages = Path(module_folder(GO["kwok"].module, GO["kwok"].version)) / "kustomize" / "stage" / "node"
        whole = [stages / "fast" / "node-initialize.yaml", stages / "heartbeat-with-lease" / "node-heartbeat-with-lease.yaml"]
        config = self._plane.folder / "stages.yaml"
        config.write_text("\n---\n".join(path.read_text() for path in [*whole, Path(__file__).with_name("stages.yaml")]))
        for number, name in enumerate(NODES):
            labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
            self._plane.api.create(
                "/api/v1/nodes",
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": _status()},
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
        """Its heartbeats end at once; whoever runs its processes kills them."""
        self.lost.add(name)
        self._plane.give_up(self._kwok.pop(name))

    def remove(self, name: str) -> None:
        """The machine is known to be gone, as a cloud's controller says it: its pods go with it."""
        self._plane.api.delete(f"/api/v1/nodes/{name}")

    def _all_ready(self) -> bool:
        ready = 0
        for node in self._plane.api.items("/api/v1/nodes"):
            conditions = {each["type"]: each["status"] for each in node.get("status", {}).get("conditions", ())}
            ready += conditions.get("Ready") == "True"
        return ready == len(NODES)


def _status() -> dict[str, object]:
    return {"capacity": _CAPACITY, "allocatable": _CAPACITY}
