"""Every object of every install is what Kubernetes, KEDA and the Prometheus Operator take, by kubeconform."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.helm.chart import INSTALLS, text
from tests.helm.openapi import schema_location
from tests.programs import program


def conform(manifests: str) -> list[dict[str, str]]:
    """What kubeconform finds wrong."""
    done = subprocess.run(
        [program("kubeconform"), "-strict", "-summary", "-output", "json", "-schema-location", schema_location(), "-"],
        input=manifests,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = json.loads(done.stdout)
    assert said["summary"]["skipped"] == 0
    assert (done.returncode == 0) == (not said["resources"]), done.stderr
    return list(said["resources"])


@pytest.mark.parametrize("install", INSTALLS)
def test_objects_are_valid(install):
    assert conform(text(install)) == []


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("terminationGracePeriodSeconds:", "terminationGraceSeconds:", "terminationGraceSeconds"),
        ("minReplicaCount:", "minReplicas:", "minReplicas"),
        ("podMetricsEndpoints:", "podMetricEndpoints:", "podMetricEndpoints"),
        ("unhealthyPodEvictionPolicy: AlwaysAllow", "unhealthyPodEvictionPolicy: 7", "unhealthyPodEvictionPolicy"),
        ("      storage: 200Gi", "      storage: [200]", "storage"),
    ],
)
def test_a_wrong_field_is_found(right, wrong, said):
    whole = text("gpu-pool")
    assert right in whole
    problems = conform(whole.replace(right, wrong))
    assert problems
    assert all(said in each["msg"] for each in problems), problems
