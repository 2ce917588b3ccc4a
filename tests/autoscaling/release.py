"""The chart, installed with helm as it is, with values for this run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.autoscaling.controlplane import ControlPlane
from tests.autoscaling.errors import RunFailed
from tests.data import ROOT
from tests.programs import program

CHART: Final = ROOT / "helm" / "reflink"
NAMESPACE: Final = "reflink"
NAME: Final = "reflink"
_TIMEOUT_S: Final = 300


def install(plane: ControlPlane, values: Mapping[str, Any]) -> None:
    """Returns when helm says that all is there; pods start then. Raises RunFailed with helm's words."""
    path = plane.folder / "values.json"
    path.write_text(json.dumps(values, indent=1))
    _helm(plane, "install", NAME, str(CHART), "--create-namespace", f"--values={path}", f"--timeout={_TIMEOUT_S}s")


def _helm(plane: ControlPlane, *arguments: str) -> str:
    scratch = plane.folder / "helm"
    done = subprocess.run(
        [program("helm"), *arguments, f"--namespace={NAMESPACE}", f"--kubeconfig={plane.kubeconfig}"],
        # Neither the plugins nor the repositories of whoever runs this.
        env={"HOME": str(scratch), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S + 30,
        check=False,
    )
    if done.returncode != 0:
        raise RunFailed(f"`helm {arguments[0]}` failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def volumes(plane: ControlPlane, folder: Path, count: int) -> None:
    """So many volumes for the claims of ledgers: there is nobody here who makes them on demand."""
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
