"""The chart, rendered by helm once for each choice of values."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.data import ROOT
from tests.programs import program

CHART: Final = ROOT / "helm" / "reflink"
#: The minimum version in Chart.yaml, and the version for which tests/helm checks objects.
KUBERNETES: Final = "1.34.0"
BROKERS: Final = "kafka-1.kafka:9092,kafka-2.kafka:9092"

#: The dashboards are the largest objects, and equal in all installs.
_BARE: Final = "monitoring.dashboards.enabled=false"

#: Nodes of a search engine, one with an address of version 6.
_NODES: Final = "engine.urls={https://search-1:9200,https://[fd00::1]:9201}"

#: Installs by name: presets, of which later ones take precedence, and single values.
INSTALLS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "plain": ((), ()),
    "small-node": (("small-node",), ()),
    "gpu-pool": (("gpu-pool",), ()),
    "one-gpu": (("small-node", "one-gpu"), ()),
    "gpu-pool-shared": (
        ("gpu-pool",),
        (_BARE, "workers.linker.withFallback=true", "workers.fallback.gpu.count=1", "workers.fallback.strategy.type=Recreate"),
    ),
    "small-node-secured": (("small-node", "secured"), ()),
    "gpu-pool-secured": (("gpu-pool", "secured"), (_BARE,)),
    "mutual-tls": (
        ("gpu-pool",),
        (_BARE, "kafka.securityProtocol=SSL", "kafka.tls.client.secret=client", "kafka.tls.client.passwordKey=password",
         "workers.linker.kafka.tls.client.secret=linker"),
    ),
    "brought-catalog": (
        ("small-node",),
        ("catalog.source=init", "catalog.init.image=fetcher:1", "catalog.init.command={fetch,snapshot}", "topics.hook=false"),
    ),
    "ledger-scaled": (
        ("gpu-pool",),
        (_BARE, "workers.ledger.autoscaling.enabled=true", "workers.linker.strategy.type=Recreate"),
    ),
    "everything": (("everything",), ()),
    "large-catalog": (("large-catalog",), (_BARE, _NODES)),
    "large-catalog-secured": (
        ("large-catalog", "secured"),
        (_BARE, _NODES, "engine.tls.ca.configMap=engine-ca", "workers.indexer.engine.auth.secret=reflink-engine-writer"),
    ),
    "engine-without-snapshots": (("small-node",), (_NODES, "engine.kind=opensearch", "catalog.source=topic")),
    "two-pools": (
        ("gpu-pool",),
        (_BARE, "workers.linker-cpu.command=linker", "workers.linker-cpu.autoscaling.maxReplicas=4",
         "workers.linker-cpu.resources.requests.cpu=2", "workers.linker-cpu.resources.requests.memory=4Gi",
         "workers.linker-cpu.resources.limits.memory=8Gi", "settings.REFLINK_PRECISION=fp16"),
    ),
}  # fmt: skip

#: Installs with the nodes of ``_NODES``.
ENGINE_INSTALLS: Final = tuple(name for name, (_, values) in INSTALLS.items() if _NODES in values)

Manifest = dict[str, Any]


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run helm; the caller checks the exit code."""
    return subprocess.run([program("helm"), *arguments], capture_output=True, text=True, timeout=120, check=False)


def choice(presets: tuple[str, ...], values: tuple[str, ...]) -> list[str]:
    """Return helm's arguments for presets and values."""
    folder = {preset: CHART / "presets" if preset != "everything" else Path(__file__).parent for preset in presets}
    files = [word for preset in presets for word in ("--values", str(folder[preset] / f"{preset}.yaml"))]
    brokers = BROKERS.replace(",", "\\,")
    sets = [word for value in (f"kafka.bootstrapServers={brokers}", *values) for word in ("--set", value)]
    return [str(CHART), "--kube-version", KUBERNETES, *files, *sets]


def text(install: str) -> str:
    """Return the manifests of an install, as YAML."""
    return rendered(*INSTALLS[install])


@cache
def rendered(presets: tuple[str, ...] = (), values: tuple[str, ...] = ()) -> str:
    """Return the manifests of presets and values, as YAML."""
    done = helm("template", "main", "--namespace", "papers", *choice(presets, values))
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def _manifests(yaml_text: str) -> tuple[Manifest, ...]:
    return tuple(each for each in yaml.load_all(yaml_text, Loader=yaml.CSafeLoader) if each)


def manifests(install: str, *kinds: str) -> list[Manifest]:
    """Return the objects of an install, of these kinds or all. The caller must not change them."""
    return [each for each in _manifests(text(install)) if not kinds or each["kind"] in kinds]


def set_manifests(*values: str, presets: tuple[str, ...] = (), kinds: tuple[str, ...] = ()) -> list[Manifest]:
    """Return the objects for other values than those of an install."""
    return [each for each in _manifests(rendered(presets, values)) if not kinds or each["kind"] in kinds]


def named(found: list[Manifest], name: str) -> Manifest:
    """Return the first object of that name."""
    return next(each for each in found if each["metadata"]["name"] == name)


def pods(install: str) -> list[tuple[str, Manifest]]:
    """Return every pod of an install: kind and name of its owner, and its metadata and spec."""
    found = []
    for each in manifests(install):
        name, spec = f"{each['kind']}/{each['metadata']['name']}", each.get("spec", {})
        if each["kind"] == "Pod":
            found.append((name, {"metadata": each["metadata"], "spec": spec}))
        elif each["kind"] == "CronJob":
            found.append((name, spec["jobTemplate"]["spec"]["template"]))
        elif each["kind"] in ("Deployment", "StatefulSet", "Job"):
            found.append((name, spec["template"]))
    return found


def workloads(install: str) -> list[Manifest]:
    """Return the Deployments and StatefulSets of an install."""
    return manifests(install, "Deployment", "StatefulSet")
