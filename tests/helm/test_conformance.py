"""kubeconform accepts every object of every install, by the schemas of Kubernetes, KEDA and the Prometheus Operator."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.helm.chart import INSTALLS, text
from tests.helm.openapi import schema_location
from tests.programs import program


def conform(manifests: str) -> list[dict[str, str]]:
    """Return the faults that kubeconform finds."""
    command = [program("kubeconform"), "-strict", "-summary", "-output", "json", "-schema-location", schema_location(), "-"]
    done = subprocess.run(command, input=manifests, capture_output=True, text=True, timeout=120, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["skipped"] == 0
    assert (done.returncode == 0) == (not report["resources"]), done.stderr
    return list(report["resources"])


@pytest.mark.parametrize("install", INSTALLS)
def test_objects_are_valid(install):
    assert conform(text(install)) == []


@pytest.mark.parametrize(
    ("right", "wrong", "named"),
    [
        ("terminationGracePeriodSeconds:", "terminationGraceSeconds:", "terminationGraceSeconds"),
        ("minReplicaCount:", "minReplicas:", "minReplicas"),
        ("podMetricsEndpoints:", "podMetricEndpoints:", "podMetricEndpoints"),
        ("unhealthyPodEvictionPolicy: AlwaysAllow", "unhealthyPodEvictionPolicy: 7", "unhealthyPodEvictionPolicy"),
        ("      storage: 200Gi", "      storage: [200]", "storage"),
    ],
)
def test_a_wrong_field_is_found(right, wrong, named):
    whole = text("gpu-pool")
    assert right in whole
    problems = conform(whole.replace(right, wrong))
    assert problems
    assert all(named in each["msg"] for each in problems), problems
