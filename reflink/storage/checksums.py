"""Compute checksums of several files in parallel threads: reading and hashing release the interpreter lock."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

#: More threads would only wait for the disk.
_THREADS: Final = min(8, os.cpu_count() or 1)

T = TypeVar("T")


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_all(paths: Iterable[Path], checksum: Callable[[Path], T]) -> dict[Path, T]:
    """Return ``checksum`` of each file, computed in threads, largest file first. Propagates exceptions of ``checksum``."""
    ordered = sorted(paths, key=lambda path: path.stat().st_size, reverse=True)
    with ThreadPoolExecutor(_THREADS, "checksum") as threads:
        return dict(zip(ordered, threads.map(checksum, ordered), strict=True))
