"""The workloads of the workers: slot, settings, probes, deadlines, disk and replicas."""

from __future__ import annotations

import re
from collections import Counter

import pytest
import yaml

from tests.helm.chart import (
    CHART,
    ENGINE_INSTALLS,
    INSTALLS,
    KUBERNETES,
    helm,
    manifests,
    named,
    pods,
    set_manifests,
    workloads,
)
from workers.config import settings
from workers.config.indexer import IndexerSettings
from workers.config.unknown_names import unknown_names
from workers.ledger.stage import LedgerStage
from workers.linking.fallback_stage import FallbackStage
from workers.linking.linker_stage import LinkerStage
from workers.papers.stage import ParserStage

#: The model of the settings of each worker.
MODELS = {
    "parser": settings.ParserSettings, "linker": settings.LinkerSettings, "fallback": settings.FallbackSettings,
    "ledger": settings.LedgerSettings, "indexer": IndexerSettings,
}  # fmt: skip
STAGES = {each.name: each for each in (ParserStage, LinkerStage, FallbackStage, LedgerStage)}
every_install = pytest.mark.parametrize("install", INSTALLS)


def container(workload):
    return workload["spec"]["template"]["spec"]["containers"][0]


def component(workload):
    return workload["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]


def environment(install, workload):
    """Return the container's variables; for those from secrets and fields, their source."""
    source = container(workload)["envFrom"][0]["configMapRef"]["name"]
    found = dict(named(manifests(install, "ConfigMap"), source)["data"])
    return found | {each["name"]: each.get("value", each.get("valueFrom")) for each in container(workload)["env"]}


@every_install
def test_all_four_workers_are_installed_and_an_indexer_with_an_engine(install):
    with_engine = install in (*ENGINE_INSTALLS, "everything")
    commands = {word.removeprefix("--with-") for each in workloads(install) for word in container(each)["args"]}
    assert commands == set(STAGES) | ({"indexer"} if with_engine else set())
    for each in workloads(install):
        assert container(each)["args"][0] == component(each)
        assert each["kind"] == ("StatefulSet" if component(each) == "ledger" else "Deployment")


@every_install
def test_selectors_match_their_pods_and_no_others(install):
    for each in workloads(install):
        wanted = each["spec"]["selector"]["matchLabels"].items()
        matched = [name for name, pod in pods(install) if wanted <= pod["metadata"]["labels"].items()]
        assert matched == [f"{each['kind']}/{each['metadata']['name']}"]
        # Otherwise an upgrade of the chart alone would replace every pod.
        assert "helm.sh/chart" not in each["spec"]["template"]["metadata"]["labels"]


@every_install
def test_settings_are_known_and_complete(install):
    for each in workloads(install):
        found = environment(install, each)
        assert unknown_names(found) == {}
        assert found["REFLINK_STATE_DIR"] == "/var/lib/reflink/state"
        assert found["REFLINK_SLOT"] == {"fieldRef": {"fieldPath": "metadata.name"}}
        texts = {name: value for name, value in found.items() if isinstance(value, str)}
        model = MODELS[component(each)]
        # Secrets have no value here; any will do.
        secret = {
            name: "x"
            for name, value in found.items()
            if name.startswith(("REFLINK_KAFKA", "REFLINK_ENGINE")) and not isinstance(value, str)
        }
        values = {name.removeprefix("REFLINK_").lower(): value for name, value in (texts | secret).items()}
        settings.read(model, slot="x", **{name: value for name, value in values.items() if name in model.model_fields})


@every_install
def test_probes_use_the_open_port(install):
    for each in workloads(install):
        one = container(each)
        assert one["ports"] == [{"name": "metrics", "containerPort": int(environment(install, each)["REFLINK_HTTP_PORT"])}]
        paths = {kind: one[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
        assert {probe["port"] for probe in paths.values()} == {"metrics"}
        # Liveness begins with the process; only readiness shows that catalog and model are loaded.
        assert paths["readiness"]["path"] == "/health/ready"
        assert paths["liveness"]["path"] == "/health/live"
        # An indexer that fills an index for hours must not be restarted.
        assert paths["startup"]["path"] == ("/health/live" if component(each) == "indexer" else "/health/ready")


def test_labels_are_texts_if_names_are_numbers():
    values = ("--set", "kafka.bootstrapServers=kafka:9092,nameOverride=0x1")
    done = helm("template", "123", str(CHART), "--kube-version", KUBERNETES, *values)
    assert done.returncode == 0, done.stderr
    for each in filter(None, yaml.load_all(done.stdout, Loader=yaml.CSafeLoader)):
        labels = each["metadata"]["labels"]
        assert (labels["app.kubernetes.io/name"], labels["app.kubernetes.io/instance"]) == ("0x1", "123")


def test_the_startup_probe_allows_the_configured_seconds():
    found = set_manifests("workers.linker.startupSeconds=1234", kinds=("Deployment",))
    one = named(found, "main-reflink-linker")
    probe = container(one)["startupProbe"]
    assert 1234 <= probe["failureThreshold"] * probe["periodSeconds"] < 1234 + probe["periodSeconds"]
    assert one["spec"]["progressDeadlineSeconds"] > 1234


@every_install
def test_the_drain_deadline_fits_into_the_grace_period(install):
    for each in workloads(install):
        drain = float(environment(install, each).get("REFLINK_DRAIN_DEADLINE_S", settings.WorkerSettings().drain_deadline_s))
        assert each["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= drain + 10


def test_a_longer_drain_has_a_longer_grace_period():
    found = set_manifests(
        "settings.REFLINK_DRAIN_DEADLINE_S=60", "workers.linker.settings.REFLINK_DRAIN_DEADLINE_S=90.5", kinds=("Deployment",)
    )
    grace = {component(each): each["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] for each in found}
    assert grace == {"parser": 75, "fallback": 75, "linker": 106}


@every_install
def test_the_ledgers_store_has_a_claim_for_each_slot(install):
    for each in workloads(install):
        mounts = {mount["mountPath"]: mount["name"] for mount in container(each)["volumeMounts"]}
        volume = mounts["/var/lib/reflink/state"]
        claims = [claim["metadata"]["name"] for claim in each["spec"].get("volumeClaimTemplates", ())]
        volumes = {one["name"]: one for one in each["spec"]["template"]["spec"]["volumes"]}
        if each["kind"] == "StatefulSet":
            assert claims == [volume]
            assert volume not in volumes
            service = named(manifests(install, "Service"), each["spec"]["serviceName"])
            assert service["spec"]["selector"] == each["spec"]["selector"]["matchLabels"]
            assert service["spec"]["clusterIP"] == "None"
        else:
            assert "emptyDir" in volumes[volume]


@every_install
def test_the_disruption_budget_of_a_workload_allows_to_drain_a_node(install):
    budgets = {
        frozenset(each["spec"]["selector"]["matchLabels"].items()): each for each in manifests(install, "PodDisruptionBudget")
    }
    for each in workloads(install):
        assert budgets[frozenset(each["spec"]["selector"]["matchLabels"].items())]["spec"]["maxUnavailable"] >= 1


@every_install
def test_an_upgrade_never_needs_a_second_gpu(install):
    for each in workloads(install):
        one = container(each)
        if "nvidia.com/gpu" in one["resources"].get("limits", {}):
            strategy = each["spec"]["strategy"]
            assert strategy["type"] == "Recreate" or strategy["rollingUpdate"]["maxSurge"] == 0
            assert one["image"].endswith("-gpu")
            variable = "REFLINK_SEARCH_DEVICE" if component(each) == "fallback" else "REFLINK_DEVICE"
            assert environment(install, each)[variable] == "cuda"
        else:
            assert not one["image"].endswith("-gpu")


def test_the_number_of_threads_is_the_requested_cpus():
    found = set_manifests(
        "workers.linker.threads=8",
        "workers.ledger.resources=null",
        "workers.fallback.resources.requests.cpu=1500m",
        "workers.linker-small.command=linker",
        kinds=("Deployment", "StatefulSet"),
    )
    variables = {
        each["metadata"]["name"].removeprefix("main-reflink-"): {
            one["name"]: one.get("value", one.get("valueFrom")) for one in container(each)["env"] if "THREADS" in one["name"]
        }
        for each in found
    }
    assert variables == {
        "parser": {"OMP_NUM_THREADS": "1"},
        "linker": {"OMP_NUM_THREADS": "8"},
        "linker-small": {},
        "fallback": {"OMP_NUM_THREADS": "2", "REFLINK_SEARCH_THREADS": "2"},
        "ledger": {},
    }
    found = set_manifests("workers.fallback.settings.REFLINK_SEARCH_THREADS=2", kinds=("Deployment",))
    names = [one["name"] for one in container(named(found, "main-reflink-fallback"))["env"]]
    assert "REFLINK_SEARCH_THREADS" not in names
    found = set_manifests("settings.REFLINK_FIRST_SEARCH=trigrams", kinds=("Deployment",))
    variables = {one["name"]: one.get("value") for one in container(named(found, "main-reflink-linker"))["env"]}
    assert variables["REFLINK_SEARCH_THREADS"] == variables["OMP_NUM_THREADS"]


def test_additions_of_the_operator_are_in_the_pod():
    one = named(manifests("everything", "Deployment"), "main-links-parser")["spec"]["template"]
    pod, first = one["spec"], one["spec"]["containers"][0]
    assert one["metadata"]["labels"]["team"] == "library"
    assert one["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "true"
    assert first["image"] == "registry.local/reflink:0.1.0-papers"
    assert {"name": "MALLOC_ARENA_MAX", "value": "2"} in first["env"]
    assert {"name": "papers", "mountPath": "/papers", "readOnly": True} in first["volumeMounts"]
    assert {"name": "papers", "persistentVolumeClaim": {"claimName": "papers"}} in pod["volumes"]
    assert (pod["nodeSelector"], pod["priorityClassName"], pod["runtimeClassName"]) == ({"pool": "cpu"}, "batch", "gvisor")
    assert pod["tolerations"] == [{"key": "batch", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}]
    assert "nodeAffinity" in pod["affinity"]
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["serviceAccountName"] == "papers"
    claim = named(manifests("everything", "StatefulSet"), "main-links-ledger")["spec"]
    assert claim["volumeClaimTemplates"][0]["spec"]["storageClassName"] == "fast"
    assert claim["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Delete", "whenScaled": "Retain"}


def test_large_numbers_stay_numbers():
    found = set_manifests("settings.REFLINK_QUEUE_BYTES=64000000", "settings.REFLINK_FOLLOW_SHARE=0.05", kinds=("ConfigMap",))
    data = named(found, "main-reflink-parser")["data"]
    assert (data["REFLINK_QUEUE_BYTES"], data["REFLINK_FOLLOW_SHARE"]) == ("64000000", "0.05")


def test_a_changed_setting_replaces_the_pods_of_that_worker_only():
    def sums(*values):
        return {
            component(each): each["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]
            for each in set_manifests(*values, kinds=("Deployment", "StatefulSet"))
        }

    before, after = sums(), sums("workers.parser.settings.REFLINK_MAX_DEPTH=100")
    assert {name for name in before if before[name] != after[name]} == {"parser"}


def test_scaling_reads_the_lag_of_the_inputs_of_the_stages():
    found = manifests("ledger-scaled", "ScaledObject")
    topics = {each["metadata"]["name"].removeprefix("main-reflink-"): each for each in found}
    assert set(topics) == set(STAGES)
    for name, each in topics.items():
        trigger = each["spec"]["triggers"][0]["metadata"]
        assert trigger["topic"] == f"reflink.{STAGES[name].inputs[0]}"
        assert trigger["consumerGroup"] == f"reflink.{STAGES[name].name}"


def test_a_linker_with_a_fallback_has_the_settings_and_the_triggers_of_both():
    found = named(manifests("gpu-pool-shared", "Deployment"), "main-reflink-linker")
    variables = environment("gpu-pool-shared", found)
    assert container(found)["args"] == ["linker", "--with-fallback"]
    assert (variables["REFLINK_DEVICE"], variables["REFLINK_SEARCH_DEVICE"]) == ("cuda", "cuda")
    assert variables["REFLINK_SEARCH_THREADS"] == "4"
    scaled = named(manifests("gpu-pool-shared", "ScaledObject"), "main-reflink-linker")["spec"]["triggers"]
    groups = {each["metadata"]["consumerGroup"]: each["metadata"] for each in scaled}
    assert {name: each["topic"] for name, each in groups.items()} == {
        "reflink.linker": "reflink.references", "reflink.fallback": "reflink.fallback",
    }  # fmt: skip
    alone = named(manifests("gpu-pool", "ScaledObject"), "main-reflink-fallback")["spec"]["triggers"][0]["metadata"]
    assert groups["reflink.fallback"]["lagThreshold"] == alone["lagThreshold"]


@every_install
def test_scaling_never_goes_to_zero_or_beyond_the_partitions(install):
    total, scaled = Counter(), {each["spec"]["scaleTargetRef"]["name"] for each in manifests(install, "ScaledObject")}
    for each in workloads(install):
        assert ("replicas" in each["spec"]) == (each["metadata"]["name"] not in scaled)
    arguments = container(manifests(install, "Job")[0])["args"]
    partitions = int(re.search(r"--partitions (\d+)", " ".join(arguments))[1])
    for each in manifests(install, "ScaledObject"):
        spec, trigger = each["spec"], each["spec"]["triggers"][0]["metadata"]
        assert 1 <= spec["minReplicaCount"] <= spec["maxReplicaCount"]
        assert "idleReplicaCount" not in spec
        total[trigger["consumerGroup"]] += spec["maxReplicaCount"]
        assert int(trigger["lagThreshold"]) >= 1
        assert trigger["allowIdleConsumers"] == trigger["scaleToZeroOnInvalidOffset"] == "false"
        assert trigger["offsetResetPolicy"] == "earliest"
        behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
        assert behavior["scaleUp"]["stabilizationWindowSeconds"] == 0
        assert behavior["scaleDown"]["stabilizationWindowSeconds"] >= 300
        assert behavior["scaleDown"]["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 120}]
        assert spec["fallback"]["replicas"] >= spec["minReplicaCount"]
    assert all(count <= partitions for count in total.values())


def test_the_threshold_is_seconds_of_work():
    found = set_manifests(
        "autoscaling.enabled=true",
        "autoscaling.targetLagSeconds=30",
        "workers.parser.autoscaling.recordsPerSecond=0.001",
        "workers.linker.autoscaling.recordsPerSecond=1234.5",
        "workers.fallback.autoscaling.targetLagSeconds=2",
        "workers.fallback.autoscaling.recordsPerSecond=75",
        kinds=("ScaledObject",),
    )
    thresholds = {
        each["metadata"]["name"].removeprefix("main-reflink-"): each["spec"]["triggers"][0]["metadata"]["lagThreshold"]
        for each in found
    }
    assert thresholds == {"parser": "1", "linker": "37035", "fallback": "150"}
