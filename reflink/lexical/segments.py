"""One immutable part of a lexical index: its ids, its posting lists, and which of its rows are still alive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from reflink.errors import UnusableSnapshot
from reflink.idtable import IdTable, frozen
from reflink.lexical import kernels
from reflink.lexical.trigrams import TRIGRAMS, letters

#: The arrays of a segment in a folder: dtype and number of dimensions.
ARRAYS: Final[dict[str, tuple[Any, int]]] = {
    "ids": (np.uint8, 1),
    "id_offsets": (np.int64, 1),
    "sizes": (np.uint16, 1),
    "starts": (np.int64, 1),
    "postings": (np.uint32, 1),
}


@dataclass(eq=False)
class Segment:
    """Rows are in ascending order of their ids. All arrays but ``alive`` (bool [n]) are read-only; see kernels for the rest."""

    ids: IdTable
    sizes: kernels.Sizes
    starts: kernels.Rows
    postings: kernels.Postings
    alive: kernels.Mask
    count: int

    @classmethod
    def build(cls, ids: Sequence[str], texts: Sequence[str]) -> Self:
        """From distinct ids and their normalised texts. Raises ValueError when a text is not normalised."""
        table, order = IdTable.build(ids)
        sizes, starts, postings = kernels.build(*letters([texts[at] for at in order.tolist()]), TRIGRAMS)
        return cls._of(table, sizes, starts, postings)

    @classmethod
    def _of(cls, ids: IdTable, sizes: Any, starts: Any, postings: Any) -> Self:
        return cls(ids, frozen(sizes), frozen(starts), frozen(postings), np.ones(len(ids), np.bool_), len(ids))

    def merge(self, other: Segment) -> Segment:
        """The living rows of both; no id is alive in both."""
        merged = self.ids.merge(self.alive, other.ids, other.alive)
        sizes = np.empty(len(merged.table), np.uint16)
        for part, rows in ((self, merged.first), (other, merged.second)):
            sizes[rows[part.alive]] = part.sizes[part.alive]
        starts, postings = kernels.merge(
            self.starts, self.postings, merged.first, other.starts, other.postings, merged.second,
            int(sizes.sum(dtype=np.int64)),
        )  # fmt: skip
        return self._of(merged.table, sizes, starts, postings)

    def compact(self) -> Segment:
        """The same without its dead rows."""
        return self if self.count == len(self.ids) else self.merge(Segment.build([], []))

    def remove(self, ids: Sequence[str]) -> None:
        """Marks the rows of these ids dead; ids that are not here are passed over."""
        rows = self.ids.find(ids)
        self.alive[rows[rows >= 0]] = False
        self.count = int(np.count_nonzero(self.alive))

    def alive_ids(self, ids: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which of the ids live here: bool [n]."""
        rows = self.ids.find(ids)
        here = rows >= 0
        here[here] = self.alive[rows[here]]
        return here

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What to save; the segment must be compact."""
        values = (self.ids.blob, self.ids.offsets, self.sizes, self.starts, self.postings)
        return dict(zip(ARRAYS, values, strict=True))

    @classmethod
    def of_arrays(cls, arrays: dict[str, npt.NDArray[Any]], where: object) -> Self:
        """From saved arrays. Raises UnusableSnapshot when they do not fit together."""
        blob, offsets, sizes, starts, postings = (arrays[name] for name in ARRAYS)
        fit = (
            len(offsets) == len(sizes) + 1
            and offsets[0] == 0
            and offsets[-1] == len(blob)
            and len(starts) == TRIGRAMS + 1
            and starts[0] == 0
            and starts[-1] == len(postings)
            and bool((starts[1:] >= starts[:-1]).all())
            and bool((offsets[1:] > offsets[:-1]).all())
            and int(sizes.sum(dtype=np.int64)) == len(postings)
        )
        if not fit:
            raise UnusableSnapshot(f"{where}: its arrays do not fit together; copy or save it anew")
        return cls._of(IdTable(frozen(blob), frozen(offsets)), sizes, starts, postings)
