"""The next steps of an agent for its pods' processes: a pure function of the apiserver's and the machine's state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.campaigns.autoscaling.nodes import ANNOTATION

#: The state of a pod's process that the agent reports to kwok.
Reported = Literal["running", "ready", "succeeded", "failed", "gone"]
#: The state of a pod's process on this machine.
State = Literal["running", "ready", "ended well", "ended badly"]
Do = Literal["start", "restart", "end", "kill", "report"]


@dataclass(frozen=True)
class Pod:
    """The relevant fields of a pod in the apiserver."""

    uid: str
    name: str
    component: str
    node: str
    running: bool
    ending: bool
    #: Whether an ended process is restarted, as for all pods except those of jobs.
    always: bool
    grace_s: float
    reported: str | None

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> Pod:
        """Read a pod from the API's JSON."""
        meta, spec = item["metadata"], item["spec"]
        return cls(
            uid=meta["uid"],
            name=meta["name"],
            component=meta.get("labels", {}).get("app.kubernetes.io/component", ""),
            node=spec.get("nodeName", ""),
            running=item.get("status", {}).get("phase") == "Running",
            ending="deletionTimestamp" in meta,
            always=spec.get("restartPolicy", "Always") == "Always",
            grace_s=float(meta.get("deletionGracePeriodSeconds", spec.get("terminationGracePeriodSeconds", 30))),
            reported=meta.get("annotations", {}).get(ANNOTATION),
        )


@dataclass(frozen=True)
class Step:
    """One step for a pod's process; ``state`` is the state to report."""

    do: Do
    uid: str
    state: Reported | None = None


def steps(pods: Iterable[Pod], held: Mapping[str, State], nodes: Mapping[str, str], lost: Iterable[str]) -> Iterator[Step]:
    """Yield the steps to do now.

    ``held`` is the state of each pod's process by uid, including processes of deleted pods, and ``nodes`` the node on which
    each was started. On a lost node all processes are killed, and nothing is started or reported.
    """
    lost, there = set(lost), {}
    for pod in pods:
        there[pod.uid] = pod
        if pod.node in lost or not pod.node:
            continue
        yield from _of(pod, held.get(pod.uid))
    for uid, state in held.items():
        ended = state.startswith("ended")
        if nodes[uid] in lost:
            if not ended:
                yield Step("kill", uid)
        elif uid not in there and not ended:
            # The pod was deleted by force, so there is no grace period any more.
            yield Step("kill", uid)


def _of(pod: Pod, state: State | None) -> Iterator[Step]:
    if state is None:
        if pod.ending:
            yield from _report(pod, "gone")
        elif pod.running and pod.reported not in ("succeeded", "failed"):
            yield Step("start", pod.uid)
    elif state in ("running", "ready"):
        if pod.ending:
            yield Step("end", pod.uid)
        else:
            yield from _report(pod, "ready" if state == "ready" else "running")
    elif pod.ending:
        yield from _report(pod, "gone")
    elif pod.always:
        yield Step("restart", pod.uid)
    else:
        yield from _report(pod, "succeeded" if state == "ended well" else "failed")


def _report(pod: Pod, state: Reported) -> Iterator[Step]:
    if pod.reported != state:
        yield Step("report", pod.uid, state)
