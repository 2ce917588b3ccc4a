"""Lines of text in compressed blocks of a few lines, with access by row; the file is mapped and shared by processes.

Lines of one kind repeat names and phrases, so the blocks share a dictionary, which is trained on the first lines. Reading one
line decompresses its block. Blocks are frames of zstandard: ``zstd -d -D dictionary`` gives the lines again.
"""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, Self

import numpy as np
import zstandard
from numpy.typing import NDArray

from reflink.errors import UnusableSnapshot
from reflink.storage import flatfiles

#: Dtype and number of dimensions of the arrays beside the file.
ARRAYS: Final = {"offsets": (np.int64, 1), "dictionary": (np.uint8, 1)}

#: Lines of a block: more compress better, and a lookup decompresses all of them.
BLOCK: Final = 4
#: The dictionary is trained on this number of lines, or on all if there are fewer.
SAMPLE: Final = 1 << 15
_LEVEL: Final = 5
_MAX_DICTIONARY: Final = 1 << 18
#: Minimum bytes of the sample for each byte of the dictionary, and the smallest dictionary that is worth its size.
_SAMPLED: Final = 40
_MIN_DICTIONARY: Final = 1 << 13
#: Number of cached blocks, so that reading in order decompresses each block once. A block of works has about 1.3 KB.
_REMEMBERED: Final = 64


class CompressedLines:
    """Lines 0…n-1 of a file written by ``LinesWriter``.

    ``offsets``: int64 [blocks + 1], the bytes at which blocks begin; ``dictionary``: uint8, empty if there is none.
    """

    def __init__(self, data: bytes | mmap.mmap, offsets: NDArray[np.int64], dictionary: NDArray[np.uint8], size: int) -> None:
        self.data, self.offsets, self.dictionary, self._size = data, offsets, dictionary, size
        decoder, lock = zstandard.ZstdDecompressor(dict_data=_dictionary(dictionary)), Lock()
        begins = offsets.data  # yields Python integers, faster than an array

        def block(number: int) -> list[bytes]:
            packed = data[begins[number] : begins[number + 1]]
            try:
                with lock:  # a decompressor serves one thread at a time
                    return decoder.decompress(packed).split(b"\n")
            except zstandard.ZstdError as error:
                raise UnusableSnapshot(f"a block of records is damaged ({error}): copy it again or build it again") from None

        # The cache holds no reference to this object: without a cycle the last reference to it ends the mapping of its file.
        self._block = lru_cache(_REMEMBERED)(block)

    @classmethod
    def open(cls, path: Path, arrays: dict[str, NDArray[Any]], size: int) -> Self:
        """Map the file. ``arrays``: those of ``ARRAYS``. Raises UnusableSnapshot if the file does not fit its offsets."""
        data, offsets = flatfiles.map_bytes(path), arrays["offsets"]
        if len(offsets) != blocks_of(size) + 1 or offsets[-1] != len(data):
            raise UnusableSnapshot(f"{path}: damaged: it has {len(data)} bytes, which its offsets do not fit")
        return cls(data, offsets, arrays["dictionary"], size)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, row: int) -> bytes:
        """Return a line without its line feed. Raises IndexError, and UnusableSnapshot if its block is damaged."""
        if not 0 <= row < self._size:
            raise IndexError(row)
        return self._block(row // BLOCK)[row % BLOCK]

    def forget(self) -> None:
        """Empty the cache of blocks, for measurements."""
        self._block.cache_clear()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save as flat files; ``ARRAYS`` describes them."""
        return {"offsets": self.offsets, "dictionary": self.dictionary}


class LinesWriter:
    """Write a file for ``CompressedLines``; needs 8 bytes of memory per block, and the sample of the dictionary."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # never overwritten, since it may be mapped
        self._file = path.open("wb")
        self._path, self._size, self._offsets = path, 0, array("q", [0])
        self._waiting: list[bytes] = []
        self._dictionary = np.empty(0, np.uint8)
        self._compress: Callable[[bytes], bytes] | None = None

    def __len__(self) -> int:
        return self._size

    def append(self, line: bytes) -> None:
        """Append a line, which must have no line feed. Raises OSError."""
        self._size += 1
        self._waiting.append(line)
        if len(self._waiting) >= (SAMPLE if self._compress is None else BLOCK):
            self._write()

    def close(self) -> None:
        """Close the file as it is."""
        self._file.close()

    def finish(self) -> CompressedLines:
        """Write the rest, close the file and return its lines. Raises OSError."""
        self._write()
        self._file.close()
        offsets = np.frombuffer(self._offsets, np.int64)
        return CompressedLines(flatfiles.map_bytes(self._path), offsets, self._dictionary, self._size)

    def _write(self) -> None:
        compress = self._compress = self._compress or self._trained()
        for start in range(0, len(self._waiting), BLOCK):
            packed = compress(b"".join(line + b"\n" for line in self._waiting[start : start + BLOCK]))
            self._offsets.append(self._offsets[-1] + self._file.write(packed))
        self._waiting.clear()

    def _trained(self) -> Callable[[bytes], bytes]:
        """Train the dictionary on the waiting lines."""
        samples: list[bytes | bytearray | memoryview] = [
            b"\n".join(self._waiting[start : start + BLOCK]) for start in range(0, len(self._waiting), BLOCK)
        ]
        size = min(_MAX_DICTIONARY, sum(map(len, samples)) // _SAMPLED)
        if size >= _MIN_DICTIONARY:
            try:
                trained = zstandard.train_dictionary(size, samples, k=200, d=8)  # these segments compress works best
                self._dictionary = np.frombuffer(trained.as_bytes(), np.uint8)
            except zstandard.ZstdError:  # too little repeats
                pass
        dictionary = _dictionary(self._dictionary)
        return zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary, write_dict_id=False).compress


def blocks_of(size: int) -> int:
    """Return the number of blocks of this number of lines."""
    return -(-size // BLOCK)


def _dictionary(content: NDArray[np.uint8]) -> zstandard.ZstdCompressionDict | None:
    return zstandard.ZstdCompressionDict(content.tobytes()) if len(content) else None
