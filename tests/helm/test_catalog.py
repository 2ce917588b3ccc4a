"""The job that writes the catalog's snapshots, and the volumes through which workers read them."""

from __future__ import annotations

import pytest

from tests.helm.chart import INSTALLS, manifests, named, set_manifests
from workers.config.indexer import IndexerSettings
from workers.config.settings import CatalogSettings, FallbackSettings, LedgerSettings, LinkerSettings, ParserSettings

MODELS = {
    "parser": ParserSettings, "linker": LinkerSettings, "fallback": FallbackSettings, "ledger": LedgerSettings,
    "indexer": IndexerSettings,
}  # fmt: skip
#: Installs whose workers read the topic.
WITHOUT_SNAPSHOTS = ("plain", "engine-without-snapshots")
FOLLOWERS = [name for name, model in MODELS.items() if issubclass(model, CatalogSettings)]


def spec(found, name):
    workloads = [each for each in found if each["kind"] in ("Deployment", "StatefulSet")]
    return named(workloads, f"main-reflink-{name}")["spec"]["template"]["spec"]


def job_of(found):
    """Return the pod spec of the job that writes snapshots."""
    return named(found, "main-reflink-snapshot")["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def settings_of(found, name):
    return named([each for each in found if each["kind"] == "ConfigMap"], f"main-reflink-{name}")["data"]


@pytest.mark.parametrize("install", INSTALLS)
def test_followers_mount_the_snapshots_read_only(install):
    for each in manifests(install, "Deployment", "StatefulSet"):
        labels = each["spec"]["template"]["metadata"]["labels"]
        data = named(manifests(install, "ConfigMap"), each["metadata"]["name"])["data"]
        mounts = {one["mountPath"]: one for one in each["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]}
        if install not in WITHOUT_SNAPSHOTS and labels["app.kubernetes.io/component"] in FOLLOWERS:
            assert data["REFLINK_CATALOG_SNAPSHOT"] == "/var/lib/reflink/catalogs/current"
            assert mounts["/var/lib/reflink/catalogs"]["readOnly"] is True
        else:
            assert "REFLINK_CATALOG_SNAPSHOT" not in data
            assert "/var/lib/reflink/catalogs" not in mounts


def test_the_job_writes_the_volume_that_workers_read():
    found = set_manifests(presets=("small-node",))
    pod = job_of(found)
    assert named(found, "main-reflink-snapshot")["spec"]["concurrencyPolicy"] == "Forbid"
    assert pod["containers"][0]["args"] == ["snapshot", "--out", "/var/lib/reflink/catalogs", "--keep", "2"]
    volume = {"name": "catalogs", "persistentVolumeClaim": {"claimName": "main-reflink-catalogs"}}
    assert volume in pod["volumes"]
    mount = next(each for each in pod["containers"][0]["volumeMounts"] if each["name"] == "catalogs")
    assert not mount.get("readOnly")
    for name in ("linker", "fallback"):
        assert volume in spec(found, name)["volumes"]


def test_a_gpu_pool_copies_the_snapshot_to_the_disk_of_the_node():
    found = manifests("gpu-pool")
    for name in ("linker", "fallback"):
        one = spec(found, name)
        volumes = {each["name"]: each for each in one["volumes"]}
        mounts = {each["name"]: each for each in one["containers"][0]["volumeMounts"]}
        assert "emptyDir" in volumes["catalog-copy"]
        assert mounts["catalog-copy"]["mountPath"] == settings_of(found, name)["REFLINK_CATALOG_COPY"]
        assert volumes["catalogs"]["persistentVolumeClaim"]["claimName"] == "main-reflink-catalogs"
        assert mounts["catalogs"]["readOnly"] is True
    assert "REFLINK_CATALOG_COPY" not in settings_of(found, "parser")
    assert "REFLINK_CATALOG_COPY" not in settings_of(manifests("small-node"), "linker")


def test_an_init_container_may_fetch_the_snapshot():
    one = spec(manifests("brought-catalog"), "linker")
    (init,) = one["initContainers"]
    assert (init["image"], init["command"]) == ("fetcher:1", ["fetch", "snapshot"])
    assert {"name": "catalogs", "mountPath": "/var/lib/reflink/catalogs"} in init["volumeMounts"]
    assert not manifests("brought-catalog", "CronJob", "PersistentVolumeClaim")


def test_the_job_has_the_settings_of_the_readers():
    found = set_manifests(
        "catalog.source=volume",
        "workers.linker.settings.REFLINK_MODEL=model",
        "workers.linker.settings.REFLINK_DEVICE=cpu",
        "workers.linker.settings.REFLINK_SEMANTIC_MODE=TV",
        "workers.fallback.settings.REFLINK_LEXICAL_MODE=TVLY",
        "workers.fallback.settings.REFLINK_SEARCH_THREADS=3",
        "catalog.snapshots.settings.REFLINK_LOG_LEVEL=DEBUG",
    )
    env = {each["name"]: each.get("value") for each in job_of(found)["containers"][0]["env"]}
    expected = {"MODEL": "model", "SEMANTIC_MODE": "TV", "LEXICAL_MODE": "TVLY", "LOG_LEVEL": "DEBUG"}
    assert env.items() >= {f"REFLINK_{name}": value for name, value in expected.items()}.items()
    assert not env.keys() & {"REFLINK_DEVICE", "REFLINK_SEARCH_THREADS"}


def test_the_job_has_the_image_and_the_model_of_the_linker():
    found = set_manifests(
        "workers.linker.settings.REFLINK_MODEL=/var/lib/reflink/model",
        "workers.linker.image.repository=with-a-model",
        "workers.linker.extraVolumes[0].name=model",
        "workers.linker.extraVolumes[0].persistentVolumeClaim.claimName=model",
        "workers.linker.extraVolumeMounts[0].name=model",
        "workers.linker.extraVolumeMounts[0].mountPath=/var/lib/reflink/model",
        presets=("small-node",),
    )
    for pod in (spec(found, "linker"), job_of(found)):
        assert pod["containers"][0]["image"] == "with-a-model:0.1.0"
        assert {"name": "model", "persistentVolumeClaim": {"claimName": "model"}} in pod["volumes"]
        assert {"name": "model", "mountPath": "/var/lib/reflink/model"} in pod["containers"][0]["volumeMounts"]
    assert not [each for each in spec(found, "fallback")["volumes"] if each["name"] == "model"]


def test_the_job_has_the_image_of_the_linker_pool_with_the_same_kind_of_device():
    found = set_manifests(
        "image.digest=sha256:0000000000000000000000000000000000000000000000000000000000000000",
        "workers.linker.image.digest=sha256:1111111111111111111111111111111111111111111111111111111111111111",
        "workers.linker-cpu.command=linker",
        "workers.linker-cpu.autoscaling.maxReplicas=4",
        "settings.REFLINK_PRECISION=fp16",
        presets=("gpu-pool",),
    )
    assert job_of(found)["containers"][0]["image"] == spec(found, "linker")["containers"][0]["image"]
    assert job_of(found)["containers"][0]["image"].endswith("1" * 64)
    assert spec(found, "linker-cpu")["containers"][0]["image"].endswith("0" * 64)


def test_an_existing_claim_is_used():
    found = set_manifests("catalog.source=volume", "catalog.volume.existingClaim=mine")
    assert not [each for each in found if each["kind"] == "PersistentVolumeClaim"]
    assert {"name": "catalogs", "persistentVolumeClaim": {"claimName": "mine"}} in spec(found, "linker")["volumes"]


def test_the_claim_outlives_the_release():
    (claim,) = manifests("small-node", "PersistentVolumeClaim")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
