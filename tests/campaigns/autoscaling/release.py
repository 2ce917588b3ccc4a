"""Installs the unchanged chart with helm, with values for this run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.campaigns.autoscaling.controlplane import ControlPlane
from tests.campaigns.autoscaling.errors import RunFailed
from tests.data import ROOT
from tests.programs import program

CHART: Final = ROOT / "helm" / "reflink"
NAMESPACE: Final = "reflink"
NAME: Final = "reflink"
_TIMEOUT_S: Final = 300


def install(plane: ControlPlane, values: Mapping[str, Any]) -> None:
    """Install the chart; return when helm reports success, while pods start. Raises RunFailed with helm's message."""
    path = plane.folder / "values.json"
    path.write_text(json.dumps(values, indent=1))
    command = [program("helm"), "install", NAME, str(CHART), "--create-namespace", f"--namespace={NAMESPACE}"]
    done = subprocess.run(
        [*command, f"--values={path}", f"--timeout={_TIMEOUT_S}s", f"--kubeconfig={plane.kubeconfig}"],
        # Use neither the plugins nor the repositories of the user.
        env={"HOME": str(plane.folder / "helm"), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S + 30,
        check=False,
    )
    if done.returncode != 0:
        raise RunFailed(f"`helm install` failed: {done.stderr.strip()[-2000:]}")


def volumes(plane: ControlPlane, folder: Path, count: int) -> None:
    """Create ``count`` volumes for the claims of ledgers, because this control plane has no dynamic provisioner."""
    for number in range(count):
        place = folder / f"volume-{number}"
        place.mkdir(parents=True)
        spec = {
            "capacity": {"storage": "1Ti"},
            "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": str(place)},
        }
        what = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"volume-{number}"}, "spec": spec}
        plane.api.create("/api/v1/persistentvolumes", what)
