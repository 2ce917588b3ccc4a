"""A program in the background: in a session of its own, with a log, and gone for sure at the end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.autoscaling.errors import RunFailed

_LAST_WORDS = 400


class Background:
    """Runs until it is stopped. A session of its own, so that Ctrl-C does not end it before what needs it."""

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
        """Whether it runs."""
        return self._process.poll() is None

    def check(self) -> None:
        """Raises RunFailed when it ended by itself."""
        if not self.alive:
            raise RunFailed(
                f"{self.name} ended with exit code {self._process.returncode}: {self.last_words()}; its log: {self.log}"
            )

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-_LAST_WORDS:].strip() or "it said nothing"

    def kill(self) -> None:
        """SIGKILL for it and its children, as a machine that loses power would."""
        if self.alive:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
