"""Pods obey the restricted Pod Security Standard, secrets are references only, and the network policies are narrow."""

from __future__ import annotations

import re

import pytest

from tests.helm.chart import ENGINE_INSTALLS, INSTALLS, manifests, named, pods, set_manifests, text

every_install = pytest.mark.parametrize("install", INSTALLS)
#: Kinds of volumes that the restricted standard allows.
VOLUMES = {"configMap", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
#: Ports of the nodes of the search engine, by install.
ENGINE_PORTS = {"everything": {9200}, **{name: {9200, 9201} for name in ENGINE_INSTALLS}}


def containers(pod):
    return [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]


@every_install
def test_pods_are_restricted(install):
    for name, pod in pods(install):
        spec, security = pod["spec"], pod["spec"]["securityContext"]
        assert security["runAsNonRoot"] is True, name
        assert security["runAsUser"] == security["runAsGroup"] == security["fsGroup"] == 10001, name
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["enableServiceLinks"] is False, name
        assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}, name
        for one in containers(pod):
            own = one["securityContext"]
            assert own["allowPrivilegeEscalation"] is False, name
            assert own["readOnlyRootFilesystem"] is True, name
            assert own["capabilities"] == {"drop": ["ALL"]}, name
            assert one["resources"]["requests"].keys() >= {"cpu", "memory"}, name
            assert "memory" in one["resources"]["limits"], name
        for volume in spec["volumes"]:
            assert len(volume.keys() & VOLUMES) == 1, (name, volume)


@every_install
def test_mounted_volumes_exist(install):
    given = {"papers", "dumps"} if install == "everything" else set()
    claims = {each["metadata"]["name"] for each in manifests(install, "PersistentVolumeClaim")} | given
    templates = {
        claim["metadata"]["name"]
        for each in manifests(install, "StatefulSet")
        for claim in each["spec"].get("volumeClaimTemplates", ())
    }
    for name, pod in pods(install):
        volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
        for one in containers(pod):
            mounted = [each["name"] for each in one["volumeMounts"]]
            assert set(mounted) <= volumes.keys() | (templates if name.startswith("StatefulSet/") else set()), name
        for each in volumes.values():
            if "persistentVolumeClaim" in each:
                assert each["persistentVolumeClaim"]["claimName"] in claims, name


@every_install
def test_secrets_are_only_references(install):
    secret = re.compile("PASSWORD|USERNAME")
    for each in manifests(install, "ConfigMap"):
        assert not [key for key in each["data"] if secret.search(key)]
    for name, pod in pods(install):
        for one in containers(pod):
            for variable in one.get("env", ()):
                if secret.search(variable["name"]):
                    assert "value" not in variable, name
                    assert set(variable["valueFrom"]) == {"secretKeyRef"}, name
    assert not manifests(install, "Secret")


def test_each_worker_and_tool_has_its_own_user():
    users = {}
    for name, pod in pods("gpu-pool-secured"):
        for variable in containers(pod)[-1]["env"]:
            if variable["name"] == "REFLINK_KAFKA_SASL_USERNAME":
                users[name.rpartition("main-reflink-")[2]] = variable["valueFrom"]["secretKeyRef"]["name"]
    assert users == {
        name: f"reflink-{name}" for name in ("parser", "linker", "fallback", "ledger", "topics", "snapshot", "check")
    }


def test_keda_authenticates_by_secrets():
    for each in manifests("gpu-pool-secured", "TriggerAuthentication"):
        parameters = {one["parameter"]: (one["name"], one["key"]) for one in each["spec"]["secretTargetRef"]}
        assert parameters == {
            "username": ("reflink-keda", "username"),
            "password": ("reflink-keda", "password"),
            "ca": ("reflink-kafka-ca", "ca.crt"),
        }
    for each in manifests("gpu-pool-secured", "ScaledObject"):
        trigger = each["spec"]["triggers"][0]
        assert (trigger["metadata"]["sasl"], trigger["metadata"]["tls"]) == ("scram_sha512", "enable")
        assert trigger["authenticationRef"]["name"] == each["metadata"]["name"]


def test_mutual_tls_brings_certificate_key_and_password():
    parameters = {
        one["parameter"]: (one["name"], one["key"])
        for one in named(manifests("mutual-tls", "TriggerAuthentication"), "main-reflink-linker")["spec"]["secretTargetRef"]
    }
    assert parameters == {"cert": ("linker", "tls.crt"), "key": ("linker", "tls.key"), "keyPassword": ("linker", "password")}
    one = named(manifests("mutual-tls", "Deployment"), "main-reflink-linker")["spec"]["template"]["spec"]
    assert {"name": "tls-client", "secret": {"secretName": "linker", "defaultMode": 0o440}} in one["volumes"]
    settings = named(manifests("mutual-tls", "ConfigMap"), "main-reflink-linker")["data"]
    mount = next(each for each in one["containers"][0]["volumeMounts"] if each["name"] == "tls-client")
    assert settings["REFLINK_KAFKA_SSL_CERTFILE"] == f"{mount['mountPath']}/tls.crt"
    assert settings["REFLINK_KAFKA_SSL_KEYFILE"] == f"{mount['mountPath']}/tls.key"


@every_install
def test_the_network_policy_covers_every_pod_and_lets_out_to_kafka_and_the_engine_only(install):
    policies = manifests(install, "NetworkPolicy")
    for name, pod in pods(install):
        labels = pod["metadata"]["labels"].items()
        covering = [each for each in policies if each["spec"]["podSelector"]["matchLabels"].items() <= labels]
        assert covering, name
        for each in covering:
            assert each["spec"]["policyTypes"] == ["Ingress", "Egress"]
            ports = {port["port"] for rule in each["spec"]["egress"] for port in rule["ports"]}
            others = ENGINE_PORTS.get(install, set()) | ({443} if install == "everything" else set())
            assert ports == {53, 9092} | others


def test_the_hook_runs_before_anything_else_is_there():
    job = named(manifests("plain", "Job"), "main-reflink-topics")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    spec = job["spec"]["template"]["spec"]
    assert "serviceAccountName" not in spec
    assert "envFrom" not in spec["containers"][0]
    policy = named(manifests("plain", "NetworkPolicy"), "main-reflink-topics")["metadata"]["annotations"]
    assert int(policy["helm.sh/hook-weight"]) < int(job["metadata"]["annotations"]["helm.sh/hook-weight"])


def test_where_nobody_may_scrape_nobody_gets_in():
    """An empty `from` would let everybody in."""
    (policy,) = [
        each
        for each in set_manifests("networkPolicy.metricsFrom=null", "topics.create=false", kinds=("NetworkPolicy",))
        if each["metadata"]["name"] == "main-reflink"
    ]
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert not policy["spec"].get("ingress")


def test_ports_of_brokers_can_be_named():
    found = set_manifests("networkPolicy.kafkaPorts={9093,9094}", kinds=("NetworkPolicy",))
    assert all({"protocol": "TCP", "port": 9094} in each["spec"]["egress"][1]["ports"] for each in found)


def test_nothing_but_the_image_and_brokers_is_named_by_address():
    for install in INSTALLS:
        assert "http://" not in re.sub(r"(?s)kind: (ConfigMap|PrometheusRule).*?\n---", "", text(install))
