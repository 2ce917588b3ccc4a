"""A background program with its own session and log, reliably killed at the end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.campaigns.autoscaling.errors import RunFailed

_LAST_WORDS = 400


class Background:
    """A program that runs until it is killed. It has its own session, so that Ctrl-C does not end it before its clients."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.name, self.log = name, folder / f"{name}.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                list(command),
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        """Whether the program runs."""
        return self._process.poll() is None

    def check(self) -> None:
        """Raise RunFailed if the program ended by itself."""
        if not self.alive:
            raise RunFailed(
                f"{self.name} ended with exit code {self._process.returncode}: {self.last_words()}; its log: {self.log}"
            )

    def last_words(self) -> str:
        """Return the end of its log."""
        return self.log.read_text(errors="replace")[-_LAST_WORDS:].strip() or "empty log"

    def kill(self) -> None:
        """Send SIGKILL to the program and its children, with the effect of a power failure."""
        if self.alive:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
