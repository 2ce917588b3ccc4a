"""What a kubelet would be: starts a process for each pod that kwok calls running, and tells kwok what became of it."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.autoscaling.api import Api, Refused
from tests.autoscaling.containers import Folders, command, environment, here
from tests.autoscaling.held import Held
from tests.autoscaling.nodes import ANNOTATION, Nodes
from tests.autoscaling.pods import Pod, Step, steps
from workers.local.pipeline import Process
from workers.local.ports import free_port

_POLL_S: Final = 0.3
#: Between the end of a container and its next start: doubled each time, as a kubelet does (10 s and 300 s).
_BACKOFF_S, _LONGEST_BACKOFF_S = 1.0, 10.0


class Agent:
    """One for all nodes. Use ``start`` and ``stop``; ``failure`` says why it gave up, if it did."""

    def __init__(
        self, api: Api, namespace: str, nodes: Nodes, folders: Folders, logs: Path, say: Callable[[str], None]
    ) -> None:
        self._api, self._pods, self._nodes = api, f"/api/v1/namespaces/{namespace}/pods", nodes
        self._folders, self._logs, self._say = folders, logs, say
        #: By the pod's uid, those that ended too.
        self.held: dict[str, Held] = {}
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="agent", daemon=True)
        logs.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        """Looks after pods from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Ends all processes at once: the record is written by then."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        for held in self.held.values():
            held.close()

    def alive(self) -> list[Held]:
        """What runs now."""
        return [each for each in list(self.held.values()) if each.process.alive]

    def ends(self) -> Counter[str]:
        """How processes ended so far, as ``linker 0``; those that did not end within their grace say so."""
        found: Counter[str] = Counter()
        for held in list(self.held.values()):
            codes = [*held.ends, *([] if held.process.alive else [held.process.exit_code])]
            for code in codes:
                found[f"{held.component}{', not within its grace,' if held.late else ''} {code}"] += 1
        return found

    def _run(self) -> None:
        try:
            while not self._stop.wait(_POLL_S):
                try:
                    self._round()
                except (OSError, Refused) as error:
                    self._say(f"agent: {error}")
        except BaseException as error:
            self.failure = error

    def _round(self) -> None:
        items = {each["metadata"]["uid"]: each for each in self._api.items(self._pods)}
        pods = {uid: Pod.read(each) for uid, each in items.items()}
        states = {uid: held.state() for uid, held in self.held.items()}
        nodes = {uid: held.node for uid, held in self.held.items()}
        for step in list(steps(pods.values(), states, nodes, self._nodes.lost)):
            self._do(step, pods.get(step.uid), items.get(step.uid))

    def _do(self, step: Step, pod: Pod | None, item: dict[str, Any] | None) -> None:
        held = self.held.get(step.uid)
        if step.do == "say" and pod is not None:
            self._tell(pod, str(step.word))
        elif step.do == "start" and pod is not None and item is not None:
            self.held[step.uid] = self._spawn(pod, item)
        elif step.do == "restart" and held is not None:
            pause = min(_BACKOFF_S * 2 ** len(held.ends), _LONGEST_BACKOFF_S)
            if held.restart_after(pause):
                self._say(f"{held.name} ended with exit code {held.ends[-1]} and is started again: {held.process.last_line()}")
        elif step.do == "end" and held is not None and pod is not None:
            if held.end(pod.grace_s):
                self._say(f"{held.name} is told to end on {held.node}")
        elif step.do == "kill" and held is not None:
            held.kill()
            self._say(f"{held.name} is killed on {held.node}")

    def _tell(self, pod: Pod, word: str) -> None:
        try:
            self._api.merge(f"{self._pods}/{pod.name}", {"metadata": {"annotations": {ANNOTATION: word}}})
        except Refused as refused:
            if refused.status != 404:  # else it is gone by now
                raise
            return
        if word != "running":
            self._say(f"{pod.name} is {word} on {pod.node}")

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
        self._say(f"{pod.name} starts on {pod.node}")
        return Held(pod.name, pod.component, pod.node, Process(last, pod.name, port, log, chosen, program), time.monotonic())
