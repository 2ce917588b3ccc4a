"""Hash tables from string keys to rows, in three arrays that processes can map from disk, and to ids, in memory.

The tables compare hashes only. The caller must verify each result by reading its row or work, so a collision costs time but
never gives a wrong result.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reflink.storage.spilling import WAITING, SpilledPairs

#: Dtype and number of dimensions of the arrays of a table in a folder of flat files.
ARRAYS: Final = {"starts": (np.uint32, 1), "hashes": (np.uint16, 1), "rows": (np.uint32, 1)}
#: The same of a wide table.
WIDE_ARRAYS: Final = {**ARRAYS, "hashes": (np.uint32, 1)}

#: Pairs of which the positions are compared at once.
_CHUNK: Final = 1 << 22


def key_hash(key: str) -> int:
    """Return the 8-byte BLAKE2b hash of the UTF-8 key as a little-endian integer; stable across machines and versions."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little")


class HashTable:
    """A table of (key, row) pairs in buckets by the leading bits of the keys' hashes.

    ``starts``: uint32 [2 ** bits + 1], the positions at which buckets begin. ``hashes``: uint16 [m], or uint32 in a wide table,
    the next bits of the hashes, ascending in each bucket. ``rows``: uint32 [m], ascending among equal hashes. A bucket has 8 to
    16 pairs on average, so an absent key has candidates in one of 4,000 lookups, and in one of 200 million in a wide table.
    """

    def __init__(self, starts: NDArray[np.uint32], hashes: NDArray[Any], rows: NDArray[np.uint32]) -> None:
        self.starts, self.hashes, self.rows = starts, hashes, rows
        # Memory views yield Python integers; numpy scalars would cost more than the search.
        self._starts, self._hashes, self._rows = starts.data, hashes.data, rows.data
        self._width = 8 * hashes.itemsize
        self._unused = 64 - ((len(starts) - 1).bit_length() - 1) - self._width

    def candidates(self, key: str) -> list[int]:
        """Return the rows of all keys with the hash of ``key``."""
        return list(self.rows_of(key))

    def rows_of(self, key: str) -> Iterator[int]:
        """Yield the rows of all keys with the hash of ``key``, ascending and distinct; the caller may stop early."""
        bucket, wanted = divmod(key_hash(key) >> self._unused, 1 << self._width)
        hashes, rows, end = self._hashes, self._rows, self._starts[bucket + 1]
        before = None
        for position in range(bisect_left(hashes, wanted, self._starts[bucket], end), end):
            if hashes[position] != wanted:
                return
            if (row := rows[position]) != before:
                before = row
                yield row

    def shared(self) -> Iterator[list[int]]:
        """Yield the distinct rows, ascending, of each hash that belongs to more than one row."""
        first = end = -1
        for position in self._repeated():
            if position != end:
                yield from self._distinct(first, end)
                first = position - 1
            end = position + 1
        yield from self._distinct(first, end)

    def _repeated(self) -> Iterator[int]:
        """Yield the positions whose hash and bucket are those of the position before, ascending."""
        for start in range(1, len(self.hashes), _CHUNK):
            end = min(start + _CHUNK, len(self.hashes))
            positions = start + np.flatnonzero(self.hashes[start:end] == self.hashes[start - 1 : end - 1])
            at = np.searchsorted(self.starts, positions.astype(np.uint32))  # the last start is behind all positions
            yield from positions[self.starts[at] != positions].tolist()

    def _distinct(self, start: int, end: int) -> Iterator[list[int]]:
        rows = sorted({*self._rows[start:end]}) if end >= 0 else []
        if len(rows) > 1:
            yield rows

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save as flat files; ``ARRAYS`` or ``WIDE_ARRAYS`` describes them."""
        return {"starts": self.starts, "hashes": self.hashes, "rows": self.rows}


class HashTableBuilder:
    """Collect (key, row) pairs, and sort them by hash.

    ``wide``: whether to build a wide table, for a user that counts candidates or does not verify them. ``folder``: where pairs
    wait in a temporary file, 12 bytes each, except for the last ``waiting``. Without a folder all wait in memory.
    """

    def __init__(self, *, wide: bool = False, folder: Path | None = None, waiting: int = WAITING) -> None:
        self._wide, self._pairs = wide, SpilledPairs(folder, waiting)

    def add(self, key: str, row: int) -> None:
        """Add ``key`` for ``row``. Raises OSError."""
        self._pairs.add(key_hash(key), row)

    def build(self, without: NDArray[np.uint32] | None = None) -> HashTable:
        """Return the table of all added pairs. With a folder its arrays are in temporary files there.

        ``without``: rows to leave out, ascending; the rows behind each move down. Raises OSError.
        """
        pairs, dtype = self._pairs, np.dtype(np.uint32 if self._wide else np.uint16)
        bits, width = max(0, len(pairs).bit_length() - 4), 8 * dtype.itemsize
        starts = np.zeros((1 << bits) + 1, np.uint32)
        hashes, rows = pairs.array(dtype), pairs.array(np.dtype(np.uint32))
        end = 0
        for each, those in pairs.by_hash():
            if without is not None:
                kept = ~np.isin(those, without)
                each, those = each[kept], those[kept]
                those = those - np.searchsorted(without, those).astype(np.uint32)
            each >>= np.uint64(64 - bits - width)
            order = np.lexsort((those, each))
            each, begin, end = each[order], end, end + len(each)
            hashes[begin:end], rows[begin:end] = each.astype(dtype), those[order]
            buckets, counts = np.unique(each >> np.uint64(width), return_counts=True)
            starts[buckets.astype(np.int64) + 1] += counts.astype(np.uint32)
        np.cumsum(starts, dtype=np.uint32, out=starts)
        return HashTable(starts, hashes[:end], rows[:end])


class GrowingTable:
    """A mutable table of ids by the hash of a key.

    Most keys have one id, which is stored without a set: a quarter of the memory.
    """

    def __init__(self) -> None:
        self._ids: dict[int, str | set[str]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def candidates(self, key: str) -> Collection[str]:
        """Return the ids of all keys with the hash of ``key``."""
        ids = self._ids.get(key_hash(key), ()) if self._ids else ()
        return (ids,) if isinstance(ids, str) else ids

    def add(self, key: str, id_: str) -> None:
        """Add ``key`` for ``id_``."""
        ids = self._ids.setdefault(hashed := key_hash(key), id_)
        if isinstance(ids, set):
            ids.add(id_)
        elif ids != id_:
            self._ids[hashed] = {ids, id_}

    def discard(self, key: str, id_: str) -> None:
        """Remove ``id_`` from the hash of ``key``, and so its other keys with this hash too."""
        ids = self._ids.get(hashed := key_hash(key))
        if isinstance(ids, set):
            ids.discard(id_)
            if not ids:
                del self._ids[hashed]
        elif ids == id_:
            del self._ids[hashed]
