"""Vectors of many works' texts, resumable and never computed twice: they are nearly all the time a build takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reflink import flatfiles
from reflink.catalog import snapshot
from reflink.catalog.catalog import TEXTS, VECTORS, WORKS
from reflink.catalog.hashtable import ARRAYS, HashTable
from reflink.catalog.mapped import MappedWorks
from reflink.encoders import NamedEncoder
from reflink.errors import SnapshotError
from reflink.text import Mode, work_text

#: Texts per chunk: what a killed build loses at most, some seconds of two CPU cores.
CHUNK: Final = 2048


class VectorCache:
    """The vectors of a snapshot by their text."""

    def __init__(self, folder: Path, encoder: NamedEncoder, mode: Mode) -> None:
        """Maps a snapshot. Raises SnapshotError when it is damaged, or of another model, precision, mode or separator."""
        from reflink.semantic import VectorIndex

        manifest = snapshot.verify(folder, (WORKS, VECTORS, TEXTS))
        if manifest.vectors is None:
            raise SnapshotError(f"{folder}: has no vectors")
        manifest.check_model(encoder.name, mode, encoder.precision, encoder.separator)
        _, arrays = flatfiles.load(folder / TEXTS, TEXTS, ARRAYS)
        self._mode: Mode = mode
        self._separator = encoder.separator
        self._texts = HashTable(arrays["hashes"], arrays["rows"])
        self._works = MappedWorks.open(folder / WORKS)
        self._vectors = VectorIndex.open(folder / VECTORS)

    def get(self, texts: Sequence[str]) -> tuple[list[int], NDArray[np.float32]]:
        """Positions in ``texts`` of those known [m], and their vectors [m, dim]."""
        known = [(position, work_id) for position, text in enumerate(texts) if (work_id := self._bearer(text))]
        return [position for position, _ in known], self._vectors.vectors([work_id for _, work_id in known])

    def _bearer(self, text: str) -> str | None:
        for row in self._texts.candidates(text):
            work = self._works.work(row)
            known = work.id in self._vectors
            if known and work_text(work, self._mode, lexical=False, separator=self._separator) == text:
                return work.id
        return None


class CachedEncoder:
    """An encoder that asks a cache first. For builds, and for workers that follow a catalog."""

    def __init__(self, encoder: NamedEncoder, cache: VectorCache) -> None:
        self.name, self.precision, self.dim = encoder.name, encoder.precision, encoder.dim
        self.separator = encoder.separator
        self._encoder, self._cache = encoder, cache

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised [n, dim]; what comes from the cache is as exact as fp16."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        known, vectors[known] = self._cache.get(texts)
        if missing := sorted(set(range(len(texts))) - set(known)):
            vectors[missing] = self._encoder.encode([texts[position] for position in missing])
        return vectors


def encode_chunks(
    works: MappedWorks,
    encoder: NamedEncoder,
    mode: Mode,
    folder: Path,
    *,
    progress: Callable[[int], object] = lambda _: None,
) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
    """Ids and vectors [m, dim] of the works, chunk by chunk, by row; ``progress`` is told how many works are done.

    Every chunk is kept in ``folder`` under a name made of model, precision, mode and texts: whoever asks for the same
    again, after a kill for example, is given the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, len(works), CHUNK):
        members = [works.work(row) for row in range(start, min(start + CHUNK, len(works)))]
        texts = [work_text(work, mode, lexical=False, separator=encoder.separator) for work in members]
        path = folder / chunk_name(encoder.name, encoder.precision, mode, texts)
        vectors = _kept(path, (len(texts), encoder.dim))
        if vectors is None:
            vectors = encoder.encode(texts)
            # Under its own name only once it is on the disk; float32, so that the index alone rounds.
            with (partial := path.with_suffix(f".{os.getpid()}")).open("wb") as file:
                np.save(file, vectors, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            partial.rename(path)
        yield [work.id for work in members], vectors
        progress(start + len(members))


def _kept(path: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    """What a build before this one kept; None when there is nothing, or it is damaged."""
    try:
        vectors: NDArray[np.float32] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return vectors if vectors.shape == shape and vectors.dtype == np.float32 else None


def chunk_name(model: str, precision: str, mode: Mode, texts: Sequence[str]) -> str:
    """The file of a chunk; no text holds a NUL, as normalisation leaves none."""
    content = "\0".join((model, precision, mode, *texts))
    return f"{blake2b(content.encode(), digest_size=16).hexdigest()}.npy"
