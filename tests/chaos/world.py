"""What is disturbed: a real broker behind proxies, the four workers as victims, papers that keep coming."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from reflink.entities import Work
from tests.chaos.papers import paper
from tests.chaos.proxy import Proxy
from tests.kafka import create_topics, lag, new_prefix
from tests.workers.corpus import loaded
from workers.local.broker import Broker
from workers.local.pipeline import WORKERS, Pipeline, Process, Worker
from workers.local.ports import free_port
from workers.publishing import publish, record_of
from workers.sending import Sender

#: What each worker reads: when nothing of it is left, everything is linked.
READ: Final[dict[Worker, str]] = {"parser": "papers", "linker": "references", "fallback": "fallback", "ledger": "outcomes"}
#: What is judged again, as the catalog grew.
_AGAIN: Final[tuple[Worker, str]] = ("linker", "retries")
#: So long without any progress, and it is given up that everything will be linked.
_PATIENCE_S: Final = 180.0
#: Of a ledger's state folder, so that it can be filled.
_DISK_MB: Final = 256


class Cluster:
    """A broker that each kind of worker reaches through a proxy of its own, and everybody else directly."""

    def __init__(self, folder: Path) -> None:
        ports = {worker: free_port() for worker in WORKERS}
        self.proxies = {worker: Proxy(port) for worker, port in ports.items()}
        own, controller = free_port(), free_port()
        listen = {"PLAINTEXT": own, **{worker.upper(): port for worker, port in ports.items()}}
        told = {"PLAINTEXT": own, **{worker.upper(): proxy.port for worker, proxy in self.proxies.items()}}
        self.broker = Broker.start(
            folder,
            port=own,
            extra={
                "listeners": _addresses(listen | {"CONTROLLER": controller}),
                "advertised.listeners": _addresses(told),
                "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in (*listen, "CONTROLLER")),
                "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            },
        )

    def restart(self, *, kill: bool) -> None:
        """The broker goes, and comes back on the same data; meanwhile connections are refused."""
        for proxy in self.proxies.values():
            proxy.turn("cut")
        try:
            self.broker.restart(kill=kill)
        finally:
            for proxy in self.proxies.values():
                proxy.turn("open")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.broker.stop()
        for proxy in self.proxies.values():
            proxy.close()


def _addresses(ports: dict[str, int]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())


class World:
    """One run: topics of its own, four workers and whoever joins them. What dies is started again, as Kubernetes does.

    ``pace`` is papers a second; None sends as fast as they are taken.
    """

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        works: Sequence[Work],
        snapshot: Path,
        *,
        pace: float | None,
        restart_s: float = 0.3,
        program: Sequence[str] = (sys.executable, "-m", "tests.chaos.victim"),
        **settings: Any,
    ) -> None:
        self.cluster, self.works, self.pace, self.restart_s = cluster, works, pace, restart_s
        folder.mkdir(parents=True)
        self.kafka = create_topics(cluster.broker.address, new_prefix())
        self.sent = 0
        #: When each paper was sent, seconds since 1970.
        self.times: list[float] = []
        #: How workers ended, and how often.
        self.ends: Counter[tuple[Worker, int]] = Counter()
        #: Processes that nobody starts again.
        self.gone: set[Process] = set()
        self._slots: Counter[str] = Counter()
        self._stop = threading.Event()
        self._feeding: threading.Thread | None = None
        self._lock = threading.RLock()
        self.failure: BaseException | None = None
        chosen = {
            "catalog_snapshot": loaded(list(works), snapshot, self.kafka, folder),
            "topic_prefix": self.kafka.topic_prefix,
            "precision": "fp32",
            "query_precision": "fp32",
            "session_timeout_s": 6,
            "revocation_deadline_s": 2,
            "batch_records": 64,
            "idle_commit_s": 0.5,
            "sweep_per_s": 200,  # a ledger whose disk was lost sweeps, and nothing is at rest until it has
            **settings,
        }
        self.pipeline = Pipeline(folder, program=program, **chosen)

    def __enter__(self) -> Self:
        try:
            for worker in WORKERS:
                self.start(worker)
            self.pipeline.wait_ready()
        except BaseException as error:
            # What hinders the start is to be told, not what a mounted folder says when it is removed.
            self.__exit__(type(error), error, error.__traceback__)
            raise
        threading.Thread(target=self._supervise, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        with self._lock:
            self.gone.update(self.pipeline.processes)
        self.pipeline.stop(20)
        for ledger in self.pipeline.of("ledger"):
            subprocess.run(["umount", "--lazy", str(self.state(ledger))], capture_output=True, check=False)

    # Workers

    def start(self, worker: Worker) -> Process:
        """One more of its kind, in a new slot."""
        slot = str(self._slots[worker])
        self._slots[worker] += 1
        if worker == "ledger":
            _mount_small(self.pipeline.folder / "state" / f"{worker}-{slot}")
        with self._lock:
            return self.pipeline.start(worker, slot, kafka_bootstrap_servers=f"127.0.0.1:{self.cluster.proxies[worker].port}")

    def state(self, process: Process) -> Path:
        """Its state folder."""
        return self.pipeline.folder / "state" / f"{process.worker}-{process.slot}"

    def members(self, worker: Worker) -> list[Process]:
        """Those that are to be there, the oldest first."""
        return [each for each in self.pipeline.of(worker) if each not in self.gone]

    def remove(self, process: Process, *, kill: bool) -> None:
        """It goes for good: told to, or killed."""
        with self._lock:
            self.gone.add(process)
        if kill:
            process.kill()
        else:
            process.stop()
        self.ends[process.worker, process.exit_code or 0] += 1

    def _supervise(self) -> None:
        try:
            since: dict[Process, float] = {}
            while not self._stop.wait(0.05):
                with self._lock:
                    for process in self.pipeline.processes:
                        if process.alive or process in self.gone:
                            since.pop(process, None)
                        elif process not in since:
                            since[process] = time.monotonic()
                            self.ends[process.worker, process.exit_code or 0] += 1
                            # Nobody is to take its end for a surprise.
                            process.dismissed = True
                        elif time.monotonic() - since[process] >= self.restart_s:
                            del since[process]
                            process.restart()
        except BaseException as error:
            self.failure = error

    # Papers

    def feed(self) -> None:
        """Papers come from now on, at the pace."""
        self._feeding = threading.Thread(target=self._feed, daemon=True)
        self._feeding.start()

    def _feed(self) -> None:
        try:
            with Sender(self.kafka) as sender:
                while not self._stop.is_set() and self._feeding is not None:
                    self._send(sender)
                    time.sleep(1 / (self.pace or 1000))
        except BaseException as error:
            self.failure = error

    def _send(self, sender: Sender) -> None:
        name = f"paper-{self.sent}"
        publish([record_of(name, paper(self.sent, self.works))], sender)
        self.times.append(time.time())
        self.sent += 1

    def feed_until(self, papers: int) -> None:
        """Sends up to so many in all, at once."""
        with Sender(self.kafka) as sender:
            while self.sent < papers:
                self._send(sender)

    def stop_feeding(self) -> None:
        """No more papers come."""
        feeding, self._feeding = self._feeding, None
        if feeding is not None:
            feeding.join()

    def settle(self) -> None:
        """Waits until all that was sent is linked. Raises TimeoutError when nothing moves any more."""
        moved, quiet = time.monotonic(), 0
        before: dict[tuple[Worker, str], int] = {}
        while quiet < 2:
            if self.failure is not None:
                raise self.failure
            left = {(worker, topic): lag(self.kafka, worker, topic) for worker, topic in (*READ.items(), _AGAIN)}
            quiet = 0 if any(left.values()) else quiet + 1
            if left != before:
                moved, before = time.monotonic(), left
            elif time.monotonic() - moved > _PATIENCE_S:
                raise TimeoutError(f"nothing moves any more: {left}; logs in {self.pipeline.logs}")
            time.sleep(0.5)


def _mount_small(folder: Path) -> None:
    """A small file system of its own at ``folder``, where that is permitted; else it is a folder like any other."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "tmpfs", str(folder)]
    subprocess.run(command, capture_output=True, check=False)
