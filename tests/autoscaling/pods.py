"""What an agent on a node is to do with its pods' processes: a pure function of what the apiserver and the machine say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.autoscaling.nodes import ANNOTATION

#: What the agent tells kwok of a pod's process.
Said = Literal["running", "ready", "succeeded", "failed", "gone"]
#: What there is of a pod's process.
State = Literal["running", "ready", "ended well", "ended badly"]
Do = Literal["start", "restart", "end", "kill", "say"]


@dataclass(frozen=True)
class Pod:
    """A pod as the apiserver has it, as far as it matters here."""

    uid: str
    name: str
    component: str
    node: str
    running: bool
    ending: bool
    #: Whether what ends is started again, as for everything but jobs.
    always: bool
    grace_s: float
    said: str | None

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> Pod:
        """From the API's JSON."""
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
            said=meta.get("annotations", {}).get(ANNOTATION),
        )


@dataclass(frozen=True)
class Step:
    """One thing to do; ``word`` is what is to be said."""

    do: Do
    uid: str
    word: Said | None = None


def steps(pods: Iterable[Pod], held: Mapping[str, State], nodes: Mapping[str, str], lost: Iterable[str]) -> Iterator[Step]:
    """What is to be done now.

    ``held`` is the state of each pod's process, of pods that are no more too, and ``nodes`` says where each was started. On a
    lost node all processes die, and nothing more is said of it or started there.
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
            # Deleted by force: there is no pod left that could tell a grace.
            yield Step("kill", uid)


def _of(pod: Pod, state: State | None) -> Iterator[Step]:
    if state is None:
        if pod.ending:
            yield from _say(pod, "gone")
        elif pod.running and pod.said not in ("succeeded", "failed"):
            yield Step("start", pod.uid)
    elif state in ("running", "ready"):
        if pod.ending:
            yield Step("end", pod.uid)
        else:
            yield from _say(pod, "ready" if state == "ready" else "running")
    elif pod.ending:
        yield from _say(pod, "gone")
    elif pod.always:
        yield Step("restart", pod.uid)
    else:
        yield from _say(pod, "succeeded" if state == "ended well" else "failed")


def _say(pod: Pod, word: Said) -> Iterator[Step]:
    if pod.said != word:
        yield Step("say", pod.uid, word)
