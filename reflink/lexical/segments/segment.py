"""An immutable segment of a lexical index: its ids and its layout. The mask of its living rows is kept outside (``parts``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.errors import UnusableSnapshot
from reflink.lexical import layout
from reflink.lexical.layout import BLOCK, LIST_BLOCK, WORDS, Codes, Ints, Layout, Mask, Ranks
from reflink.lexical.trigrams import TRIGRAMS, trigram_sets
from reflink.storage.idtable import ABSENT, IdTable, frozen

#: The arrays of a saved segment: dtype and number of dimensions.
ARRAYS: Final[dict[str, tuple[Any, int]]] = {
    "ids": (np.uint8, 1),
    "id_offsets": (np.int64, 1),
    "ranks": (np.uint32, 1),
    "sizes": (np.uint16, 1),
    "offsets": (np.int64, 1),
    "codes": (np.uint16, 1),
    "frequencies": (np.uint32, 1),
    "bitmap_of": (np.int32, 1),
    "shares": (np.float32, 1),
    "bits": (np.uint64, 1),
    "starts": (np.uint32, 1),
    "postings": (np.uint16, 1),
}


@dataclass(frozen=True, eq=False)
class Segment:
    """The texts of ``ids`` in the rows of ``layout``. ``ranks`` uint32 [n]: position in ``ids`` of each row's id."""

    ids: IdTable
    layout: Layout
    ranks: Ranks

    def __len__(self) -> int:
        return len(self.ranks)

    @classmethod
    def build(cls, ids: Sequence[str], texts: Sequence[str]) -> Self:
        """Build a segment from distinct ids and their normalised texts. Raises ValueError if a text is not normalised."""
        table, order = IdTable.build(ids)
        return cls(table, *layout.build(*trigram_sets([texts[at] for at in order.tolist()])))

    @cached_property
    def rows(self) -> Ranks:
        """The row of each id in ``ids``: uint32 [n]."""
        rows = np.empty(len(self), np.uint32)
        rows[self.ranks] = np.arange(len(self), dtype=np.uint32)
        return frozen(rows)

    @cached_property
    def blocks(self) -> Ints:
        """``layout.extents``: a search reads these few lines instead of one line of ``sizes`` per block."""
        return frozen(layout.extents(self.layout.sizes))

    def find(self, ids: Sequence[str]) -> Ints:
        """Return the row of each id, ABSENT if there is none: int64 [n]."""
        found = self.ids.find(ids)
        here = found != ABSENT
        found[here] = self.rows[found[here]]
        return found

    def merge(self, alive: Mask, other: Segment, other_alive: Mask) -> Segment:
        """Return one segment of the living rows of both; no id is alive in both."""
        merged = self.ids.merge(frozen(alive[self.rows]), other.ids, frozen(other_alive[other.rows]))
        sizes = np.empty(len(merged.table), np.int64)
        for part, new in ((self, merged.first), (other, merged.second)):
            kept = new != ABSENT
            sizes[new[kept]] = part.layout.sizes[part.rows[kept]]
        offsets = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        codes = np.empty(offsets[-1], np.uint16)
        for part, new in ((self, merged.first), (other, merged.second)):
            _move(part.layout.codes, part.layout.offsets, part.rows, new, codes, offsets)
        return Segment(merged.table, *layout.build(frozen(codes), frozen(offsets)))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to save, by name."""
        values = (self.ids.blob, self.ids.offsets, self.ranks, *self.layout)
        return dict(zip(ARRAYS, values, strict=True))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], where: object) -> Self:
        """Create a segment from saved arrays. Raises UnusableSnapshot if they are inconsistent; ``where`` names them there."""
        blob, id_offsets, ranks, *rest = (frozen(arrays[name]) for name in ARRAYS)
        segment = cls(IdTable(blob, id_offsets), Layout(*rest), ranks)
        if not segment._fits():
            raise UnusableSnapshot(f"{where}: its arrays are inconsistent; copy it again or save it again")
        return segment

    def _fits(self) -> bool:
        # The kernels do not check indices, so every index that they follow must be in bounds, even in a damaged file. Values
        # of ``codes`` and ``postings`` are not checked, which would read the whole file: the kernels accept any value.
        own, rows = self.layout, len(self)
        lists, blocks = -(-rows // LIST_BLOCK), -(-rows // BLOCK)
        bitmaps = len(own.shares)
        return (
            len(self.ids.offsets) == rows + 1
            and _ascend(self.ids.offsets, len(self.ids.blob))
            and bool((self.ids.offsets[1:] > self.ids.offsets[:-1]).all())
            and len(own.sizes) == rows
            and len(own.offsets) == rows + 1
            and _ascend(own.offsets, len(own.codes))
            and np.array_equal(np.diff(own.offsets), own.sizes)
            and bool((own.sizes[1:] >= own.sizes[:-1]).all())
            and len(own.frequencies) == len(own.bitmap_of) == TRIGRAMS
            and len(own.bits) == (blocks * (bitmaps + 1) * WORDS if bitmaps else 0)
            and bool(((own.bitmap_of >= -1) & (own.bitmap_of < bitmaps)).all())
            and len(own.starts) == TRIGRAMS * lists + 1
            and _ascend(own.starts, len(own.postings))
            and (rows == 0 or int(self.ranks.max()) < rows)
        )


def _ascend(offsets: npt.NDArray[Any], end: int) -> bool:
    return offsets[0] == 0 and offsets[-1] == end and bool((offsets[1:] >= offsets[:-1]).all())


@compiled(nogil=True)
def _move(codes: Codes, offsets: Ints, rows: Ranks, new: Ints, new_codes: Codes, new_offsets: Ints) -> None:
    """Copy the trigrams of each id that is kept to its new position."""
    for rank in range(len(new)):
        if new[rank] >= 0:
            begin, end = offsets[rows[rank]], offsets[rows[rank] + 1]
            first = new_offsets[new[rank]]
            for at in range(end - begin):
                new_codes[first + at] = codes[begin + at]
