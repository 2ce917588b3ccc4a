"""Rules and dashboards reach the cluster unchanged, including the templates of Prometheus and Grafana in them."""

from __future__ import annotations

import shutil

import pytest
import yaml

from tests.helm.chart import CHART, INSTALLS, KUBERNETES, choice, helm, manifests, named, set_manifests

RULES = """\
# Said before the groups.
groups:
  - name: one
    rules:
      - alert: One
        expr: up == 0
        annotations: {summary: '{{ $labels.worker }} {{ printf "%.1f" $value }}'}
"""


def test_every_rule_file_is_a_prometheus_rule():
    found = manifests("gpu-pool", "PrometheusRule")
    files = sorted((CHART / "rules").glob("*.yaml"))
    assert [each["metadata"]["name"] for each in found] == [f"main-reflink-{path.stem.replace('_', '-')}" for path in files]
    for path in files:
        shown = named(found, f"main-reflink-{path.stem.replace('_', '-')}")
        assert shown["spec"] == yaml.safe_load(path.read_text())


def test_every_dashboard_is_a_config_map_for_the_sidecar():
    found = {
        key: each
        for each in manifests("gpu-pool", "ConfigMap")
        for key in each["data"]
        if each["metadata"]["labels"].get("grafana_dashboard") == "1"
    }
    files = {path.name: path for path in (CHART / "dashboards").glob("*.json")}
    assert found.keys() == files.keys()
    for name, each in found.items():
        assert each["data"][name].strip() == files[name].read_text().strip()
        assert each["metadata"]["annotations"] == {"grafana_folder": "Reflink"}


def test_braces_and_comments_pass_through(tmp_path):
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    shutil.rmtree(chart / "rules", ignore_errors=True)
    (chart / "rules").mkdir()
    (chart / "rules" / "one.yaml").write_text(RULES)
    (chart / "rules" / "two.yaml").write_text("groups: []\n")
    done = helm(
        "template",
        "main",
        str(chart),
        *("--kube-version", KUBERNETES, "--show-only", "templates/monitoring.yaml"),
        *("--set", "kafka.bootstrapServers=kafka:9092", "--set", "monitoring.rules.enabled=true"),
        *("--set", "monitoring.rules.exclude={two}", "--set", "monitoring.rules.labels.release=prometheus"),
    )
    assert done.returncode == 0, done.stderr
    (one,) = [each for each in yaml.safe_load_all(done.stdout) if each]
    assert one["metadata"]["labels"]["release"] == "prometheus"
    assert one["spec"] == yaml.safe_load(RULES)


def test_custom_resources_are_installed_only_on_request():
    standard = {"v1", "apps/v1", "batch/v1", "policy/v1", "networking.k8s.io/v1"}
    for install in ("plain", "small-node", "small-node-secured"):
        assert {each["apiVersion"] for each in manifests(install)} <= standard


def test_the_pod_monitor_selects_every_worker_and_labels_it():
    spec = manifests("gpu-pool", "PodMonitor")[0]["spec"]
    assert spec["selector"]["matchExpressions"] == [{"key": "reflink/workload", "operator": "Exists"}]
    for each in manifests("gpu-pool", "Deployment", "StatefulSet"):
        labels = each["spec"]["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"].items() <= labels.items()
        assert "reflink/workload" in labels
    (endpoint,) = spec["podMetricsEndpoints"]
    targets = {one["targetLabel"]: one for one in endpoint["relabelings"]}
    assert targets["worker"]["sourceLabels"] == ["__meta_kubernetes_pod_label_app_kubernetes_io_component"]
    assert targets["job"]["replacement"] == "reflink"


@pytest.mark.parametrize("part", ["podMonitor", "rules", "dashboards"])
def test_each_part_of_monitoring_has_its_own_switch(part):
    found = set_manifests(f"monitoring.{part}.enabled=true")
    kinds = {"podMonitor": {"PodMonitor"}, "rules": {"PrometheusRule"}, "dashboards": set()}
    assert {each["kind"] for each in found if each["apiVersion"].startswith("monitoring.coreos.com")} == kinds[part]


def test_the_notes_name_the_next_steps(tmp_path):
    # helm renders notes for a cluster only; as an object they are rendered here.
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    notes = (chart / "templates" / "NOTES.txt").read_text()
    whole = f'{{{{- define "notes" -}}}}{notes}{{{{- end -}}}}\nkind: Notes\ntext: {{{{ include "notes" . | toJson }}}}\n'
    (chart / "templates" / "notes.yaml").write_text(whole)
    done = helm(
        "template", "main", str(chart), *choice(*INSTALLS["gpu-pool-secured"])[1:], "--show-only", "templates/notes.yaml"
    )
    assert done.returncode == 0, done.stderr
    text = yaml.safe_load(done.stdout)["text"]
    for words in (
        "reads reflink.papers and writes reflink.links",
        "test main --logs",
        "create job main-reflink-snapshot-first --from=cronjob/main-reflink-snapshot",
        "networkPolicy.kafkaPorts",
        "up to 24 (partitions)",
    ):
        assert words in text


def test_long_names_stay_within_kubernetes_limits():
    found = set_manifests(
        f"fullnameOverride={'a' * 60}", f"workers.{'b' * 20}.command=ledger", f"workers.{'b' * 20}.kind=StatefulSet"
    )
    names = {each["metadata"]["name"]: each["kind"] for each in found}
    assert "a" * 30 + "-" + "b" * 20 in names
    assert all(len(name) <= (52 if kind in ("StatefulSet", "CronJob") else 63) for name, kind in names.items())
