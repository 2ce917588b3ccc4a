"""A search engine: settings and secrets of the workers that use it, the indexer, the job that builds the index again."""

from __future__ import annotations

import pytest

from tests.helm.chart import ENGINE_INSTALLS, INSTALLS, manifests, named, set_manifests, text
from workers.config.engine import EngineSearchSettings

USERS = ("linker", "fallback", "indexer")
NATIVE = [name for name in INSTALLS if name not in (*ENGINE_INSTALLS, "everything")]


def pod_of(found, name):
    """Return the pod spec of a workload, or of the job that builds the index again."""
    spec = named([each for each in found if each["kind"] in ("Deployment", "StatefulSet", "CronJob")], name)["spec"]
    return (spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec)["template"]["spec"]


def settings_of(found, name):
    return named([each for each in found if each["kind"] == "ConfigMap"], name)["data"]


@pytest.mark.parametrize("install", NATIVE)
def test_without_an_engine_nothing_mentions_it(install):
    assert "REFLINK_ENGINE" not in text(install)
    assert not [each for each in manifests(install) if "index" in each["metadata"]["name"]]


@pytest.mark.parametrize("worker", USERS)
def test_users_of_the_engine_have_its_settings(worker):
    data = settings_of(manifests("everything"), f"main-links-{worker}")
    own = {name: value for name, value in data.items() if name.startswith("REFLINK_ENGINE")}
    common = {
        "REFLINK_ENGINE": "opensearch",
        "REFLINK_ENGINE_URLS": "https://search.search:9200",
        "REFLINK_ENGINE_INDEX": "papers",
        "REFLINK_ENGINE_TIMEOUT_S": "2.5",
        "REFLINK_ENGINE_CA_FILE": "/etc/reflink/engine/ca.pem",
    }
    more = {"SHARDS": "1", "REPLICAS": "1"} if worker == "indexer" else {"HITS": "20", "WIDER_HITS": "100"}
    assert own == common | {f"REFLINK_ENGINE_{name}": value for name, value in more.items()}


def test_the_chart_and_the_workers_have_the_same_defaults():
    data = settings_of(set_manifests("engine.kind=opensearch", "engine.urls={https://search:9200}"), "main-reflink-fallback")
    defaults = {name: field.default for name, field in EngineSearchSettings.model_fields.items()}
    for name in ("engine_index", "engine_timeout_s", "engine_hits", "engine_wider_hits"):
        assert type(defaults[name])(data[f"REFLINK_{name.upper()}"]) == defaults[name]


@pytest.mark.parametrize("worker", ["parser", "ledger"])
def test_other_workers_have_neither_settings_nor_secrets(worker):
    found = manifests("large-catalog-secured")
    assert not [name for name in settings_of(found, f"main-reflink-{worker}") if "ENGINE" in name]
    assert "engine" not in str(pod_of(found, f"main-reflink-{worker}"))


def test_user_and_certificates_come_from_existing_objects():
    found = manifests("everything")
    for name in (*(f"main-links-{worker}" for worker in USERS), "main-links-reindex"):
        pod = pod_of(found, name)
        (container,) = pod["containers"]
        secrets = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in container["env"] if "ENGINE" in each["name"]}
        assert secrets == {
            "REFLINK_ENGINE_USERNAME": {"name": "search", "key": "user"},
            "REFLINK_ENGINE_PASSWORD": {"name": "search", "key": "word"},
        }
        assert {"name": "engine-ca", "secret": {"secretName": "search-ca", "defaultMode": 0o440}} in pod["volumes"]
        assert {"name": "engine-ca", "mountPath": "/etc/reflink/engine", "readOnly": True} in container["volumeMounts"]


def test_the_certificates_may_be_in_a_config_map_and_the_indexer_may_have_its_own_user():
    found, users = manifests("large-catalog-secured"), {}
    for worker in (*USERS, "reindex"):
        pod = pod_of(found, f"main-reflink-{worker}")
        assert {"name": "engine-ca", "configMap": {"name": "engine-ca"}} in pod["volumes"]
        users[worker] = {
            each["valueFrom"]["secretKeyRef"]["name"]
            for each in pod["containers"][0]["env"]
            if each["name"].endswith("_USERNAME")
        }
    assert users == {
        "linker": {"reflink-linker", "reflink-engine"},
        "fallback": {"reflink-fallback", "reflink-engine"},
        "indexer": {"reflink-indexer", "reflink-engine-writer"},
        "reindex": {"reflink-indexer", "reflink-engine-writer"},
    }


@pytest.mark.parametrize("install", ENGINE_INSTALLS)
def test_one_indexer_which_is_replaced_at_once_and_never_scaled(install):
    found = named(manifests(install, "Deployment"), "main-reflink-indexer")["spec"]
    assert (found["replicas"], found["strategy"]) == (1, {"type": "Recreate"})
    assert not [each for each in manifests(install, "ScaledObject") if "index" in each["metadata"]["name"]]


@pytest.mark.parametrize("install", [*ENGINE_INSTALLS, "everything"])
def test_nobody_requests_a_gpu(install):
    assert "nvidia.com/gpu" not in text(install)


def test_the_indexer_reads_the_shared_snapshot_and_linkers_copy_it_to_a_local_disk():
    found = manifests("large-catalog")
    for worker in USERS:
        pod = pod_of(found, f"main-reflink-{worker}")
        mounts = {each["name"]: each for each in pod["containers"][0]["volumeMounts"]}
        volumes = {each["name"]: each for each in pod["volumes"]}
        data = settings_of(found, f"main-reflink-{worker}")
        assert mounts["catalogs"]["readOnly"] is True
        if worker == "indexer":
            assert "REFLINK_CATALOG_COPY" not in data
            assert "catalog-copy" not in mounts
        else:
            assert data["REFLINK_CATALOG_COPY"] == mounts["catalog-copy"]["mountPath"]
            claim = volumes["catalog-copy"]["ephemeral"]["volumeClaimTemplate"]["spec"]
            assert claim["storageClassName"] == "local-nvme"
            assert claim["resources"]["requests"] == {"storage": "80Gi"}


def test_the_job_that_builds_the_index_again_runs_only_when_it_is_created_by_hand():
    found = manifests("large-catalog")
    job, pod = named(found, "main-reflink-reindex")["spec"], pod_of(found, "main-reflink-reindex")
    assert (job["suspend"], job["concurrencyPolicy"]) == (True, "Forbid")
    assert "activeDeadlineSeconds" not in job["jobTemplate"]["spec"]
    (container,) = pod["containers"]
    assert container["args"] == ["reindex"]
    assert container["envFrom"] == [{"configMapRef": {"name": "main-reflink-indexer"}}]
    # Otherwise Prometheus would scrape it as another worker.
    labels = job["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
    assert "reflink/workload" not in labels


def test_the_job_that_writes_snapshots_leaves_vectors_out():
    (container,) = pod_of(manifests("large-catalog"), "main-reflink-snapshot")["containers"]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    assert variables["REFLINK_ENGINE"] == "opensearch"
    assert variables["REFLINK_ENGINE_URLS"] == "https://search-1:9200,https://[fd00::1]:9201"


def test_without_an_indexer_there_is_no_job_for_its_index():
    found = set_manifests("engine.kind=opensearch", "engine.urls={https://search:9200}", "workers.indexer.enabled=false")
    assert not [each for each in found if "index" in each["metadata"]["name"]]
    assert settings_of(found, "main-reflink-linker")["REFLINK_ENGINE"] == "opensearch"


def test_egress_to_the_engine_can_be_narrowed():
    for each in manifests("everything", "NetworkPolicy"):
        (rule,) = [rule for rule in each["spec"]["egress"] if {"protocol": "TCP", "port": 9200} in rule["ports"]]
        assert rule["to"] == [{"ipBlock": {"cidr": "10.1.0.0/16"}}]
