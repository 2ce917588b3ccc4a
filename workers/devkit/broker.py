"""Run a real Kafka broker on loopback, for the demo, the tests and the benchmarks. It needs Java and Maven only.

with Broker.start() as broker:
    print(broker.address)
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from workers.devkit.errors import LocalSetupError
from workers.devkit.jars import HERE, KAFKA, jars, java
from workers.devkit.ports import free_port

USUAL_PORT = 9092
#: Long enough for a machine under other load; ``wait`` detects at once that the broker process has ended.
START_TIMEOUT_S = 180.0


def new_cluster_id() -> str:
    """Return 16 random bytes in base64, as Kafka requires; an id with a leading dash would be read as an option."""
    while (cluster := urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return cluster


@dataclass
class Broker:
    """A running broker and its data folder. Use as a context manager, or call ``stop``."""

    address: str
    folder: Path
    process: subprocess.Popen[bytes]
    owns_folder: bool
    _command: list[str]

    @classmethod
    def start(
        cls,
        folder: Path | None = None,
        *,
        port: int | None = None,
        cache: Path | None = None,
        extra: dict[str, str] | None = None,
        scram_users: Mapping[str, str] | None = None,
    ) -> Self:
        """Format a data folder (a temporary one by default) and start the broker.

        ``port`` defaults to 9092, or to a free port if 9092 is taken. ``extra`` holds server properties that override those of
        this module. ``scram_users`` (name to password) can log in by both SCRAM mechanisms on a listener that requires SCRAM.
        Returns when the broker accepts connections. Raises LocalSetupError.
        """
        java(KAFKA)
        jars(KAFKA, cache)  # report missing programs before a folder is created
        owns_folder = folder is None
        folder = Path(tempfile.mkdtemp(prefix="reflink-kafka-")) if folder is None else folder.resolve()
        port = free_port(USUAL_PORT) if port is None else port
        controller = free_port()
        properties = {
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            **(extra or {}),
        }
        formatting = ["--standalone", "-t", new_cluster_id()]
        for user, password in (scram_users or {}).items():
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                formatting += ["--add-scram", f"{mechanism}=[name={user},password={password}]"]
        broker = cls.launch(folder, port, properties, formatting, cache=cache, owns_folder=owns_folder)
        try:
            broker.wait()
        except BaseException:
            broker.stop()
            raise
        return broker

    @classmethod
    def launch(
        cls,
        folder: Path,
        port: int,
        properties: Mapping[str, str],
        formatting: Sequence[str],
        *,
        cache: Path | None = None,
        owns_folder: bool = False,
        heap_mb: int = 512,
    ) -> Self:
        """Format ``folder`` with Kafka's storage tool and the arguments ``formatting``, and start the broker without waiting.

        ``properties`` override those of server.properties. Raises LocalSetupError.
        """
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "server.properties"
        lines = [f"{key}={value}" for key, value in {"log.dirs": str(folder / "data"), **properties}.items()]
        file.write_text((HERE / "server.properties").read_text() + "\n".join(lines) + "\n")
        base = [java(KAFKA), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{jars(KAFKA, cache)}/*"]
        format_ = [*base, "-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool", "format", "-c", str(file), *formatting]
        done = subprocess.run(format_, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LocalSetupError(
                f"the storage of the local Kafka could not be formatted in {folder}: {done.stderr.strip()[-300:]}"
            )
        command = [*base, f"-Xmx{heap_mb}m", f"-Xms{heap_mb // 2}m", "-XX:+UseG1GC", "kafka.Kafka", str(file)]
        return cls(f"127.0.0.1:{port}", folder, cls._spawn(command, folder), owns_folder, command)

    @staticmethod
    def _spawn(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
        # The broker gets its own session: Ctrl-C then reaches the workers first, and they can still leave their group.
        with (folder / "broker.log").open("ab") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def wait(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until the broker accepts connections. Raises LocalSetupError with the end of the broker's log."""
        host, port = self.address.split(":")
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and self.process.poll() is None:
            with closing(socket.socket()) as probe:
                probe.settimeout(1.0)
                if probe.connect_ex((host, int(port))) == 0:
                    return
            time.sleep(0.1)
        log = (self.folder / "broker.log").read_text(errors="replace")
        raise LocalSetupError(f"the local Kafka did not start on {self.address}; the end of its log: {log[-500:].strip()}")

    def restart(self, *, kill: bool = False) -> None:
        """Stop (or kill) the broker and start it on the same data and port."""
        self.end(kill=kill)
        self.start_again()

    def end(self, *, kill: bool = False) -> None:
        """Stop (or kill) the broker and keep its data."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def start_again(self) -> None:
        """Start an ended broker on the same data and port; return when it accepts connections. Raises LocalSetupError."""
        self.process = self._spawn(self._command, self.folder)
        self.wait()

    def stop(self) -> None:
        """Stop the broker, and delete the data folder if ``start`` created it."""
        # The data of a temporary folder are deleted next, so an orderly stop would save nothing.
        self.end(kill=self.owns_folder)
        if self.owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
