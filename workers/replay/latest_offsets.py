"""The newest record of each key of a compacted topic, in a hash table of bounded size.

Invariant: a newest record is never reported as superseded, unless two keys have the same 64-bit hash.

1. A slot holds the hash of a key and the offset of the last record put with this hash.
2. A record is reported as superseded only if a slot with the hash of its key holds a higher offset.
3. All records of a key are in one partition. So that offset is of a later record of the key, or of a key with the same hash.

The opposite error is possible: where the table is too small for all keys, a new key overwrites the slot of another, whose older
records are then not reported. Later keys overwrite earlier ones, so the table is most complete for the end of the topic, where
compaction has not yet removed superseded records.

Cost: 17 bytes a slot, at most 143 MB; at most 32 probes for each record.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np

#: Limits of the number of slots, 17 bytes each.
MAX_SLOTS: Final = 1 << 23
_LEAST_SLOTS: Final = 1 << 10
#: Linear probing: a key is in one of this many slots, starting with the one that its hash selects.
_NEAR: Final = 32


class Newest:
    """The newest offset by key. One table serves all partitions, because each key is in one partition only."""

    def __init__(self, records: int, max_slots: int = MAX_SLOTS) -> None:
        """Allocate at least two slots for each of about ``records`` records: a power of two, at most ``max_slots``."""
        slots = min(max(_LEAST_SLOTS, 1 << max(0, 2 * records - 1).bit_length()), max_slots)
        self._mask = slots - 1
        self._keys = np.zeros(slots, np.uint64)
        self._offsets = np.full(slots, -1, np.int64)
        self._counted = np.zeros(slots, np.bool_)
        #: The number of records put with ``counted`` that are not known to be superseded.
        self.counted = 0
        #: The number of keys whose slot another key has overwritten.
        self.forgotten = 0

    def put(self, key: bytes | None, offset: int, *, counted: bool) -> None:
        """Add a record. The records of a partition must be added in the order of their offsets."""
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
        """Return whether the table holds a later record of the key."""
        slot = self._slot(_hash(key))
        return slot >= 0 and int(self._offsets[slot]) > offset

    def _slot(self, hashed: int) -> int:
        """Return the slot of the key, else the first free slot within the probed ones, else -1."""
        for step in range(_NEAR):
            slot = (hashed + step) & self._mask
            if self._offsets[slot] < 0 or int(self._keys[slot]) == hashed:
                return slot
        return -1


def _hash(key: bytes | None) -> int:
    return int.from_bytes(hashlib.blake2b(key or b"", digest_size=8).digest(), "little")
