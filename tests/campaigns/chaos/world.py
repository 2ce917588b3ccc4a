"""The system under test: real brokers behind proxies, the four workers as victims, and a steady stream of papers."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from reflink.entities import Work
from tests.campaigns import threads
from tests.campaigns.chaos.papers import paper
from tests.campaigns.chaos.proxy import Proxy, Way
from tests.kafka import await_markers, create_topics, lag, new_prefix
from tests.workers.corpus import loaded
from workers.devkit.cluster import BrokerCluster
from workers.devkit.ports import free_port
from workers.devkit.processes import WORKERS, Pipeline, Process, Worker
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import publish, record_of

#: The topic that each worker reads. When their lag is 0, everything is linked.
READ: Final[dict[Worker, str]] = {"parser": "papers", "linker": "references", "fallback": "fallback", "ledger": "outcomes"}
#: Worker and topic of references that are re-evaluated because the catalog grew.
_AGAIN: Final[tuple[Worker, str]] = ("linker", "retries")
#: ``settle`` gives up after this time without progress.
_PATIENCE_S: Final = 180.0
#: Pause before an ended process is restarted.
_RESTART_S: Final = 0.3
#: Size of a ledger's state folder, small so that a fault can fill it.
_DISK_MB: Final = 256


class Network:
    """The proxies between one kind of worker and all brokers."""

    def __init__(self, proxies: Sequence[Proxy]) -> None:
        self.proxies = proxies

    @property
    def address(self) -> str:
        """The bootstrap servers that lead through these proxies."""
        return ",".join(f"127.0.0.1:{proxy.port}" for proxy in self.proxies)

    def turn(self, way: Way) -> None:
        """Set the state of all proxies from now on."""
        for proxy in self.proxies:
            proxy.turn(way)


class Cluster:
    """Brokers that each kind of worker reaches through its own proxies, and other clients directly."""

    def __init__(self, folder: Path, brokers: int = 1) -> None:
        self._listeners = [{worker: free_port() for worker in WORKERS} for _ in range(brokers)]
        self.networks = {
            worker: Network([Proxy(ports[worker], free_port()) for ports in self._listeners]) for worker in WORKERS
        }
        self.brokers = BrokerCluster.start(brokers, folder, extra=self._properties)
        self.address = self.brokers.address

    def _properties(self, index: int) -> dict[str, str]:
        seen = {worker: network.proxies[index].port for worker, network in self.networks.items()}
        names = ("PLAINTEXT", "CONTROLLER", *map(str.upper, WORKERS))
        return {
            "listeners": _addresses(self._listeners[index]),
            "advertised.listeners": _addresses(seen),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        }

    def restart(self, index: int = 0, *, kill: bool, away_s: float = 0.0) -> None:
        """Stop or kill one broker and restart it with the same data; the proxies refuse connections to it meanwhile.

        One of several brokers stays down for ``away_s``, long enough for the others to take over, and the method returns when
        all are in sync again. A single broker is killed only once no transaction waits for its markers: see
        ``await_markers``.
        """
        proxies = [network.proxies[index] for network in self.networks.values()]
        for proxy in proxies:
            proxy.turn("cut")
        try:
            if kill and len(self.brokers.brokers) == 1:
                await_markers(self.address)
            self.brokers.brokers[index].end(kill=kill)
            if len(self.brokers.brokers) > 1:
                time.sleep(away_s)
            self.brokers.start_again(index)
        finally:
            for proxy in proxies:
                proxy.turn("open")
        if len(self.brokers.brokers) > 1:
            self.brokers.wait_in_sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.brokers.stop()
        for network in self.networks.values():
            for proxy in network.proxies:
                proxy.close()


def _addresses(ports: Mapping[Worker, int]) -> str:
    return ",".join(f"{worker.upper()}://127.0.0.1:{port}" for worker, port in ports.items())


class World:
    """One run: its own topics, the four workers and the processes that join them. Ended processes restart, as in Kubernetes.

    ``pace`` is in papers per second; None means at most 1,000. ``members`` is the initial number of processes per worker.
    """

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        works: Sequence[Work],
        snapshot: Path,
        *,
        pace: float | None,
        members: int = 1,
        program: Sequence[str] = (sys.executable, "-m", "tests.campaigns.chaos.victim"),
        **settings: Any,
    ) -> None:
        self.cluster, self.works, self.pace, self._members = cluster, works, pace, members
        folder.mkdir(parents=True)
        self.kafka = create_topics(cluster.address, new_prefix())
        self.sent = 0
        #: When each paper was sent, seconds since 1970.
        self.times: list[float] = []
        #: Exits of processes, by worker and exit code.
        self.ends: Counter[tuple[Worker, int]] = Counter()
        #: Processes that are not restarted.
        self.gone: set[Process] = set()
        self._slots: Counter[str] = Counter()
        self._stop = threading.Event()
        #: Set when no more papers are to be sent.
        self._fed = threading.Event()
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
            "sweep_per_s": 200,  # a ledger whose disk was lost sweeps, and the run settles only after the sweep
            **settings,
        }
        self.pipeline = Pipeline(folder, program=program, **chosen)

    def __enter__(self) -> Self:
        try:
            for worker in WORKERS:
                for _ in range(self._members):
                    self.start(worker)
            self.pipeline.wait_ready()
        except BaseException as error:
            # Clean up and report the cause, instead of an error from the removal of a mounted folder.
            self.__exit__(type(error), error, error.__traceback__)
            raise
        threads.start(self._supervise, self._fail)
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
        """Start one more process of the worker, in a new slot."""
        slot = str(self._slots[worker])
        self._slots[worker] += 1
        if worker == "ledger":
            _mount_small(self.pipeline.folder / "state" / f"{worker}-{slot}")
        with self._lock:
            return self.pipeline.start(worker, slot, kafka_bootstrap_servers=self.cluster.networks[worker].address)

    def state(self, process: Process) -> Path:
        """Return the state folder of the process."""
        return self.pipeline.folder / "state" / f"{process.worker}-{process.slot}"

    def members(self, worker: Worker) -> list[Process]:
        """Return the processes of the worker that are not removed, the oldest first."""
        return [each for each in self.pipeline.of(worker) if each not in self.gone]

    def remove(self, process: Process, *, kill: bool) -> None:
        """Stop or kill the process for good."""
        with self._lock:
            self.gone.add(process)
        if kill:
            process.kill()
        else:
            process.stop()
        self.ends[process.worker, process.exit_code or 0] += 1

    def _fail(self, error: BaseException) -> None:
        self.failure = error

    def _supervise(self) -> None:
        since: dict[Process, float] = {}
        while not self._stop.wait(0.05):
            with self._lock:
                for process in self.pipeline.processes:
                    if process.alive or process in self.gone:
                        since.pop(process, None)
                    elif process not in since:
                        since[process] = time.monotonic()
                        self.ends[process.worker, process.exit_code or 0] += 1
                        # The end is expected: `check` must not report it.
                        process.dismissed = True
                    elif time.monotonic() - since[process] >= _RESTART_S:
                        del since[process]
                        process.restart()

    # Papers

    def feed(self) -> None:
        """Start to send papers at the pace."""
        self._fed.clear()
        self._feeding = threads.start(self._feed, self._fail)

    def _feed(self) -> None:
        with Sender(self.kafka) as sender:
            while not self._stop.is_set() and not self._fed.is_set():
                self._send(sender)
                time.sleep(1 / (self.pace or 1000))

    def _send(self, sender: Sender) -> None:
        name = f"paper-{self.sent}"
        publish([record_of(name, paper(self.sent, self.works))], sender)
        self.times.append(time.time())
        self.sent += 1

    def feed_until(self, papers: int) -> None:
        """Send papers at once until ``papers`` have been sent in total."""
        with Sender(self.kafka) as sender:
            while self.sent < papers:
                self._send(sender)

    def stop_feeding(self) -> None:
        """Stop sending papers."""
        self._fed.set()
        if self._feeding is not None:
            self._feeding.join()

    def settle(self) -> None:
        """Wait until everything that was sent is linked. Raises TimeoutError if there is no progress any more."""
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
                raise TimeoutError(f"no progress within {_PATIENCE_S:g} s: {left}; logs in {self.pipeline.logs}")
            time.sleep(0.5)


def _mount_small(folder: Path) -> None:
    """Mount a small file system at ``folder`` if that is permitted; otherwise ``folder`` stays an ordinary folder."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "tmpfs", str(folder)]
    subprocess.run(command, capture_output=True, check=False)
