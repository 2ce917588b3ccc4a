"""KEDA's operator and metrics adapter for the control plane, and the lag that KEDA measures."""

from __future__ import annotations

import base64
import http.client
import shutil
import urllib.request
from pathlib import Path
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from tests.campaigns.autoscaling.api import Refused
from tests.campaigns.autoscaling.controlplane import ControlPlane
from tests.campaigns.autoscaling.waiting import wait_for
from tests.programs import GO
from tests.programs.golang import module_folder
from workers.devkit.ports import free_port

NAMESPACE: Final = "keda"
_SERVICE: Final = "keda-metrics-apiserver"
_METRICS: Final = "/apis/external.metrics.k8s.io/v1beta1"
_START_S: Final = 90.0


class Keda:
    """KEDA, started as in its manifests, except that the certificates are made here and the admission webhook is omitted."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._metrics = free_port()

    def start(self) -> None:
        """Start KEDA; return when the apiserver reaches the external metrics."""
        plane = self._plane
        source = module_folder(GO["keda-operator"].module, GO["keda-operator"].version)
        for path in sorted((source / "config" / "crd" / "bases").glob("*.yaml")):
            plane.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", path.read_bytes())
        plane.api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        wait_for("KEDA's resources to be served", lambda: plane.api.well("/apis/keda.sh/v1alpha1/scaledobjects"), _START_S)
        keys, grpc, adapter = self._keys(), free_port(), free_port()
        environment = {
            "KUBECONFIG": str(plane.kubeconfig),
            "POD_NAMESPACE": NAMESPACE,
            "KEDA_CLUSTER_OBJECT_NAMESPACE": NAMESPACE,
            "WATCH_NAMESPACE": "",
        }
        plane.run(
            "keda-operator",
            f"--cert-dir={keys}",
            f"--metrics-bind-address=127.0.0.1:{self._metrics}",
            "--health-probe-bind-address=0",
            f"--metrics-service-bind-address=127.0.0.1:{grpc}",
            "--zap-encoder=console",
            environment=environment,
        )
        plane.run(
            "keda-adapter",
            f"--secure-port={adapter}",
            "--bind-address=127.0.0.1",
            f"--lister-kubeconfig={plane.kubeconfig}",
            f"--authentication-kubeconfig={plane.kubeconfig}",
            f"--authorization-kubeconfig={plane.kubeconfig}",
            f"--client-ca-file={plane.authority}",
            f"--tls-cert-file={keys / 'tls.crt'}",
            f"--tls-private-key-file={keys / 'tls.key'}",
            f"--cert-dir={keys}",
            f"--metrics-service-address=localhost:{grpc}",
            f"--port={free_port()}",
            environment=environment,
        )
        self._register(adapter)
        wait_for("the external metrics", lambda: plane.api.well(_METRICS), _START_S, plane.check)

    def lag(self) -> dict[str, float]:
        """Return the last lag in records that KEDA measured, by scaled object; empty if its operator does not respond."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics}/metrics", timeout=5) as response:
                return lag_of(response.read().decode())
        except (OSError, http.client.HTTPException):
            return {}

    def _keys(self) -> Path:
        folder = self._plane.folder / "keda-keys"
        folder.mkdir()
        hosts = (f"{_SERVICE}.{NAMESPACE}.svc", "localhost", "127.0.0.1")
        certificate, key = self._plane.certificates.issue("keda", *hosts)
        for source, name in ((self._plane.authority, "ca.crt"), (certificate, "tls.crt"), (key, "tls.key")):
            shutil.copyfile(source, folder / name)
        return folder

    def _register(self, port: int) -> None:
        """Register the adapter at the apiserver by name, because an endpoint may not have a loopback address."""
        api = self._plane.api
        service = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}
        api.create(
            f"/api/v1/namespaces/{NAMESPACE}/services",
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": _SERVICE}, "spec": service},
        )
        group, version = _METRICS.split("/")[2:]
        spec = {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"name": _SERVICE, "namespace": NAMESPACE, "port": port},
            "caBundle": base64.b64encode(self._plane.authority.read_bytes()).decode(),
        }
        what = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": f"{version}.{group}"}}
        try:
            api.create("/apis/apiregistration.k8s.io/v1/apiservices", {**what, "spec": spec})
        except Refused as refused:
            raise Refused(refused.status, f"KEDA's metrics cannot be registered: {refused}") from None


def lag_of(text: str) -> dict[str, float]:
    """Return the sum of the triggers' values by scaled object, from the operator's metrics."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "keda_scaler_metrics_value":
                name = sample.labels["scaledObject"]
                found[name] = found.get(name, 0.0) + sample.value
    return found
