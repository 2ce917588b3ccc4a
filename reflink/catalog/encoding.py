"""Encode the texts of many works resumably and without repetition, since encoding takes nearly all the time of a build."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reflink.catalog import snapshot
from reflink.catalog.mapped import MappedWorks
from reflink.catalog.parts import TEXTS, VECTORS, WORKS
from reflink.encoders import NamedEncoder
from reflink.errors import SnapshotError
from reflink.storage import durable, flatfiles
from reflink.storage.hashtable import ARRAYS, HashTable
from reflink.text import Mode, work_text

#: Texts per chunk. A killed build loses at most one chunk, some seconds of two CPU cores.
CHUNK: Final = 2048


class ReusingEncoder:
    """An encoder that takes the vectors of known texts from a snapshot, for builds and for workers that follow a catalog."""

    def __init__(self, encoder: NamedEncoder, folder: Path, mode: Mode) -> None:
        """Map the snapshot. Raises SnapshotError if it is damaged, or of another model, precision, mode or separator."""
        from reflink.semantic import VectorIndex

        manifest = snapshot.verify(folder, (WORKS, VECTORS, TEXTS))
        if manifest.vectors is None:
            raise SnapshotError(f"{folder}: has no vectors")
        manifest.check_model(encoder.name, mode, encoder.precision, encoder.separator)
        _, arrays = flatfiles.load(folder / TEXTS, TEXTS, ARRAYS)
        self.name, self.precision, self.dim = encoder.name, encoder.precision, encoder.dim
        self.separator = encoder.separator
        self._encoder = encoder
        self._mode: Mode = mode
        self._texts = HashTable(**arrays)
        self._works = MappedWorks.open(folder / WORKS)
        self._vectors = VectorIndex.open(folder / VECTORS)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return L2-normalised vectors, float32 [n, dim]; vectors of the snapshot have the precision of fp16."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        known = {position: work_id for position, text in enumerate(texts) if (work_id := self._work_with(text))}
        vectors[list(known)] = self._vectors.vectors(list(known.values()))
        if missing := [position for position in range(len(texts)) if position not in known]:
            vectors[missing] = self._encoder.encode([texts[position] for position in missing])
        return vectors

    def _work_with(self, text: str) -> str | None:
        """Return the id of a work of the snapshot with this text."""
        for row in self._texts.candidates(text):
            work = self._works.work(row)
            known = work.id in self._vectors
            if known and work_text(work, self._mode, lexical=False, separator=self.separator) == text:
                return work.id
        return None


def encode_chunks(
    works: MappedWorks,
    encoder: NamedEncoder,
    mode: Mode,
    folder: Path,
    *,
    progress: Callable[[int], object] = lambda _: None,
) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
    """Yield ids and vectors [m, dim] of the works in chunks, in order of rows. ``progress`` receives the number of works done.

    Each chunk is encoded by ``encode_once``.
    """
    for start in range(0, len(works), CHUNK):
        members = [works.work(row) for row in range(start, min(start + CHUNK, len(works)))]
        texts = [work_text(work, mode, lexical=False, separator=encoder.separator) for work in members]
        yield [work.id for work in members], encode_once(texts, encoder, mode, folder)
        progress(start + len(members))


def encode_once(texts: Sequence[str], encoder: NamedEncoder, mode: Mode, folder: Path) -> NDArray[np.float32]:
    """Return the vectors of the texts, float32 [n, dim]: from a file in ``folder``, or encoded and saved there.

    The name of the file is derived from model, precision, mode and texts, so a later call with the same texts reads it, for
    example after a kill. Raises OSError.
    """
    path = folder / chunk_name(encoder.name, encoder.precision, mode, texts)
    try:
        known: NDArray[np.float32] = np.load(path, allow_pickle=False)
        if known.shape == (len(texts), encoder.dim) and known.dtype == np.float32:
            return known
    except (OSError, ValueError, EOFError):  # missing or damaged
        pass
    vectors = encoder.encode(texts)
    folder.mkdir(parents=True, exist_ok=True)
    with durable.replacing(path, path.with_suffix(f".{os.getpid()}")) as file:
        np.save(file, vectors, allow_pickle=False)  # float32, so that only the index rounds
    return vectors


def chunk_name(model: str, precision: str, mode: Mode, texts: Sequence[str]) -> str:
    """Return the file name of a chunk. NUL can separate the texts, since normalised texts contain none."""
    content = "\0".join((model, precision, mode, *texts))
    return f"{blake2b(content.encode(), digest_size=16).hexdigest()}.npy"
