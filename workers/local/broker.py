"""A real Kafka broker on loopback, for the demo, the tests and the benchmarks. Java and Maven are all it needs.

with Broker.start() as broker:
    print(broker.address)
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from workers.local.errors import LocalSetupError
from workers.local.ports import free_port

HERE = Path(__file__).parent
USUAL_PORT = 9092
JAVA_AT_LEAST = 17
START_TIMEOUT_S = 60.0


def default_cache() -> Path:
    """Where downloaded jars are kept: ``.cache`` of the current folder."""
    return Path(os.environ.get("REFLINK_CACHE", ".cache")).resolve()


def java() -> str:
    """Path of a Java that is new enough. Raises LocalSetupError."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found is None:
        raise LocalSetupError(
            f"Java >= {JAVA_AT_LEAST} is needed to run a local Kafka and none was found: install a JDK or JRE, or set "
            "REFLINK_KAFKA_BOOTSTRAP_SERVERS to a broker that runs already"
        )
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version.group(1)) < JAVA_AT_LEAST:
        raise LocalSetupError(
            f"Java >= {JAVA_AT_LEAST} is needed and {found} is version {version.group(1) if version else 'unknown'}: "
            "install a newer one or point JAVA_HOME at it"
        )
    return found


def jars(cache: Path | None = None) -> Path:
    """Folder with the broker's jars, brought by Maven the first time. Raises LocalSetupError."""
    folder = (cache or default_cache()) / "kafka-4.3.0"
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise LocalSetupError("Maven is needed to bring Kafka's jars and `mvn` was not found: install Maven")
    java()
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f"{folder.name}.partial.{os.getpid()}")
    command = [
        maven,
        "-B",
        "-q",
        "-f",
        str(HERE / "pom.xml"),
        "dependency:copy-dependencies",
        f"-DoutputDirectory={partial}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(partial, ignore_errors=True)
        lines = (done.stdout + done.stderr).strip().splitlines() or ["no output"]
        raise LocalSetupError(f"Maven could not bring Kafka's jars: {lines[0]}")
    try:
        partial.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def new_cluster_id() -> str:
    """As Kafka wants it: 16 random bytes in base64; one that begins with a dash would be read as an option."""
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
        """Formats a data folder (a temporary one when none is given) and starts the broker.

        ``port`` defaults to the usual 9092, or a free one when that is taken; ``extra`` are more server properties, which win
        over those of this module. ``scram_users`` (name to password) can log in by both SCRAM mechanisms where a listener asks.
        Returns when the broker answers. Raises LocalSetupError.
        """
        program, classpath = java(), f"{jars(cache)}/*"
        owns_folder = folder is None
        folder = Path(tempfile.mkdtemp(prefix="reflink-kafka-")) if folder is None else folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port(USUAL_PORT) if port is None else port
        controller = free_port()
        properties = folder / "server.properties"
        addresses = {
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "log.dirs": str(folder / "data"),
        }
        lines = [f"{key}={value}" for key, value in {**addresses, **(extra or {})}.items()]
        properties.write_text((HERE / "server.properties").read_text() + "\n".join(lines) + "\n")
        base = [program, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", classpath]
        cluster = new_cluster_id()
        format_ = [*base, "kafka.tools.StorageTool", "format", "--standalone", "-t", cluster, "-c", str(properties)]
        for user, password in (scram_users or {}).items():
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                format_ += ["--add-scram", f"{mechanism}=[name={user},password={password}]"]
        done = subprocess.run(format_, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LocalSetupError(
                f"the storage of the local Kafka could not be formatted in {folder}: {done.stderr.strip()[-300:]}"
            )
        command = [*base, "-Xmx512m", "-Xms256m", "-XX:+UseG1GC", "kafka.Kafka", str(properties)]
        broker = cls(f"127.0.0.1:{port}", folder, cls._spawn(command, folder), owns_folder, command)
        try:
            broker.wait()
        except BaseException:
            broker.stop()
            raise
        return broker

    @staticmethod
    def _spawn(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
        # A session of its own, so that Ctrl-C reaches the workers first and they can still leave their group.
        with (folder / "broker.log").open("ab") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def wait(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Returns when the broker accepts connections. Raises LocalSetupError with the end of its log."""
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
        """Stops (or kills) the broker and starts it on the same data and port."""
        self._end(signal.SIGKILL if kill else signal.SIGTERM)
        self.process = self._spawn(self._command, self.folder)
        self.wait()

    def _end(self, how: signal.Signals) -> None:
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def stop(self) -> None:
        """Ends the broker and deletes its data when it made the folder itself."""
        # Its data go with it, so there is nothing that an orderly stop would save.
        self._end(signal.SIGKILL if self.owns_folder else signal.SIGTERM)
        if self.owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
