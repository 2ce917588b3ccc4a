"""Run worker processes on this machine, for the demo, the tests and the benchmarks: start, watch, kill, restart, stop.

with Pipeline(folder, kafka_bootstrap_servers=broker.address) as pipeline:
    linker = pipeline.start("linker")
    pipeline.wait_ready()
    linker.kill()
    linker.restart()
"""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self

import orjson
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from reflink.errors import ReflinkError
from workers.devkit.ports import free_port

Worker = Literal["parser", "linker", "fallback", "ledger", "indexer"]
#: The workers of every pipeline. An indexer runs only beside a search engine.
WORKERS: Final[tuple[Worker, ...]] = ("parser", "linker", "fallback", "ledger")

#: The command that runs a worker.
PROGRAM: Final = (sys.executable, "-m", "workers.cli")
#: Longer than a worker's own drain deadline (25 s), so that only a worker that fails to drain is killed.
STOP_TIMEOUT_S: Final = 30.0
#: Time to import torch and to read a model and a catalog on a machine under other load.
READY_TIMEOUT_S: Final = 300.0
_HTTP_TIMEOUT_S: Final = 20.0
_POLL_S: Final = 0.1
_LOG_TAIL_BYTES: Final = 20_000
_LINE_LENGTH: Final = 500
_LAST_LINES: Final = 5


class WorkerDied(ReflinkError):
    """A worker process ended unexpectedly; the message has its exit code, its last log line and the path of its log."""


class NotReady(ReflinkError):
    """A worker process does not become ready, or does not answer; the message names it and the path of its log."""


@dataclass(frozen=True)
class Metrics:
    """One scrape of /metrics, with sample names as exposed: a counter's end in ``_total``, a histogram's in ``_sum``, …"""

    samples: tuple[Sample, ...]

    @classmethod
    def parse(cls, text: str) -> Metrics:
        """Parse the Prometheus text format. Raises ValueError."""
        return cls(tuple(sample for family in text_string_to_metric_families(text) for sample in family.samples))

    def find(self, name: str, **labels: str) -> list[Sample]:
        """Return the samples with that name and at least these labels."""
        return [each for each in self.samples if each.name == name and labels.items() <= each.labels.items()]

    def sum(self, name: str, **labels: str) -> float:
        """Return the sum of the samples found; 0 if there are none."""
        return sum((each.value for each in self.find(name, **labels)), 0.0)


class Process:
    """One worker and its slot. Slot, port, settings, state folder and log stay the same across restarts."""

    def __init__(
        self, worker: Worker, slot: str, port: int, log: Path, environment: Mapping[str, str], command: Sequence[str]
    ) -> None:
        self.worker, self.slot, self.port, self.log = worker, slot, port, log
        self._environment, self._command = dict(environment), tuple(command)
        #: Whether this class has ended the process, so that its end is expected.
        self.dismissed = False
        self._process = self._spawn()

    def __repr__(self) -> str:
        return f"Process({self.worker!r}, {self.slot!r}, pid={self.pid}, exit_code={self.exit_code})"

    @property
    def pid(self) -> int:
        """The pid of the newest process of this slot."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while the process runs; -9 after a SIGKILL."""
        return self._process.poll()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.exit_code is None

    def restart(self) -> None:
        """Start the slot again; kill its process if it still runs."""
        if self.alive:
            self.kill()
        self.dismissed = False
        self._process = self._spawn()

    def kill(self) -> None:
        """Send SIGKILL, so that the worker neither drains nor leaves its group. Returns when the process has ended."""
        self.dismissed = True
        self._process.kill()
        self._process.wait()

    def terminate(self) -> None:
        """Send SIGTERM once, without waiting; the worker drains and exits. A second SIGTERM could kill it in its last step."""
        if self.alive and not self.dismissed:
            self._process.send_signal(signal.SIGTERM)
        self.dismissed = True

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Send SIGTERM, and SIGKILL after the deadline. Returns the exit code: 0 if the worker drained."""
        self.terminate()
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()

    def check(self) -> None:
        """Raise WorkerDied if the process ended unexpectedly."""
        if not self.alive and not self.dismissed:
            raise WorkerDied(f"{self.worker} {self.slot} ended with exit code {self.exit_code}; {self._about_log()}")

    def ready(self) -> bool:
        """Return whether the worker has joined its group and its catalog is warm. Raises WorkerDied."""
        self.check()
        try:
            return self._get("/health/ready")[0] == 200
        except OSError:
            return False

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Wait until the worker is ready. Raises WorkerDied or NotReady."""
        deadline = time.monotonic() + timeout_s
        while not self.ready():
            if time.monotonic() > deadline:
                raise NotReady(f"{self.worker} {self.slot} was not ready after {timeout_s:g} s; {self._about_log()}")
            time.sleep(_POLL_S)

    def metrics(self) -> Metrics:
        """Scrape the worker's metrics. Raises WorkerDied or NotReady."""
        self.check()
        try:
            status, body = self._get("/metrics")
        except OSError as error:
            raise NotReady(
                f"{self.worker} {self.slot}: no metrics from port {self.port}: {error}; its log: {self.log}"
            ) from None
        if status != 200:
            raise NotReady(f"{self.worker} {self.slot}: /metrics answers {status}; log: {self.log}")
        return Metrics.parse(body.decode())

    def _about_log(self) -> str:
        return f"its last log line: {self.last_line() or 'none'}; the whole log: {self.log}"

    def last_line(self) -> str:
        """Return the worker's message about its end, else its last log line (of a JSON line: the event and the reason), cut."""
        with self.log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES))
            lines = log.read().decode("utf-8", "replace").split("\n")
        written = [each for each in lines if each.strip()]
        # While the interpreter exits, a library may log after the worker's own last message.
        own = [each for each in written[-_LAST_LINES:] if each.startswith("reflink-worker: ")]
        line = (own or written or [""])[-1]
        try:
            fields = orjson.loads(line)
            line = ": ".join(str(fields[name]) for name in ("event", "reason", "error", "detail") if name in fields) or line
        except (orjson.JSONDecodeError, TypeError):
            pass  # not a log line of the worker: a traceback's last line, or an error message of the command
        return line[:_LINE_LENGTH]

    def _spawn(self) -> subprocess.Popen[bytes]:
        # The worker gets its own session: Ctrl-C does not reach it, and the owner of the pipeline chooses the order of the end.
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _get(self, path: str) -> tuple[int, bytes]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=_HTTP_TIMEOUT_S)) as connection:
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                return response.status, response.read()
            except http.client.HTTPException as error:
                raise ConnectionError(f"{type(error).__name__}: {error}") from None


class Pipeline:
    """Worker processes with logs and state under one folder. Leaving it as a context manager stops all of them.

    ``settings`` are fields of workers.config.settings and apply to every worker; for other fields the environment's REFLINK_*
    variables apply (credentials, for example). ``program`` is run with a worker's name and its options.
    """

    def __init__(self, folder: Path, *, program: Sequence[str] = PROGRAM, **settings: Any) -> None:
        self.folder = folder.resolve()
        self.program = program
        self.settings = settings
        self.processes: list[Process] = []
        self.logs.mkdir(parents=True, exist_ok=True)

    @property
    def logs(self) -> Path:
        """The folder with one log per slot."""
        return self.folder / "logs"

    def start(self, worker: Worker, slot: str = "0", *, options: Sequence[str] = (), **settings: Any) -> Process:
        """Start a process without waiting for it. Its own ``settings`` override those of the pipeline.

        ``options``: of its command, for example ``--with-fallback``.
        """
        if any((each.worker, each.slot) == (worker, slot) for each in self.processes):
            raise ValueError(f"{worker} {slot} was started already: restart it, or choose another slot")
        port = free_port()
        own = {"http_host": "127.0.0.1", "http_port": port, "slot": slot}
        # Each slot gets its own state folder, as each pod does: only one process may use a ledger's store.
        chosen = {"state_dir": self.folder / "state" / f"{worker}-{slot}", **self.settings, **settings, **own}
        command = (*self.program, worker, *options)
        process = Process(worker, slot, port, self.logs / f"{worker}-{slot}.log", environment(chosen), command)
        self.processes.append(process)
        return process

    def of(self, worker: Worker) -> list[Process]:
        """Return the processes of one kind, in the order of their start."""
        return [each for each in self.processes if each.worker == worker]

    def check(self) -> None:
        """Raise WorkerDied for the first process that ended unexpectedly."""
        for process in self.processes:
            process.check()

    def wait_ready(self, processes: Iterable[Process] | None = None, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Wait until these processes are ready; by default all that were not stopped.

        Raises WorkerDied (of any process, at once) or NotReady.
        """
        waiting = [each for each in self.processes if not each.dismissed] if processes is None else list(processes)
        deadline = time.monotonic() + timeout_s
        while waiting := [each for each in waiting if not each.ready()]:
            self.check()
            if time.monotonic() > deadline:
                waiting[0].wait_ready(0.0)
            time.sleep(_POLL_S)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop all processes at the same time: SIGTERM, and SIGKILL for those that still run at the deadline."""
        for process in self.processes:
            process.terminate()
        deadline = time.monotonic() + timeout_s
        for process in self.processes:
            process.stop(max(0.0, deadline - time.monotonic()))

    def kill(self) -> None:
        """Send SIGKILL to all processes, for runs whose state is discarded."""
        for process in self.processes:
            process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def environment(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return this process's environment with the settings in it, without the variables of settings that are None."""
    chosen = {f"REFLINK_{name.upper()}": value for name, value in settings.items()}
    kept = {name: value for name, value in os.environ.items() if name not in chosen}
    return kept | {name: str(value) for name, value in chosen.items() if value is not None}
