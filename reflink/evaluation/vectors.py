"""Cache of texts' vectors on disk: each text is encoded once per model and precision, in whatever input file it occurs.

Any number of processes may share a folder. Invariants:

1. Every complete key has a vector: a process adds under an exclusive lock (``.lock``) and writes vectors before their keys.
2. Readers need no lock and never change a file.
3. If a process is killed while it writes, the next process that adds truncates the incomplete data, under the lock.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reflink.encoders import NamedEncoder

_KEY: Final = 16
_CHUNK: Final = 4096


class CachedEncoder:
    """An encoder with a cache: float16 vectors in one file, blake2b keys of their texts in another, both append-only.

    ``progress`` is called with the number of texts encoded or found. Not thread-safe, but safe for several processes.
    """

    def __init__(self, encoder: NamedEncoder, folder: Path, progress: Callable[[int], Any] | None = None) -> None:
        self.encoder, self.progress = encoder, progress
        self.name, self.precision, self.dim = encoder.name, encoder.precision, encoder.dim
        self.separator = encoder.separator
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in f"{self.name}-{self.precision}")
        folder.mkdir(parents=True, exist_ok=True)
        self._keys, self._vectors, self._lock = (folder / f"{plain}.{end}" for end in ("keys", "f16", "lock"))
        self._rows: dict[bytes, int] = {}
        self._count = 0
        self._read()

    def __len__(self) -> int:
        return self._count

    def add(self, texts: Sequence[str], vectors: NDArray[Any]) -> None:
        """Store vectors [len(texts), dim] computed elsewhere by the same model at the same precision; known texts keep theirs.

        Raises ValueError if the shape differs.
        """
        if vectors.shape != (len(texts), self.dim):
            raise ValueError(f"vectors of shape {vectors.shape} for {len(texts)} texts in {self.dim} dimensions")
        first: dict[bytes, int] = {}
        for row, text in enumerate(texts):
            first.setdefault(_key(text), row)
        with self._alone():
            self._read()
            self._repair()
            new = {key: row for key, row in first.items() if key not in self._rows}
            with self._vectors.open("ab") as file:
                file.write(np.ascontiguousarray(vectors[list(new.values())], dtype="<f2").tobytes())
            with self._keys.open("ab") as file:
                file.write(b"".join(new))
            self._read()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the encoder's vectors, rounded to float16 in the cache: L2-normalised float32 [n, dim]."""
        keys = [_key(text) for text in texts]
        self._read()
        new = list(dict.fromkeys(text for text, key in zip(texts, keys, strict=True) if key not in self._rows))
        if self.progress:
            self.progress(len(texts) - len(new))
        for start in range(0, len(new), _CHUNK):
            part = new[start : start + _CHUNK]
            self.add(part, self.encoder.encode(part))
            if self.progress:
                self.progress(len(part))
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        stored = np.memmap(self._vectors, dtype="<f2", mode="r", shape=(self._count, self.dim))
        return np.asarray(stored[[self._rows[key] for key in keys]], dtype=np.float32)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock: no other process adds."""
        with self._lock.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed, however the process ends
            yield

    def _read(self) -> None:
        """Read the keys that any process has added since the last call."""
        rows = min(_size(self._keys) // _KEY, _size(self._vectors) // (2 * self.dim))
        if rows < self._count:  # the files were deleted or damaged
            self._rows, self._count = {}, 0
        if rows == self._count:
            return
        with self._keys.open("rb") as file:
            file.seek(self._count * _KEY)
            keys = file.read((rows - self._count) * _KEY)
        for at in range(0, len(keys), _KEY):
            self._rows.setdefault(keys[at : at + _KEY], self._count + at // _KEY)
        self._count = rows

    def _repair(self) -> None:
        """Truncate incomplete data. The caller holds the lock and has called `_read`."""
        for path, size in ((self._keys, self._count * _KEY), (self._vectors, self._count * 2 * self.dim)):
            if _size(path) > size:
                with path.open("r+b") as file:
                    file.truncate(size)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_KEY).digest()
