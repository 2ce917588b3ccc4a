"""Hash tables from string keys to rows, in two sorted arrays that processes can map from disk, and to ids, in memory.

The tables compare hashes only. The caller must verify each result by reading its row or work, so a collision costs time but
never gives a wrong result.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: Dtype and number of dimensions of the arrays of a table in a folder of flat files.
ARRAYS: Final = {"hashes": (np.uint64, 1), "rows": (np.uint32, 1)}


def key_hash(key: str) -> int:
    """Return the 8-byte BLAKE2b hash of the UTF-8 key as a little-endian integer; stable across machines and versions."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little")


class HashTable:
    """A table in two arrays: ``hashes`` uint64 [m], ascending, and ``rows`` uint32 [m], ascending among equal hashes."""

    def __init__(self, hashes: NDArray[np.uint64], rows: NDArray[np.uint32]) -> None:
        self.hashes, self.rows = hashes, rows
        # Memory views yield Python integers; numpy scalars would cost more than the search.
        self._hashes, self._rows = hashes.data, rows.data

    def candidates(self, key: str) -> list[int]:
        """Return the rows of all keys with the hash of ``key``."""
        return list(self.rows_of(key))

    def rows_of(self, key: str) -> Iterator[int]:
        """Yield the rows of all keys with the hash of ``key``, ascending and distinct; the caller may stop early."""
        wanted, hashes, rows = key_hash(key), self._hashes, self._rows
        before = None
        for position in range(bisect_left(hashes, wanted), len(hashes)):
            if hashes[position] != wanted:
                return
            if (row := rows[position]) != before:
                before = row
                yield row

    def shared(self) -> list[list[int]]:
        """Return the rows of each hash that belongs to more than one row."""
        equal = (self.hashes[1:] == self.hashes[:-1]) & (self.rows[1:] != self.rows[:-1])
        groups: dict[int, list[int]] = {}
        for position in np.flatnonzero(equal).tolist():
            group = groups.setdefault(int(self.hashes[position]), [int(self.rows[position])])
            group.append(int(self.rows[position + 1]))
        return list(groups.values())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save as flat files; ``ARRAYS`` describes them."""
        return {"hashes": self.hashes, "rows": self.rows}


class HashTableBuilder:
    """Collect (key, row) pairs in 12 bytes each, and sort them once."""

    def __init__(self) -> None:
        self._hashes, self._rows = array("Q"), array("I")

    def add(self, key: str, row: int) -> None:
        """Add ``key`` for ``row``."""
        self._hashes.append(key_hash(key))
        self._rows.append(row)

    def build(self) -> HashTable:
        """Return the table of all added pairs."""
        hashes = np.array(self._hashes, dtype=np.uint64)
        rows = np.array(self._rows, dtype=np.uint32)
        order = np.lexsort((rows, hashes))
        return HashTable(hashes[order], rows[order])


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
