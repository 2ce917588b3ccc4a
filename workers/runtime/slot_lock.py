"""Lock of a slot (the instance id of a worker), so that only one process uses it at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from workers.errors import SlotTaken, StoreFailed


class Slot:
    """Holds a lock file while the worker runs. The system releases the lock when the process ends, however it ends."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.lock"
        self._file: IO[str] | None = None

    def __enter__(self) -> Slot:
        """Take the lock. Raises SlotTaken, or StoreFailed if the folder is not writable."""
        try:
            return self._take()
        except OSError as error:
            raise StoreFailed(
                f"{self.path}: {error.strerror or error}: the worker needs a folder it can write to: free space, or set "
                "REFLINK_STATE_DIR"
            ) from None

    def _take(self) -> Slot:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read().strip() or "unknown"
            self._file.close()
            raise SlotTaken(
                f"{self.path} is held by process {holder}: give this worker another REFLINK_SLOT, or stop the other one"
            ) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
