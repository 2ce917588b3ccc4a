"""A real Prometheus on this machine that scrapes worker processes as the chart's PodMonitor does.

with Prometheus.start(folder, targets_of(pipeline)) as prometheus:
    prometheus.queries.instant('up{job="reflink"}')
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from helm.dashboards.querying import Queries, QueryFailed
from tests.programs import program
from workers.devkit.ports import free_port
from workers.devkit.processes import Pipeline

_START_S: Final = 120.0
_STOP_S: Final = 20.0
_POLL_S: Final = 0.05


class PrometheusDied(Exception):
    """Prometheus ended or does not respond; the message has the end of its log."""


@dataclass(frozen=True)
class Target:
    """One endpoint with its target labels in production."""

    address: str
    worker: str
    pod: str


def targets_of(pipeline: Pipeline) -> list[Target]:
    """Return a target for each process of a pipeline; the name of its pod contains the slot."""
    return [Target(f"127.0.0.1:{each.port}", each.worker, f"{each.worker}-{each.slot}") for each in pipeline.processes]


class Prometheus:
    """A server with its own data folder, which is deleted when it stops. A context manager."""

    def __init__(self, folder: Path, port: int, process: subprocess.Popen[bytes]) -> None:
        self.folder, self.url = folder, f"http://127.0.0.1:{port}"
        self.queries = Queries(self.url)
        self._process = process

    @classmethod
    def start(cls, folder: Path, targets: Iterable[Target], *, every_s: int = 1, rules: Iterable[Path] = ()) -> Prometheus:
        """Start a server that responds. ``rules`` are rule files, evaluated every ``every_s`` too. Raises PrometheusDied."""
        folder.mkdir(parents=True, exist_ok=True)
        port, config = free_port(), folder / "prometheus.yml"
        config.write_text(json.dumps(configuration(targets, every_s, rules)))  # JSON is YAML
        command = [program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
        command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True)
        server = cls(folder, port, process)
        try:
            server._wait_ready()
        except BaseException:
            server.stop()
            raise
        return server

    def stop(self) -> None:
        """Stop the server and delete its data."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + _START_S
        while True:
            try:
                self.queries.instant("vector(1)")
                return
            except QueryFailed as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    last = (self.folder / "log").read_text(errors="replace")[-2000:]
                    raise PrometheusDied(f"prometheus does not answer: {error}; its log: {last}") from None
                time.sleep(_POLL_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def configuration(targets: Iterable[Target], every_s: int, rules: Iterable[Path]) -> dict[str, Any]:
    """Return the content of prometheus.yml, with the labels that rules and dashboards may use."""
    static = [{"targets": [each.address], "labels": {"worker": each.worker, "pod": each.pod}} for each in targets]
    return {
        "global": {"scrape_interval": f"{every_s}s", "evaluation_interval": f"{every_s}s"},
        "rule_files": [str(path.resolve()) for path in rules],
        "scrape_configs": [{"job_name": "reflink", "static_configs": static}],
    }
