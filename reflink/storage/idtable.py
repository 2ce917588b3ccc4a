"""A sorted table of work ids in flat arrays, without a Python string per id; searchable, mergeable and memory-mappable.

The row of an id is its rank, so comparing rows orders equal scores by id. The order is that of the UTF-8 bytes, which is the
order of Python strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled

Rows = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

#: A row that does not exist.
ABSENT: Final = -1


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array read-only and return it: safe to share, and one numba type for arrays in memory and mapped arrays."""
    array.flags.writeable = False
    return array


def pack(texts: Iterable[str]) -> tuple[Bytes, Rows]:
    """Return the concatenated UTF-8 bytes of the texts and their offsets: text i is ``bytes[offsets[i]:offsets[i + 1]]``."""
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=offsets[1:])
    return frozen(np.frombuffer(b"".join(parts), np.uint8)), frozen(offsets)


@dataclass(frozen=True, eq=False)
class IdTable:
    """Distinct ids in ascending order. ``blob``: uint8, their concatenated bytes; ``offsets``: int64 [n + 1]."""

    blob: Bytes
    offsets: Rows

    @classmethod
    def build(cls, ids: Sequence[str]) -> tuple[Self, Rows]:
        """Return the table of ``ids`` (distinct, any order), and for each row the position of its id in ``ids``."""
        order = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
        return cls(*pack(ids[position] for position in order.tolist())), order

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str:
        data = self.blob[self.offsets[row] : self.offsets[row + 1]].tobytes()
        return data.decode("utf-8", "surrogatepass")

    def decode(self, rows: Iterable[int]) -> list[str]:
        """Return the ids of these rows."""
        return [self[row] for row in rows]

    def find(self, ids: Sequence[str]) -> Rows:
        """Return the row of each id, int64 [n]; ABSENT for an id that is not in the table."""
        if not len(self):
            return np.full(len(ids), ABSENT, np.int64)
        return _find(self.blob, self.offsets, *pack(ids))  # type: ignore[no-any-return]

    def merge(self, keep: npt.NDArray[np.bool_], other: IdTable, other_keep: npt.NDArray[np.bool_]) -> Merged:
        """Merge the kept rows of two tables, which must have no id in common; also return the new row of each old row.

        The new row of a row that is not kept is ABSENT.
        """
        first, second, blob, offsets = _merge(
            self.blob, self.offsets, keep, other.blob, other.offsets, other_keep
        )  # fmt: skip
        return Merged(IdTable(frozen(blob), frozen(offsets)), frozen(first), frozen(second))


@dataclass(frozen=True, eq=False)
class Merged:
    """Result of IdTable.merge: ``first[row]`` and ``second[row]`` are the new rows of the two tables' old rows."""

    table: IdTable
    first: Rows
    second: Rows


@compiled(nogil=True)
def _compare(a: Bytes, i: int, i_end: int, b: Bytes, j: int, j_end: int) -> int:
    """Return a negative number, zero or a positive number if ``a[i:i_end]`` is before, equal to or after ``b[j:j_end]``."""
    length = min(i_end - i, j_end - j)
    for step in range(length):
        difference = np.int64(a[i + step]) - np.int64(b[j + step])
        if difference != 0:
            return int(difference)
    return (i_end - i) - (j_end - j)


@compiled(nogil=True)
def _find(blob: Bytes, offsets: Rows, wanted: Bytes, wanted_offsets: Rows) -> Rows:
    found = np.full(len(wanted_offsets) - 1, ABSENT, np.int64)
    for query in range(len(found)):
        start, end = wanted_offsets[query], wanted_offsets[query + 1]
        low, high = 0, len(offsets) - 1
        while low < high:
            middle = (low + high) // 2
            order = _compare(blob, offsets[middle], offsets[middle + 1], wanted, start, end)
            if order == 0:
                found[query] = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
    return found


@compiled(nogil=True)
def _merge(
    a: Bytes, a_offsets: Rows, a_keep: npt.NDArray[np.bool_], b: Bytes, b_offsets: Rows, b_keep: npt.NDArray[np.bool_]
) -> tuple[Rows, Rows, Bytes, Rows]:
    a_size, b_size = len(a_offsets) - 1, len(b_offsets) - 1
    first, second = np.full(a_size, ABSENT, np.int64), np.full(b_size, ABSENT, np.int64)
    size, length = 0, 0
    for row in range(a_size):
        if a_keep[row]:
            size += 1
            length += a_offsets[row + 1] - a_offsets[row]
    for row in range(b_size):
        if b_keep[row]:
            size += 1
            length += b_offsets[row + 1] - b_offsets[row]
    blob, offsets = np.empty(length, np.uint8), np.zeros(size + 1, np.int64)
    i, j, new = 0, 0, 0
    while i < a_size or j < b_size:
        if i < a_size and not a_keep[i]:
            i += 1
            continue
        if j < b_size and not b_keep[j]:
            j += 1
            continue
        from_a = j == b_size or (
            i < a_size and _compare(a, a_offsets[i], a_offsets[i + 1], b, b_offsets[j], b_offsets[j + 1]) < 0
        )
        begin = offsets[new]
        if from_a:
            end = begin + a_offsets[i + 1] - a_offsets[i]
            blob[begin:end] = a[a_offsets[i] : a_offsets[i + 1]]
            first[i] = new
            i += 1
        else:
            end = begin + b_offsets[j + 1] - b_offsets[j]
            blob[begin:end] = b[b_offsets[j] : b_offsets[j + 1]]
            second[j] = new
            j += 1
        offsets[new + 1] = end
        new += 1
    return first, second, blob, offsets
