"""The parts of the autoscaling test that need no control plane: the agent's steps, containers, and the record."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.campaigns.autoscaling.background import Background
from tests.campaigns.autoscaling.containers import ENTRY, command, environment, here
from tests.campaigns.autoscaling.errors import RunFailed
from tests.campaigns.autoscaling.feeding import record
from tests.campaigns.autoscaling.keda import lag_of
from tests.campaigns.autoscaling.pods import Pod, State, Step, steps
from tests.campaigns.autoscaling.record import Record, Sampler, by_component, replicas
from tests.campaigns.autoscaling.values import values
from tests.campaigns.autoscaling.waiting import wait_for
from tests.campaigns.chaos.papers import paper
from tests.workers.corpus import example_works
from workers.papers.publishing import record_of

# The agent


def pod(**changes: Any) -> Pod:
    facts = {"uid": "u", "name": "linker-x", "component": "linker", "node": "node-a", "running": True, "ending": False}
    return Pod(**{**facts, "always": True, "grace_s": 40.0, "reported": None, **changes})


def done(one: Pod | None, state: State | None = None, lost: tuple[str, ...] = ()) -> list[Step]:
    held = {} if state is None else {"u": state}
    return list(steps([one] if one else [], held, dict.fromkeys(held, "node-a"), lost))


@pytest.mark.parametrize(("one", "state", "expected"), [
    (None, "ready", [Step("kill", "u")]),  # deleted by force
    (None, "ended well", []),
    (pod(), None, [Step("start", "u")]),
    (pod(running=False), None, []),
    (pod(node=""), None, []),
    (pod(), "running", [Step("report", "u", "running")]),
    (pod(reported="running"), "running", []),
    (pod(reported="running"), "ready", [Step("report", "u", "ready")]),
    (pod(reported="ready"), "running", [Step("report", "u", "running")]),
    (pod(reported="ready", ending=True), "ready", [Step("end", "u")]),
    (pod(reported="ready", ending=True), "ended well", [Step("report", "u", "gone")]),
    (pod(reported="gone", ending=True), "ended well", []),
    (pod(ending=True), None, [Step("report", "u", "gone")]),
    (pod(reported="ready"), "ended badly", [Step("restart", "u")]),
    (pod(reported="ready"), "ended well", [Step("restart", "u")]),
    (pod(always=False), "ended well", [Step("report", "u", "succeeded")]),
    (pod(always=False), "ended badly", [Step("report", "u", "failed")]),
    (pod(always=False, reported="succeeded"), None, []),
])  # fmt: skip
def test_a_pod_and_its_process(one: Pod | None, state: State | None, expected: list[Step]):
    assert done(one, state) == expected


@pytest.mark.parametrize(("one", "state", "expected"), [
    (pod(), None, []),
    (pod(reported="ready"), "ready", [Step("kill", "u")]),
    (pod(reported="ready", ending=True), "ready", [Step("kill", "u")]),
    (pod(reported="ready"), "ended badly", []),
    (pod(ending=True), "ended badly", []),
])  # fmt: skip
def test_on_a_lost_node_processes_are_killed_and_nothing_is_reported(one: Pod, state: State | None, expected: list[Step]):
    assert done(one, state, lost=("node-a",)) == expected
    assert done(pod(node="node-b"), None, lost=("node-a",)) == [Step("start", "u")]


def test_a_pod_is_read_as_the_apiserver_has_it():
    item = {
        "metadata": {"uid": "u", "name": "p", "labels": {"app.kubernetes.io/component": "linker"}},
        "spec": {"nodeName": "node-b", "terminationGracePeriodSeconds": 40},
        "status": {"phase": "Running"},
    }
    assert Pod.read(item) == pod(name="p", node="node-b")
    item["metadata"] |= {"deletionTimestamp": "now", "deletionGracePeriodSeconds": 5}
    item["metadata"]["annotations"] = {"reflink.test/process": "ready"}
    item["spec"]["restartPolicy"] = "Never"
    assert Pod.read(item) == pod(name="p", node="node-b", ending=True, always=False, grace_s=5.0, reported="ready")
    assert not Pod.read({"metadata": {"uid": "u", "name": "p"}, "spec": {}}).running


# Containers

POD = {"metadata": {"name": "linker-x", "namespace": "reflink", "uid": "u"}, "spec": {"nodeName": "node-a"}}


def test_paths_of_volumes_are_folders_here():
    mounts = {"/var/lib/reflink/state": Path("/here/state"), "/tmp": Path("/here/scratch")}
    assert here("/var/lib/reflink/state", mounts) == "/here/state"
    assert here("/var/lib/reflink/state/a/b", mounts) == "/here/state/a/b"
    assert here("/tmp/state", mounts) == "/here/scratch/state"
    for other in ("/var/lib/reflink/states", "127.0.0.1:9092", "", "/tmpfs"):
        assert here(other, mounts) == other


def test_a_container_is_its_command_and_its_variables():
    container = {
        "name": "linker",
        "args": ["linker", "/tmp/x"],
        "envFrom": [{"configMapRef": {"name": "settings"}}],
        "env": [
            {"name": "REFLINK_SLOT", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "REFLINK_DEVICE", "value": "cpu"},
        ],
    }
    settings = {"settings": {"REFLINK_DEVICE": "cuda", "REFLINK_STATE_DIR": "/tmp/state"}}
    assert command(container, {"/tmp": Path("/here")}) == [*ENTRY, "linker", "/here/x"]
    assert environment(POD, container, settings.__getitem__) == {
        "REFLINK_SLOT": "linker-x",
        "REFLINK_DEVICE": "cpu",
        "REFLINK_STATE_DIR": "/tmp/state",
    }
    assert command({"name": "c", "command": ["reflink-worker"], "args": ["check"]}, {}) == [*ENTRY, "check"]


@pytest.mark.parametrize("container", [
    {"name": "c", "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
    {"name": "c", "envFrom": [{"secretRef": {"name": "s"}}]},
])  # fmt: skip
def test_variables_from_unknown_sources_end_the_run(container: dict[str, Any]):
    with pytest.raises(RunFailed, match="cannot"):
        environment(POD, container, dict)


def test_another_program_ends_the_run():
    with pytest.raises(RunFailed, match="runs /bin/sh"):
        command({"name": "c", "command": ["/bin/sh", "-c"]}, {})


# What is read


def test_keda_lag_is_the_sum_of_an_objects_triggers():
    text = (
        "# TYPE keda_scaler_metrics_value gauge\n"
        'keda_scaler_metrics_value{scaledObject="reflink-linker",triggerIndex="0"} 40\n'
        'keda_scaler_metrics_value{scaledObject="reflink-linker",triggerIndex="1"} 2\n'
        'keda_scaler_metrics_value{scaledObject="reflink-parser",triggerIndex="0"} 0\n'
        'keda_scaler_active{scaledObject="reflink-parser"} 1\n'
    )
    assert lag_of(text) == {"reflink-linker": 42, "reflink-parser": 0}
    assert by_component(lag_of(text)) == {"linker": 42, "parser": 0}


def test_replicas_are_those_of_workers():
    def workload(component: str, wanted: int, status: dict[str, int]) -> dict[str, Any]:
        labels = {"app.kubernetes.io/component": component}
        return {"metadata": {"labels": labels}, "spec": {"replicas": wanted}, "status": status}

    found = replicas([workload("linker", 3, {"readyReplicas": 2}), workload("linker", 1, {}), workload("other", 9, {})])
    assert found["wanted"] == {"parser": 0, "linker": 4, "fallback": 0, "ledger": 0}
    assert found["ready"] == {"parser": 0, "linker": 2, "fallback": 0, "ledger": 0}


def test_a_source_that_fails_keeps_its_last_values():
    seen = Record()
    sampler = Sampler(seen, [Mock(side_effect=[{"links": 1}, RunFailed("away"), {"links": 3}])])
    for _ in range(3):
        sampler.sample()
    assert [each["links"] for each in seen.samples] == [1, 1, 3]


# Processes and values


def test_a_program_is_killed_with_its_children(tmp_path: Path):
    script = (
        "import subprocess, sys, time; pipe = subprocess.PIPE; "
        "child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=pipe); "
        "print(child.pid, flush=True); time.sleep(600)"
    )
    program = Background("p", [sys.executable, "-c", script], tmp_path)
    wait_for("the child", lambda: program.log.read_text().strip().isdigit(), 60, program.check)
    child = Path("/proc") / program.log.read_text().strip()
    assert child.exists()
    program.kill()
    assert not program.alive

    def ended() -> bool:
        try:
            return (child / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    wait_for("the child's end", ended, 60)
    with pytest.raises(RunFailed, match="p ended with exit code -9"):
        program.check()


def test_the_record_of_a_paper_equals_the_publishers():
    works = example_works()
    for number in (0, 1, 7):
        assert record(number, works) == record_of(f"paper-{number}", paper(number, works))


def test_the_maximum_of_replicas_is_within_the_partitions():
    chosen = values("127.0.0.1:9092", "reflink.", {})
    maxima = {each["autoscaling"]["maxReplicas"] for each in chosen["workers"].values()}
    assert max(maxima) <= chosen["topics"]["partitions"]
