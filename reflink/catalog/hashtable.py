"""Rows by the hash of a string key: two sorted arrays that can be mapped from disk and shared by processes; ids in memory.

A hash only proposes rows. Whoever asks verifies them by reading the row: collisions cost time, never a wrong answer.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: The arrays of a table in a folder of flat files.
ARRAYS: Final = {"hashes": (np.uint64, 1), "rows": (np.uint32, 1)}


def key_hash(key: str) -> int:
    """The first 8 bytes of BLAKE2b of the UTF-8 key, little-endian; stable across machines and versions."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little")


class HashTable:
    """``hashes`` uint64 [m] ascending, ``rows`` uint32 [m]: ascending among equal hashes."""

    def __init__(self, hashes: NDArray[np.uint64], rows: NDArray[np.uint32]) -> None:
        self.hashes, self.rows = hashes, rows
        # Python integers at once: numpy's scalars cost more than the search.
        self._hashes, self._rows = hashes.data, rows.data

    def candidates(self, key: str) -> list[int]:
        """The rows that have a key with this key's hash."""
        return list(self.rows_of(key))

    def rows_of(self, key: str) -> Iterator[int]:
        """The same one by one, ascending: stopping early saves the rest."""
        wanted, hashes, rows = key_hash(key), self._hashes, self._rows
        before = None
        for position in range(bisect_left(hashes, wanted), len(hashes)):
            if hashes[position] != wanted:
                return
            if (row := rows[position]) != before:
                before = row
                yield row

    def shared(self) -> list[list[int]]:
        """The rows of each hash that more than one row has."""
        equal = (self.hashes[1:] == self.hashes[:-1]) & (self.rows[1:] != self.rows[:-1])
        groups: dict[int, list[int]] = {}
        for position in np.flatnonzero(equal).tolist():
            group = groups.setdefault(int(self.hashes[position]), [int(self.rows[position])])
            group.append(int(self.rows[position + 1]))
        return list(groups.values())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What to save as flat files, to be read as ``ARRAYS`` says."""
        return {"hashes": self.hashes, "rows": self.rows}


class HashTableBuilder:
    """Collects (key, row) pairs in 12 bytes each and sorts them once."""

    def __init__(self) -> None:
        self._hashes, self._rows = array("Q"), array("I")

    def add(self, key: str, row: int) -> None:
        """``row`` has ``key``."""
        self._hashes.append(key_hash(key))
        self._rows.append(row)

    def build(self) -> HashTable:
        """The table of everything added."""
        hashes = np.array(self._hashes, dtype=np.uint64)
        rows = np.array(self._rows, dtype=np.uint32)
        order = np.lexsort((rows, hashes))
        return HashTable(hashes[order], rows[order])


class GrowingTable:
    """Ids by the hash of a key, changeable. Most keys have one id, which needs no set: a quarter of the memory."""

    def __init__(self) -> None:
        self._ids: dict[int, str | set[str]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def candidates(self, key: str) -> Collection[str]:
        """The ids that have a key with this key's hash."""
        ids = self._ids.get(key_hash(key), ()) if self._ids else ()
        return (ids,) if isinstance(ids, str) else ids

    def add(self, key: str, id_: str) -> None:
        """``id_`` has ``key``."""
        ids = self._ids.setdefault(hashed := key_hash(key), id_)
        if isinstance(ids, set):
            ids.add(id_)
        elif ids != id_:
            self._ids[hashed] = {ids, id_}

    def discard(self, key: str, id_: str) -> None:
        """``id_`` has no key with the hash of ``key`` any more."""
        ids = self._ids.get(hashed := key_hash(key))
        if isinstance(ids, set):
            ids.discard(id_)
            if not ids:
                del self._ids[hashed]
        elif ids == id_:
            del self._ids[hashed]
