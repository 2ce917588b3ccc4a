"""Run real nodes of OpenSearch or Elasticsearch on loopback, for tests and benchmarks. They need Java and Maven only.

with SearchEngine.start(nodes=3) as engine:
    print(engine.urls)
    engine.kill(0)
    engine.wait()
    engine.restart(0)

Each node is a process of its own with its own data, so that a test may kill, pause and restart any of them. The nodes have
neither encryption nor users, and any user may run them, root too: the check of the server is off together with its other
native calls.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from workers.devkit.errors import LocalSetupError
from workers.devkit.jars import HERE, jars, java
from workers.devkit.ports import free_port
from workers.devkit.search_flavours import FLAVOURS, Flavour, Name

#: Long enough for a machine under other load; ``wait`` detects at once that a node has ended.
START_TIMEOUT_S: Final = 180.0
_STOP_TIMEOUT_S: Final = 20.0
_HTTP_TIMEOUT_S: Final = 5.0
_POLL_S: Final = 0.2
_LOG_END: Final = 800
#: The same for all nodes.
_SETTINGS: Final = {
    "network.host": "127.0.0.1",
    # Nodes refuse writes on a disk that is nearly full, however little a test writes.
    "cluster.routing.allocation.disk.threshold_enabled": "false",
    # The cluster removes a paused node after three checks; by default each of them takes up to 10 s.
    "cluster.fault_detection.follower_check.timeout": "3s",
    "cluster.fault_detection.leader_check.timeout": "3s",
}
_JAVA_OPTIONS: Final = (
    "-XX:+UseG1GC",
    "-Dlog4j2.disable.jmx=true",
    "-Dlog4j.shutdownHookEnabled=false",  # the node logs until its own hook has closed it
    "-Djava.security.manager=allow",
    # Without its native library JNA calls nothing: no check for root, no filter of system calls, no locked memory.
    "-Djna.nounpack=true",
    "-Djna.nosys=true",
)


@dataclass
class Node:
    """One node: its ports, its folder with configuration, data and log, and its newest process."""

    name: str
    port: int
    transport_port: int
    folder: Path
    command: list[str]
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    paused: bool = False

    @property
    def log(self) -> Path:
        """The log of all processes of this node."""
        return self.folder / "node.log"

    @property
    def alive(self) -> bool:
        """Whether the process runs, paused or not."""
        return self.process is not None and self.process.poll() is None

    def spawn(self) -> None:
        """Start the process without waiting."""
        # A session of its own, as the broker has.
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.paused = False

    def end(self, *, kill: bool) -> None:
        """End the process; with SIGTERM if neither ``kill`` nor paused."""
        if self.process is None or not self.alive:
            return
        self.process.send_signal(signal.SIGKILL if kill or self.paused else signal.SIGTERM)
        try:
            self.process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def health(self) -> dict[str, Any] | None:
        """Return the health of the cluster as this node knows it; None if it does not answer or has no cluster."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=_HTTP_TIMEOUT_S)) as connection:
            try:
                connection.request("GET", "/_cluster/health")
                response = connection.getresponse()
                found = json.loads(response.read())
            except (OSError, http.client.HTTPException, ValueError):
                return None
        return found if response.status == 200 else None

    def end_of_log(self) -> str:
        """Return the end of the log, without the lines of stack traces."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(line for line in lines if not line.lstrip().startswith(("at ", "..."))).strip()[-_LOG_END:]


class SearchEngine:
    """Running nodes that form a cluster, and their data. Use as a context manager, or call ``stop``."""

    def __init__(self, flavour: Flavour, nodes: list[Node], folder: Path, *, owns_folder: bool) -> None:
        self.flavour, self.nodes, self.folder, self._owns_folder = flavour, nodes, folder, owns_folder

    @property
    def urls(self) -> list[str]:
        """The addresses of all nodes, also of those that do not run."""
        return [f"http://127.0.0.1:{node.port}" for node in self.nodes]

    @classmethod
    def start(
        cls,
        folder: Path | None = None,
        nodes: int = 1,
        *,
        flavour: Name = "opensearch",
        cache: Path | None = None,
        heap_mb: int = 512,
        optimize: bool = False,
        extra: Mapping[str, str] | None = None,
    ) -> Self:
        """Start ``nodes`` nodes in ``folder`` (a temporary one by default); return when they have formed a cluster.

        ``heap_mb`` is the heap of each node. ``optimize``, for benchmarks, turns Java's optimizing compiler on: a start takes
        twice the CPU time, and the nodes become faster later. ``extra`` holds settings of all nodes that override those of this
        module. Raises LocalSetupError.
        """
        kind = FLAVOURS[flavour]
        program, home = java(kind.server), bring(flavour, cache)  # report missing programs before a folder is created
        owns_folder = folder is None
        folder = Path(tempfile.mkdtemp(prefix=f"reflink-{flavour}-")) if folder is None else folder.resolve()
        engine = cls(kind, [], folder, owns_folder=owns_folder)
        try:
            for index in range(nodes):
                own = folder / f"node-{index}"
                options = [*_JAVA_OPTIONS, f"-Xmx{heap_mb}m", f"-Xms{heap_mb // 2}m", f"-Djava.io.tmpdir={own / 'tmp'}"]
                if not optimize:
                    options.append("-XX:TieredStopAtLevel=1")
                paths = [f"-D{kind.properties}.path.home={home}", f"-D{kind.properties}.path.conf={own / 'config'}"]
                command = [program, *options, *paths, "-cp", f"{home}/lib/*", kind.main]
                # Elasticsearch requires this folder of its start script.
                environment = {**os.environ, "LIBFFI_TMPDIR": str(own / "tmp")}
                engine.nodes.append(Node(f"node-{index}", free_port(), free_port(), own, command, environment))
            for node in engine.nodes:
                engine._configure(node, extra or {})
                node.spawn()
            engine.wait()
        except BaseException:
            engine.stop()
            raise
        return engine

    def _configure(self, node: Node, extra: Mapping[str, str]) -> None:
        for name in ("config", "data", "logs", "tmp"):
            (node.folder / name).mkdir(parents=True, exist_ok=True)
        settings = {
            "cluster.name": "reflink",
            "node.name": node.name,
            "http.port": str(node.port),
            "transport.port": str(node.transport_port),
            "path.data": str(node.folder / "data"),
            "path.logs": str(node.folder / "logs"),
            "discovery.seed_hosts": [f"127.0.0.1:{each.transport_port}" for each in self.nodes],
            self.flavour.founders: [each.name for each in self.nodes],
            **_SETTINGS,
            **extra,
        }
        lines = [f"{key}: {json.dumps(value)}\n" for key, value in settings.items()]  # JSON is YAML
        (node.folder / "config" / f"{self.flavour.name}.yml").write_text("".join(lines))
        shutil.copyfile(HERE / "search_log4j2.properties", node.folder / "config" / "log4j2.properties")

    def wait(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until all nodes that run have formed a cluster of exactly these nodes.

        Nodes that were killed, stopped or paused do not count. Raises LocalSetupError with the end of a node's log.
        """
        deadline = time.monotonic() + timeout_s
        waiting = expected = [node for node in self.nodes if node.process is not None and not node.paused]
        while waiting:
            for node in expected:
                if not node.alive:
                    raise LocalSetupError(f"{self._called(node)} has ended; the end of its log: {node.end_of_log()}")
            waiting = [node for node in waiting if (node.health() or {}).get("number_of_nodes") != len(expected)]
            if waiting and time.monotonic() > deadline:
                raise LocalSetupError(
                    f"{self._called(waiting[0])} was not in a cluster of {len(expected)} after {timeout_s:g} s; "
                    f"the end of its log: {waiting[0].end_of_log()}"
                )
            if waiting:
                time.sleep(_POLL_S)

    def _called(self, node: Node) -> str:
        return f"{node.name} of the local {self.flavour.server.name} on 127.0.0.1:{node.port}"

    def kill(self, index: int) -> None:
        """Kill one node with SIGKILL and keep its data."""
        self._end(self.nodes[index], kill=True)

    def pause(self, index: int) -> None:
        """Freeze one node with SIGSTOP: its connections stay open and it does not answer."""
        self._signal(index, signal.SIGSTOP)
        self.nodes[index].paused = True

    def resume(self, index: int) -> None:
        """Let a paused node continue, without waiting until it has joined the cluster again."""
        self._signal(index, signal.SIGCONT)
        self.nodes[index].paused = False

    def restart(self, index: int, *, kill: bool = False, wait: bool = True) -> None:
        """Start one node again on its data and port; stop (or kill) it before if it runs.

        Returns when it has joined the cluster, or with ``wait=False`` at once. Raises LocalSetupError.
        """
        self._end(self.nodes[index], kill=kill)
        self.nodes[index].spawn()
        if wait:
            self.wait()

    def stop(self) -> None:
        """Stop all nodes, and delete their data if ``start`` created the folder."""
        # The data of a temporary folder are deleted next, so an orderly stop would save nothing.
        for node in self.nodes:
            self._end(node, kill=self._owns_folder)
        if self._owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def _end(node: Node, *, kill: bool) -> None:
        node.end(kill=kill)
        node.process, node.paused = None, False

    def _signal(self, index: int, number: signal.Signals) -> None:
        node = self.nodes[index]
        if node.process is None or not node.alive:
            raise LocalSetupError(f"{self._called(node)} does not run")
        node.process.send_signal(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def bring(flavour: Name = "opensearch", cache: Path | None = None) -> Path:
    """Return the home of the nodes in the cache; Maven downloads their jars the first time. Raises LocalSetupError."""
    kind = FLAVOURS[flavour]
    return jars(kind.server, cache, kind.arrange)
