"""Vectors of texts kept on disk between runs: a text is encoded once for a model at a precision, whatever file it is in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reflink.encoders import NamedEncoder

_KEY: Final = 16
_CHUNK: Final = 4096


class CachedEncoder:
    """An encoder that remembers: float16 vectors in one file, blake2b keys of their texts in another, both only appended to.

    ``progress`` is called with the number of texts encoded or found. One writer at a time; what a stopped run left half
    written is cut off.
    """

    def __init__(self, encoder: NamedEncoder, folder: Path, progress: Callable[[int], Any] | None = None) -> None:
        self.encoder, self.progress = encoder, progress
        self.name, self.precision, self.dim = encoder.name, encoder.precision, encoder.dim
        self.separator = encoder.separator
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in f"{self.name}-{self.precision}")
        folder.mkdir(parents=True, exist_ok=True)
        self._keys, self._vectors = folder / f"{plain}.keys", folder / f"{plain}.f16"
        self._load()

    def _load(self) -> None:
        self._keys.touch()
        self._vectors.touch()
        row = 2 * self.dim
        rows = min(self._keys.stat().st_size // _KEY, self._vectors.stat().st_size // row)
        for path, size in ((self._keys, rows * _KEY), (self._vectors, rows * row)):
            if path.stat().st_size != size:
                with path.open("r+b") as file:
                    file.truncate(size)
        keys = self._keys.read_bytes()
        self._rows = {keys[i * _KEY : (i + 1) * _KEY]: i for i in range(rows)}
        self._count = rows

    def __len__(self) -> int:
        return self._count

    def add(self, texts: Sequence[str], vectors: NDArray[Any]) -> None:
        """Keeps vectors [len(texts), dim] made elsewhere by the same model at the same precision."""
        if vectors.shape != (len(texts), self.dim):
            raise ValueError(f"vectors of shape {vectors.shape} for {len(texts)} texts in {self.dim} dimensions")
        keys = [_key(text) for text in texts]
        with self._vectors.open("ab") as file:
            file.write(np.ascontiguousarray(vectors, dtype="<f2").tobytes())
        with self._keys.open("ab") as file:
            file.write(b"".join(keys))
        for key in keys:
            self._rows[key] = self._count
            self._count += 1

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the encoder's, rounded to float16 on the way: L2-normalised [n, dim]."""
        keys = [_key(text) for text in texts]
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


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_KEY).digest()
