"""compose.yaml: Kafka starts alone by default, workers are confined, and mounted files and scraped services exist."""

from __future__ import annotations

import subprocess

import pytest
import yaml

from tests.data import ROOT
from tests.docker.files import DOCKER, compose, environment_of
from tests.docker.test_dockerfile import SETTINGS
from tests.programs import program
from workers.config.settings import WorkerSettings
from workers.devkit.search_flavours import FLAVOURS

SERVICES = compose()["services"]
WORKERS = ("parser", "linker", "fallback", "ledger")
OURS = (*WORKERS, "indexer", "topics")


def test_only_kafka_starts_without_a_profile():
    assert [name for name, service in SERVICES.items() if "profiles" not in service] == ["kafka"]
    profiles = {name: service["profiles"] for name, service in SERVICES.items() if name != "kafka"}
    assert {name for name, each in profiles.items() if each == ["search"]} == {"opensearch", "indexer"}
    # Compose refuses a service that depends on one of a profile that is not chosen.
    assert profiles.pop("topics") == ["all", "search"]
    assert {tuple(each) for each in profiles.values()} == {("all",), ("search",)}


def test_the_profile_of_a_service_has_all_that_it_waits_for():
    for name, service in SERVICES.items():
        for each in service.get("depends_on", ()):
            assert set(service.get("profiles", ())) <= set(SERVICES[each].get("profiles", service.get("profiles", ()))), name


def test_linker_and_fallback_search_in_the_node_that_the_indexer_fills():
    indexer = environment_of(SERVICES["indexer"])
    assert SERVICES["indexer"]["command"] == ["indexer"]
    assert SERVICES["indexer"]["depends_on"]["opensearch"] == {"condition": "service_healthy"}
    assert indexer["REFLINK_ENGINE_URLS"] == "http://opensearch:9200"
    for name in WORKERS:
        variables = environment_of(SERVICES[name])
        if name in ("linker", "fallback"):
            assert variables["REFLINK_ENGINE"] == "${REFLINK_ENGINE:-native}"
            assert variables["REFLINK_ENGINE_URLS"] == indexer["REFLINK_ENGINE_URLS"]
        else:
            assert not [each for each in variables if "ENGINE" in each]


@pytest.mark.parametrize("name", OURS)
def test_containers_of_reflink_are_confined(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["user"] == "10001:10001"
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert any(each.startswith("/tmp") for each in service["tmpfs"])
    assert "privileged" not in service


@pytest.mark.parametrize("name", OURS)
def test_variables_are_settings_and_kafka_is_the_inner_listener(name):
    variables = environment_of(SERVICES[name])
    assert set(variables) <= SETTINGS
    inside = variables["REFLINK_KAFKA_BOOTSTRAP_SERVERS"]
    assert f"INSIDE://{inside}" in environment_of(SERVICES["kafka"])["KAFKA_ADVERTISED_LISTENERS"].split(",")


@pytest.mark.parametrize("name", WORKERS)
def test_workers_keep_their_state_and_have_time_to_drain(name):
    service = SERVICES[name]
    assert service["command"] == [name]
    assert service["volumes"] == [f"{name}:/var/lib/reflink/state"]
    assert environment_of(service)["REFLINK_SLOT"]
    drain = WorkerSettings.model_fields["drain_deadline_s"].default
    assert float(service["stop_grace_period"].removesuffix("s")) > drain
    assert service["depends_on"] == {"topics": {"condition": "service_completed_successfully"}}


def test_topics_waits_for_kafka():
    assert SERVICES["topics"]["command"][0] == "topics"
    assert SERVICES["topics"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}


def test_opensearch_is_the_version_of_the_tests():
    image = SERVICES["opensearch"]["image"]
    assert image == f"opensearchproject/opensearch:{FLAVOURS['opensearch'].server.version}"


def test_volumes_are_declared_and_files_exist():
    for name, service in SERVICES.items():
        for each in service.get("volumes", []):
            source = each.split(":")[0]
            assert (DOCKER / source).exists() if source.startswith(".") else source in compose()["volumes"], (name, each)


def test_ports_are_on_loopback():
    published = [each for service in SERVICES.values() for each in service.get("ports", [])]
    assert published
    assert all(each.startswith("127.0.0.1:") for each in published)


def test_every_image_has_a_version():
    tags = {name: service["image"].rpartition(":")[2] for name, service in SERVICES.items()}
    assert all(any(letter.isdigit() for letter in tag) for tag in tags.values()), tags


def test_the_configuration_of_prometheus_is_valid_and_scrapes_every_worker():
    done = subprocess.run(
        [program("promtool"), "check", "config", "--syntax-only", DOCKER / "prometheus.yaml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (job,) = yaml.safe_load((DOCKER / "prometheus.yaml").read_text())["scrape_configs"]
    assert job["job_name"] == "reflink"
    assert {tuple(each["targets"]): each["labels"] for each in job["static_configs"]} == {
        (f"{worker}:9464",): {"worker": worker, "pod": worker} for worker in WORKERS
    }
    # As a fixed target it would be down without its profile.
    assert job["dns_sd_configs"] == [{"names": ["indexer"], "type": "A", "port": 9464}]
    assert {each["target_label"] for each in job["relabel_configs"]} == {"worker", "pod"}


def test_grafana_reads_the_charts_dashboards_from_prometheus():
    (source,) = yaml.safe_load((DOCKER / "grafana" / "datasources.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load((DOCKER / "grafana" / "dashboards.yaml").read_text())["providers"]
    mounted = [each.split(":") for each in SERVICES["grafana"]["volumes"]]
    assert ["../helm/reflink/dashboards", provider["options"]["path"], "ro"] in mounted
    assert list((ROOT / "helm/reflink/dashboards").glob("*.json"))
