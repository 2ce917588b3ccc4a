"""(hash, row) pairs that wait in a temporary file, and are read again in ranges of hashes that fit in memory."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

#: Pairs that wait in memory. With a folder, a full buffer is written to the file at once.
WAITING: Final = 1 << 20
#: Leading bits of a hash that give its range: a range of a billion pairs has 4 million.
_RANGE: Final = 8
_PAIR: Final = np.dtype([("hash", np.uint64), ("row", np.uint32)])


class SpilledPairs:
    """A collection of (hash, row) pairs: hashes of 64 bits, rows of 32 bits.

    With a ``folder`` only ``waiting`` pairs are in memory, 12 bytes each, and 256 numbers for each time they are written.
    """

    def __init__(self, folder: Path | None, waiting: int = WAITING) -> None:
        self._folder, self._waiting, self._file = folder, waiting, None if folder is None else _temporary(folder)
        self._hashes, self._rows = array("Q"), array("I")
        self._size = 0
        self._bounds: list[NDArray[np.int64]] = []  # of each spilled part: where its ranges begin in the file, and its end

    def __len__(self) -> int:
        return self._size

    def add(self, hashed: int, row: int) -> None:
        """Add a pair. Raises OSError."""
        self._hashes.append(hashed)
        self._rows.append(row)
        self._size += 1
        if self._file is not None and len(self._rows) >= self._waiting:
            self._spill(self._file)

    def by_hash(self) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint32]]]:
        """Yield all pairs range by range, in ascending order of the ranges and any order within; the caller may change them."""
        hashes, rows = np.array(self._hashes, np.uint64), np.array(self._rows, np.uint32)
        if self._file is None or not self._bounds:
            yield hashes, rows
            return
        ranges = hashes >> np.uint64(64 - _RANGE)
        for number in range(1 << _RANGE):
            parts = [self._read(self._file, *bounds[number : number + 2].tolist()) for bounds in self._bounds]
            pairs, rest = np.concatenate(parts), ranges == number
            yield np.concatenate([pairs["hash"], hashes[rest]]), np.concatenate([pairs["row"], rows[rest]])

    def array(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array with an element for each pair, in a temporary file if pairs were spilled. Raises OSError."""
        if self._folder is None or not self._bounds:
            return np.empty(self._size, dtype)
        with _temporary(self._folder) as file:
            file.truncate(self._size * dtype.itemsize)
            return np.memmap(file, dtype, "r+", shape=(self._size,)).view(np.ndarray)

    def _spill(self, file: IO[bytes]) -> None:
        pairs = np.empty(len(self._rows), _PAIR)
        pairs["hash"], pairs["row"] = self._hashes, self._rows
        ranges = (pairs["hash"] >> np.uint64(64 - _RANGE)).astype(np.uint8)
        begin = file.seek(0, 2) // _PAIR.itemsize
        file.write(pairs[np.argsort(ranges, kind="stable")].data)
        counts = np.bincount(ranges, minlength=1 << _RANGE)
        self._bounds.append(begin + np.concatenate([[0], np.cumsum(counts)]))
        del self._hashes[:], self._rows[:]

    def _read(self, file: IO[bytes], begin: int, end: int) -> NDArray[Any]:
        file.seek(begin * _PAIR.itemsize)
        return np.frombuffer(file.read((end - begin) * _PAIR.itemsize), _PAIR)


def _temporary(folder: Path) -> IO[bytes]:
    """Return a file without a name, which vanishes with its last user."""
    folder.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=folder)
