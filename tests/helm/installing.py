"""``python -m tests.helm.installing``: applies every install of tests/helm to a real control plane, which must admit its pods.

etcd, kube-apiserver and kube-controller-manager run on this machine, with the CRDs of KEDA and of the Prometheus Operator, and
namespaces that enforce the restricted Pod Security Standard. There are no nodes: admitted pods stay pending. It takes two
minutes once `python -m tests.programs kube-apiserver kube-controller-manager kube-scheduler` has built the programs.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Final

from tests.campaigns.autoscaling.controlplane import ControlPlane
from tests.campaigns.autoscaling.waiting import wait_for
from tests.helm.chart import INSTALLS, choice, helm, pods
from tests.helm.openapi import CRDS
from tests.programs.golang import module_folder

_START_S: Final = 60.0
_MODES: Final = ("enforce", "warn", "audit")
#: A hook needs nodes to run.
_NO_HOOK: Final = ("--set", "topics.hook=false")


def main() -> int:
    """Return 1 if the control plane refused or warned of anything, else 0."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder) / "plane") as plane:
        _define(plane)
        for install in INSTALLS:
            problem = _install(plane, install) or _pods(plane, install)
            print(f"{install}: {problem or 'installed, all pods admitted'}", flush=True)
            wrong += [f"{install}: {problem}"] if problem else []
        changed = _upgrade(plane, "plain", "workers.parser.settings.REFLINK_MAX_DEPTH=100")
        print(f"upgrade: {changed or 'replaced the parser alone'}", flush=True)
    return 1 if wrong or changed else 0


def _define(plane: ControlPlane) -> None:
    for module, version, pattern in CRDS:
        for path in sorted(module_folder(module, version).glob(pattern)):
            plane.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", path.read_bytes())
    for served in ("keda.sh/v1alpha1/scaledobjects", "monitoring.coreos.com/v1/prometheusrules"):
        wait_for(f"{served} to be served", partial(plane.api.well, f"/apis/{served}"), _START_S)
    # Objects of the cluster that the values name.
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "batch"}, "value": 1}
    plane.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", priority)
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "runsc"}
    plane.api.create("/apis/node.k8s.io/v1/runtimeclasses", runtime)


def _arguments(plane: ControlPlane, install: str, *values: str) -> list[str]:
    presets, own = INSTALLS[install]
    whole = choice(presets, (*own, *values))
    version = whole.index("--kube-version")  # the control plane has its own
    kept = [*whole[:version], *whole[version + 2 :], *_NO_HOOK]
    return [*kept, "--namespace", install, "--kubeconfig", str(plane.kubeconfig)]


def _install(plane: ControlPlane, install: str) -> str:
    """Install; return the errors and warnings, empty if there are none."""
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in _MODES}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": install, "labels": labels}}
    plane.api.create("/api/v1/namespaces", namespace)
    tried = helm("install", "main", *_arguments(plane, install))
    if tried.returncode or tried.stderr:
        return tried.stderr.strip()
    # This includes the hooks, such as the pod of `helm test`, which `install` omits.
    return helm("template", "main", "--validate", *_arguments(plane, install)).stderr.strip()


def _pods(plane: ControlPlane, install: str) -> str:
    """Wait for a pod of each workload; return the reasons for missing ones, empty if there are none."""
    tools = {"snapshot", "load", "reindex", "check"}
    wanted = {pod["metadata"]["labels"]["app.kubernetes.io/component"] for _, pod in pods(install)} - tools

    def missing() -> set[str]:
        there = plane.api.items(f"/api/v1/namespaces/{install}/pods")
        return wanted - {each["metadata"]["labels"]["app.kubernetes.io/component"] for each in there}

    wait_for(f"pods of {install}", lambda: not missing() or bool(_refused(plane, install)), _START_S)
    return "; ".join(_refused(plane, install))


def _refused(plane: ControlPlane, install: str) -> list[str]:
    events = plane.api.items(f"/api/v1/namespaces/{install}/events")
    return sorted({each["message"] for each in events if each["reason"] == "FailedCreate"})


def _upgrade(plane: ControlPlane, install: str, value: str) -> str:
    """Upgrade a value of the parser; return the problem if this replaces other pods, else an empty text."""
    before = _generations(plane, install)
    tried = helm("upgrade", "main", *_arguments(plane, install, value))
    changed = Counter(_generations(plane, install)) - Counter(before)
    if tried.returncode or tried.stderr:
        return tried.stderr.strip()
    return "" if set(changed) == {"main-reflink-parser"} else f"replaced the pods of {', '.join(sorted(changed)) or 'none'}"


def _generations(plane: ControlPlane, install: str) -> dict[str, int]:
    kinds = ("deployments", "statefulsets")
    found = [each for kind in kinds for each in plane.api.items(f"/apis/apps/v1/namespaces/{install}/{kind}")]
    return {each["metadata"]["name"]: each["metadata"]["generation"] for each in found}


if __name__ == "__main__":
    sys.exit(main())
