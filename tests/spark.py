"""A standalone cluster of Spark on loopback, from pyspark's own jars, and the command ``reflink-spark`` on it.

with Cluster(folder, workers=2) as cluster:
    done = cluster.run("link", "--papers", …)
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil
import pytest

from tests.data import ROOT
from workers.devkit.ports import free_port

HOST: Final = "127.0.0.1"
_READY_S: Final = 120.0
_STOP_S: Final = 20.0
_POLL_S: Final = 0.1


def spark_home() -> Path:
    """Return the folder of pyspark, which has Spark's programs; skip the test if the extra is not installed."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        pytest.skip("pyspark is missing: make install EXTRAS=spark")
    return Path(found.origin).parent


class Cluster:
    """A master and ``workers`` workers of one core each, as processes; they and their executors end with the context."""

    def __init__(self, folder: Path, *, workers: int = 2) -> None:
        self._folder, self._workers = folder, workers
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = f"spark://{HOST}:{free_port()}"
        paths = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SPARK_")},
            "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(path for path in paths if path)),
        }

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            port = self.master.rpartition(":")[2]
            self._start("master", "master.Master", "--host", HOST, "--port", port, "--webui-port", "0")
            self._wait("I have been elected leader", 1)
            for number in range(self._workers):
                about = ("--cores", "1", "--memory", "2g", "--work-dir", str(self._folder / f"work-{number}"))
                self._start(f"worker-{number}", "worker.Worker", "--host", HOST, "--webui-port", "0", *about, self.master)
            self._wait("Registering worker", self._workers)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``reflink-spark`` with these arguments on the cluster, to its end."""
        with self.start(*arguments) as process:
            out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start ``reflink-spark`` with these arguments on the cluster, with pipes for its output."""
        conf = {"spark.ui.enabled": "false", "spark.executor.memory": "1g", "spark.sql.shuffle.partitions": "8"}
        options = [option for name, value in conf.items() for option in ("--conf", f"{name}={value}")]
        command = [sys.executable, "-m", "workers.backfill.command", *arguments, "--master", self.master, *options]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=self._environment, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)

    def cpu_seconds(self) -> float:
        """Return the CPU time so far of the workers, their executors and the executors' Python processes."""
        total = 0.0
        for worker in self._processes[1:]:
            parent = psutil.Process(worker.pid)
            for process in (parent, *parent.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    total += sum(process.cpu_times()[:4])  # its own, and of children that have ended
        return total

    def stop(self) -> None:
        """End all processes, the workers with their executors first."""
        for process in reversed(self._processes):
            _signal(process, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_S)
            _signal(process, signal.SIGKILL)  # what is left of its group
            process.wait()
        self._processes = []

    def _start(self, name: str, program: str, *arguments: str) -> None:
        command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{program}", *arguments]
        with (self._folder / f"{name}.log").open("wb") as log:
            started = subprocess.Popen(
                command, env=self._environment, cwd=self._folder, stdout=log, stderr=log, start_new_session=True
            )
        self._processes.append(started)

    def _wait(self, line: str, times: int) -> None:
        log, until = self._folder / "master.log", time.monotonic() + _READY_S
        while len(re.findall(line, log.read_text())) < times:
            if time.monotonic() > until or any(process.poll() is not None for process in self._processes):
                logs = "".join(path.read_text()[-2000:] for path in sorted(self._folder.glob("*.log")))
                raise RuntimeError(f"the cluster does not start: {logs}")
            time.sleep(_POLL_S)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
