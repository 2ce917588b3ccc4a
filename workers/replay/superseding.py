"""The newest record of each key of a compacted topic, as far as a table of fixed size knows it."""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np

#: 17 bytes each.
MOST_SLOTS: Final = 1 << 23
_LEAST_SLOTS: Final = 1 << 10
#: A key is in its own slot or one of those that follow.
_NEAR: Final = 32


class Newest:
    """Offsets by key, in one table for all partitions, since a key is in one partition only.

    Where there are more keys than it has room for, one that comes takes another one's slot, whose older records are then no
    longer known to be superseded. So the end of the topic, which compaction has not reached yet, is known best. A newest
    record is never taken for a superseded one, but for two keys of the same 64-bit hash.
    """

    def __init__(self, records: int, most_slots: int = MOST_SLOTS) -> None:
        """For about so many ``records``: twice as many slots, a power of two, at most ``most_slots``."""
        slots = min(max(_LEAST_SLOTS, 1 << max(0, 2 * records - 1).bit_length()), most_slots)
        self._mask = slots - 1
        self._keys = np.zeros(slots, np.uint64)
        self._offsets = np.full(slots, -1, np.int64)
        self._counted = np.zeros(slots, np.bool_)
        #: Of the records put, how many are counted and not known to be superseded.
        self.counted = 0
        #: How many keys lost their slot to another one.
        self.forgotten = 0

    def put(self, key: bytes | None, offset: int, *, counted: bool) -> None:
        """A record of the topic, in order of the offsets of its partition."""
        hashed = _hash(key)
        slot = self._slot(hashed)
        if slot < 0:
            slot = hashed & self._mask
            self.forgotten += 1
        elif self._offsets[slot] >= 0 and self._counted[slot]:
            self.counted -= 1
        self._keys[slot], self._offsets[slot], self._counted[slot] = hashed, offset, counted
        self.counted += counted

    def superseded(self, key: bytes | None, offset: int) -> bool:
        """Whether a later record of the key is known."""
        slot = self._slot(_hash(key))
        return slot >= 0 and int(self._offsets[slot]) > offset

    def _slot(self, hashed: int) -> int:
        """Where the key is, or the first free slot near its own; -1 where neither is."""
        for step in range(_NEAR):
            slot = (hashed + step) & self._mask
            if self._offsets[slot] < 0 or int(self._keys[slot]) == hashed:
                return slot
        return -1


def _hash(key: bytes | None) -> int:
    return int.from_bytes(hashlib.blake2b(key or b"", digest_size=8).digest(), "little")
