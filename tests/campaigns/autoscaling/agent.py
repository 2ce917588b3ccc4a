"""Replaces a kubelet: starts a process for each pod that kwok marks as running, and reports the process's state to kwok."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.campaigns import threads
from tests.campaigns.autoscaling.api import Api, Refused
from tests.campaigns.autoscaling.containers import Folders, command, environment, here
from tests.campaigns.autoscaling.held import Held
from tests.campaigns.autoscaling.nodes import ANNOTATION, Nodes
from tests.campaigns.autoscaling.pods import Pod, Step, steps
from workers.devkit.ports import free_port
from workers.devkit.processes import Process

_POLL_S: Final = 0.3
#: Initial and maximum pause before a container restarts, doubled each time, as in a kubelet (10 s and 300 s there).
_BACKOFF_S, _LONGEST_BACKOFF_S = 1.0, 10.0


class Agent:
    """One agent for all nodes. Use ``start`` and ``stop``; ``failure`` is the error that ended it, if any."""

    def __init__(
        self, api: Api, namespace: str, nodes: Nodes, folders: Folders, logs: Path, log: Callable[[str], None]
    ) -> None:
        self._api, self._pods, self._nodes = api, f"/api/v1/namespaces/{namespace}/pods", nodes
        self._folders, self._logs, self._log = folders, logs, log
        #: Processes by the pod's uid, including ended ones.
        self.held: dict[str, Held] = {}
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        logs.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        """Start to manage pods."""
        self._thread = threads.start(self._run, self._fail, "agent")

    def stop(self) -> None:
        """Kill all processes at once: the record is complete by then."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for held in self.held.values():
            held.close()

    def alive(self) -> list[Held]:
        """Return the processes that run now."""
        return [each for each in list(self.held.values()) if each.process.alive]

    def ends(self) -> Counter[str]:
        """Count the exits of processes so far by worker and exit code, as ``linker 0``; exceeded graces are marked."""
        found: Counter[str] = Counter()
        for held in list(self.held.values()):
            for code in [*held.ends, *([] if held.process.alive else [held.process.exit_code])]:
                found[f"{held.component}{', not within its grace,' if held.late else ''} {code}"] += 1
        return found

    def _fail(self, error: BaseException) -> None:
        self.failure = error

    def _run(self) -> None:
        while not self._stop.wait(_POLL_S):
            try:
                self._round()
            except (OSError, Refused) as error:
                self._log(f"agent: {error}")

    def _round(self) -> None:
        items = {each["metadata"]["uid"]: each for each in self._api.items(self._pods)}
        pods = {uid: Pod.read(each) for uid, each in items.items()}
        states = {uid: held.state() for uid, held in self.held.items()}
        nodes = {uid: held.node for uid, held in self.held.items()}
        for step in list(steps(pods.values(), states, nodes, self._nodes.lost)):
            self._do(step, pods.get(step.uid), items.get(step.uid))

    def _do(self, step: Step, pod: Pod | None, item: dict[str, Any] | None) -> None:
        held = self.held.get(step.uid)
        if step.do == "report" and pod is not None:
            self._report(pod, str(step.state))
        elif step.do == "start" and pod is not None and item is not None:
            self.held[step.uid] = self._spawn(pod, item)
        elif step.do == "restart" and held is not None:
            pause = min(_BACKOFF_S * 2 ** len(held.ends), _LONGEST_BACKOFF_S)
            if held.restart_after(pause):
                self._log(f"{held.name} ended with exit code {held.ends[-1]} and is restarted: {held.process.last_line()}")
        elif step.do == "end" and held is not None and pod is not None:
            if held.end(pod.grace_s):
                self._log(f"{held.name} is ending on {held.node}")
        elif step.do == "kill" and held is not None:
            held.process.kill()
            self._log(f"{held.name} is killed on {held.node}")

    def _report(self, pod: Pod, state: str) -> None:
        try:
            self._api.merge(f"{self._pods}/{pod.name}", {"metadata": {"annotations": {ANNOTATION: state}}})
        except Refused as refused:
            if refused.status != 404:  # 404: the pod has been deleted meanwhile
                raise
            return
        if state != "running":
            self._log(f"{pod.name} is {state} on {pod.node}")

    def _spawn(self, pod: Pod, item: dict[str, Any]) -> Held:
        container = item["spec"]["containers"][0]
        mounts = self._folders.mounts(item, container)
        port = free_port()
        chosen = {name: value for name, value in os.environ.items() if not name.startswith("REFLINK_")}
        named = environment(item, container, self._folders.settings)
        chosen |= {name: here(value, mounts) for name, value in named.items()}
        # All pods share this machine's network.
        chosen |= {"REFLINK_HTTP_HOST": "127.0.0.1", "REFLINK_HTTP_PORT": str(port)}
        *program, last = command(container, mounts)
        log = self._logs / f"{pod.name}.log"
        log.touch()
        self._log(f"{pod.name} starts on {pod.node}")
        return Held(pod.name, pod.component, pod.node, Process(last, pod.name, port, log, chosen, program), time.monotonic())
