"""The parts of the proof of scaling that need no control plane: what its agent does, what its record says, what it judges."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.autoscaling.background import Background
from tests.autoscaling.containers import ENTRY, command, environment, here
from tests.autoscaling.errors import RunFailed
from tests.autoscaling.feeding import record
from tests.autoscaling.keda import lag_of
from tests.autoscaling.pods import Pod, State, Step, steps
from tests.autoscaling.record import Record, Sampler, by_component, replicas, told
from tests.autoscaling.values import LEAST, values
from tests.autoscaling.waiting import wait_for
from tests.chaos.papers import paper
from tests.workers.corpus import example_works
from workers.publishing import record_of

# The agent


def pod(**changes: Any) -> Pod:
    facts: dict[str, Any] = {
        "uid": "u",
        "name": "linker-x",
        "component": "linker",
        "node": "node-a",
        "running": True,
        "ending": False,
        "always": True,
        "grace_s": 40.0,
        "said": None,
    }
    return Pod(**{**facts, **changes})


def done(one: Pod, state: State | None = None, lost: tuple[str, ...] = ()) -> list[Step]:
    held = {} if state is None else {one.uid: state}
    return list(steps([one], held, dict.fromkeys(held, one.node), lost))


@pytest.mark.parametrize(("one", "state", "expected"), [
    (pod(), None, [Step("start", "u")]),
    (pod(running=False), None, []),
    (pod(node=""), None, []),
    (pod(), "running", [Step("say", "u", "running")]),
    (pod(said="running"), "running", []),
    (pod(said="running"), "ready", [Step("say", "u", "ready")]),
    (pod(said="ready"), "running", [Step("say", "u", "running")]),
    (pod(said="ready", ending=True), "ready", [Step("end", "u")]),
    (pod(said="ready", ending=True), "ended well", [Step("say", "u", "gone")]),
    (pod(said="gone", ending=True), "ended well", []),
    (pod(ending=True), None, [Step("say", "u", "gone")]),
    (pod(said="ready"), "ended badly", [Step("restart", "u")]),
    (pod(said="ready"), "ended well", [Step("restart", "u")]),
    (pod(always=False), "ended well", [Step("say", "u", "succeeded")]),
    (pod(always=False), "ended badly", [Step("say", "u", "failed")]),
    (pod(always=False, said="succeeded"), None, []),
])  # fmt: skip
def test_a_pod_and_its_process(one: Pod, state: State | None, expected: list[Step]):
    assert done(one, state) == expected


@pytest.mark.parametrize(("one", "state", "expected"), [
    (pod(), None, []),
    (pod(said="ready"), "ready", [Step("kill", "u")]),
    (pod(said="ready", ending=True), "ready", [Step("kill", "u")]),
    (pod(said="ready"), "ended badly", []),
    (pod(ending=True), "ended badly", []),
])  # fmt: skip
def test_on_a_lost_node_all_die_and_nobody_says_so(one: Pod, state: State | None, expected: list[Step]):
    assert done(one, state, lost=("node-a",)) == expected
    assert done(pod(node="node-b"), None, lost=("node-a",)) == [Step("start", "u")]


def test_what_was_deleted_by_force_is_killed():
    assert list(steps([], {"u": "ready"}, {"u": "node-a"}, ())) == [Step("kill", "u")]
    assert list(steps([], {"u": "ended well"}, {"u": "node-a"}, ())) == []


def test_a_pod_is_read_as_the_apiserver_has_it():
    item = {
        "metadata": {"uid": "u", "name": "p", "labels": {"app.kubernetes.io/component": "linker"}},
        "spec": {"nodeName": "node-b", "terminationGracePeriodSeconds": 40},
        "status": {"phase": "Running"},
    }
    assert Pod.read(item) == pod(name="p", node="node-b")
    item["metadata"] |= {
        "deletionTimestamp": "now",
        "deletionGracePeriodSeconds": 5,
        "annotations": {"reflink.test/process": "ready"},
    }
    item["spec"]["restartPolicy"] = "Never"
    assert Pod.read(item) == pod(name="p", node="node-b", ending=True, always=False, grace_s=5.0, said="ready")
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
def test_variables_that_cannot_be_told_end_the_run(container: dict[str, Any]):
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


def test_kubernetes_is_quoted_on_scaling_only():
    events = [
        {"reason": "SuccessfulRescale", "message": "New size: 2", "lastTimestamp": "2", "involvedObject": {"name": "hpa"}},
        {"reason": "Pulled", "lastTimestamp": "1", "involvedObject": {"name": "pod"}},
        {"reason": "NodeNotReady", "eventTime": "1", "lastTimestamp": None, "involvedObject": {"name": "node-a"}},
    ]
    assert told(events) == ["1 node-a: NodeNotReady:  (x1)", "2 hpa: SuccessfulRescale: New size: 2 (x1)"]


def test_a_source_that_fails_leaves_what_it_said_before():
    answers: Iterator[dict[str, int] | Exception] = iter([{"links": 1}, RunFailed("away"), {"links": 3}])

    def source() -> dict[str, int]:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    seen = Record()
    sampler = Sampler(seen, [source])
    for _ in range(3):
        sampler.sample()
    assert [each["links"] for each in seen.samples] == [1, 1, 3]


# Processes and values


def test_a_program_and_its_children_go_together(tmp_path: Path):
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
    wait_for("the child's end", lambda: not child.exists() or "Z" in (child / "stat").read_text().split(")")[1][:3], 60)
    with pytest.raises(RunFailed, match="p ended with exit code -9"):
        program.check()


def test_a_papers_record_is_the_publishers_own():
    works = example_works()
    for number in (0, 1, 7):
        assert record(number, works) == record_of(f"paper-{number}", paper(number, works))


def test_waiting_has_an_end():
    with pytest.raises(RunFailed, match="after 0 s still waiting for: a wonder"):
        wait_for("a wonder", lambda: False, 0.0)


def test_the_values_of_a_run_are_the_charts_own_fields():
    chosen = values("127.0.0.1:9092", "reflink.", {"REFLINK_IDLE_COMMIT_S": "3600"})
    assert chosen["settings"]["REFLINK_IDLE_COMMIT_S"] == "3600"
    assert chosen["kafka"] == {"bootstrapServers": "127.0.0.1:9092", "topicPrefix": "reflink."}
    assert {name: each["autoscaling"]["minReplicas"] for name, each in chosen["workers"].items()} == {
        name: LEAST[name] for name in ("parser", "linker", "fallback")
    }
    most = {each["autoscaling"]["maxReplicas"] for each in chosen["workers"].values()}
    assert max(most) <= chosen["topics"]["partitions"]
