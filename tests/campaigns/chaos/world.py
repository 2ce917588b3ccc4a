"""The system under test: the workers as victims, on real brokers behind proxies, and a steady stream of papers."""

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
from tests.campaigns import threads
from tests.campaigns.chaos.cluster import Cluster
from tests.campaigns.chaos.papers import paper
from tests.kafka import create_topics, lag, new_prefix
from tests.workers.corpus import loaded
from workers.config.engine import EngineSettings
from workers.devkit.ports import free_port
from workers.devkit.processes import WORKERS, Pipeline, Process, Worker
from workers.devkit.search_engine import SearchEngine
from workers.engine.client import Engine
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
#: Shorter than the default, so that the client gives up on a paused node several times.
_ENGINE_TIMEOUT_S: Final = 4.0
#: Size of a ledger's state folder, small so that a fault can fill it.
_DISK_MB: Final = 256


class World:
    """One run: its own topics, the four workers and the processes that join them. Ended processes restart, as in Kubernetes.

    ``pace`` is in papers per second; None means at most 1,000. ``members`` is the initial number of processes per worker.
    ``engine``: candidates come from an index of this run, which an indexer keeps.
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
        engine: SearchEngine | None = None,
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
        self._engine = engine
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
            **self._searching(),
            **settings,
        }
        self.pipeline = Pipeline(folder, program=program, **chosen)

    def __enter__(self) -> Self:
        try:
            if self._engine is not None:
                self.start("indexer")
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
            return self.pipeline.start(worker, slot, kafka_bootstrap_servers=self._brokers(worker))

    def own(self, worker: Worker, name: str) -> dict[str, Any]:
        """Return the settings of one more process of the worker, which this class does not start."""
        state = self.pipeline.folder / "state" / name
        own = {"http_host": "127.0.0.1", "http_port": free_port(), "state_dir": state, "slot": name}
        return {**self.pipeline.settings, **own, "kafka_bootstrap_servers": self._brokers(worker)}

    def _brokers(self, worker: Worker) -> str:
        network = self.cluster.networks.get(worker)
        return self.cluster.address if network is None else network.address

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

    # The search engine

    @property
    def alias(self) -> str:
        """The alias of this run's index."""
        return f"{self.kafka.topic_prefix.rstrip('.')}-catalog"

    def searched(self) -> SearchEngine:
        """Return the search engine of this run."""
        assert self._engine is not None, "this run has no search engine"
        return self._engine

    def client(self) -> Engine:
        """Return a client of the search engine."""
        return Engine(EngineSettings(**self._searching()))

    def _searching(self) -> dict[str, Any]:
        """Return the settings of the search engine."""
        if self._engine is None:
            return {}
        return {
            "engine": "opensearch",
            "engine_urls": ",".join(self._engine.urls),
            "engine_index": self.alias,
            "engine_replicas": min(1, len(self._engine.nodes) - 1),
            "engine_timeout_s": _ENGINE_TIMEOUT_S,
        }

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
