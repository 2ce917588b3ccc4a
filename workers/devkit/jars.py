"""Java, and the jars of the local servers, which Maven downloads once into the cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workers.devkit.errors import LocalSetupError

HERE: Final = Path(__file__).parent
JAVA_AT_LEAST: Final = 17


@dataclass(frozen=True)
class Server:
    """A server that runs from Maven's jars. ``folder`` is that of its jars in the cache; ``instead`` needs no Java."""

    name: str
    version: str
    pom: str
    instead: str
    #: The first Java with which the server does not start.
    java_below: int | None = None

    @property
    def folder(self) -> str:
        """The name of the folder of the jars in the cache."""
        return f"{self.name.lower()}-{self.version}"


KAFKA: Final = Server("Kafka", "4.3.0", "pom.xml", "set REFLINK_KAFKA_BOOTSTRAP_SERVERS to a broker that runs already")


def default_cache() -> Path:
    """Return the folder for downloaded jars: ``.cache`` in the current folder, or ``REFLINK_CACHE``."""
    return Path(os.environ.get("REFLINK_CACHE", ".cache")).resolve()


def java(server: Server) -> str:
    """Return the path of a Java with which the server runs. Raises LocalSetupError."""
    wanted = f"Java >= {JAVA_AT_LEAST}" + (f" and < {server.java_below}" if server.java_below else "")
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found is None:
        raise LocalSetupError(
            f"{wanted} is needed to run a local {server.name} and none was found: install a JDK or JRE, or {server.instead}"
        )
    output = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)', output)
    version = int(match.group(1)) if match else 0
    if version < JAVA_AT_LEAST or (server.java_below is not None and version >= server.java_below):
        raise LocalSetupError(
            f"{wanted} is needed to run a local {server.name} and {found} is version {version or 'unknown'}: "
            "install such a Java and point JAVA_HOME at it"
        )
    return found


def jars(server: Server, cache: Path | None = None, arrange: Callable[[Path], None] = lambda _: None) -> Path:
    """Return the folder with the server's jars; Maven downloads them the first time. Raises LocalSetupError.

    ``arrange`` may move the downloaded jars inside their folder, before other processes see it.
    """
    folder = (cache.resolve() if cache else default_cache()) / server.folder
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise LocalSetupError(f"Maven is needed to bring {server.name}'s jars and `mvn` was not found: install Maven")
    java(server)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f"{folder.name}.partial.{os.getpid()}")
    try:
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
        command = [maven, "-B", "-q", "-f", str(HERE / server.pom), *goal]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).strip().splitlines() or ["no output"]
            raise LocalSetupError(f"Maven could not bring {server.name}'s jars: {lines[0]}")
        arrange(partial)
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process was faster
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder
