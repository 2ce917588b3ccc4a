"""An exact index of texts by trigram similarity that grows while it is searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Self

import numpy as np

from reflink import flatfiles
from reflink.errors import SnapshotError
from reflink.hits import Hits
from reflink.lexical import kernels
from reflink.lexical.segments import ARRAYS, Segment
from reflink.lexical.trigrams import trigram_sets
from reflink.text import MODES, Mode

KIND: Final = "reflink lexical index"


class LexicalIndex:
    """Texts by id, searched by s = 2JC/(J+C) over their character trigrams (paper section 3.4.2); exact, no threshold.

    Texts are normalised by ``reflink.text`` with ``lexical=True``; ``mode`` says which representative texts they are and is
    kept with the index. Additions and removals are seen by the next search. Searches may run in several threads at once,
    changes need the index for themselves.

    Inside, each addition is an immutable segment; a segment at least half as large as the one before is merged with it, so
    there are at most log2(n) of them and each text is moved log2(n) times. A removal marks the row dead until a merge drops it.
    """

    def __init__(self, mode: Mode = "Raw") -> None:
        if mode not in MODES:
            raise ValueError(f"unknown mode {mode!r}: expected one of {', '.join(MODES)}")
        self.mode: Final = mode
        self._segments: list[Segment] = []

    def __len__(self) -> int:
        return sum(segment.count for segment in self._segments)

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and any(segment.alive_ids([id_])[0] for segment in self._segments)

    def add(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Adds texts; the text of a known id is replaced, the last of one id in ``ids`` counts.

        Raises ValueError, and changes nothing, when the lengths differ, an id is empty or a text is not normalised.
        """
        if len(ids) != len(texts):
            raise ValueError(f"{len(ids)} ids for {len(texts)} texts")
        if not all(ids):
            raise ValueError("an id is empty")
        newest = dict(zip(ids, texts, strict=True))
        if not newest:
            return
        segment = Segment.build(list(newest), list(newest.values()))
        self.remove(ids)
        self._segments.append(segment)
        while len(self._segments) > 1 and 2 * self._segments[-1].count >= self._segments[-2].count:
            last = self._segments.pop()
            self._segments[-1] = self._segments[-1].merge(last)

    def remove(self, ids: Sequence[str]) -> None:
        """Removes the texts of these ids; unknown ids are passed over."""
        for segment in self._segments:
            segment.remove(ids)
        self._segments = [
            segment if 2 * segment.count >= len(segment.ids) else segment.compact()
            for segment in self._segments
            if segment.count
        ]

    def search(self, texts: Sequence[str], k: int) -> Hits:
        """The ``k`` most similar texts of each of n normalised ones: Hits [n, k], scores s in (0, 1], float64.

        A text without a trigram in common with the query is no hit; a query under 3 characters has none. Equal scores are
        equal ratios of integers, resolved by the smallest id.
        Raises ValueError when ``k`` is below 1 or a text is not normalised.
        """
        if k < 1:
            raise ValueError(f"k is {k}: at least 1 is needed")
        codes, offsets = trigram_sets(texts)
        found = [
            (segment, *kernels.search(codes, offsets, segment.starts, segment.postings, segment.sizes, segment.alive,
                                      min(k, segment.count)))
            for segment in self._segments
        ]  # fmt: skip

        def best() -> Iterator[tuple[list[str], list[float]]]:
            for query in range(len(texts)):
                candidates: list[tuple[float, str]] = []
                for segment, rows, scores, sizes in found:
                    size = sizes[query]
                    ids = segment.ids.decode(rows[query, :size].tolist())
                    candidates += zip((-scores[query, :size]).tolist(), ids, strict=True)
                candidates.sort()
                yield [id_ for _, id_ in candidates[:k]], [-score for score, _ in candidates[:k]]

        return Hits.collect(best(), len(texts), k, np.float64)

    def save(self, folder: str | Path) -> None:
        """Writes the index into ``folder`` (made if absent), all in one segment; an index already there is replaced."""
        self._segments = [self._merged()]
        about = {"mode": self.mode, "texts": len(self)}
        flatfiles.save(Path(folder), KIND, about, self._segments[0].arrays())

    def _merged(self) -> Segment:
        merged = Segment.build([], [])
        for segment in reversed(self._segments):
            merged = merged.merge(segment) if merged.count else segment.compact()
        return merged

    @classmethod
    def open(cls, folder: str | Path, *, mode: Mode | None = None, verify: bool = False) -> Self:
        """Opens a saved index by memory map: processes share its pages; what is added afterwards stays in memory.

        With ``verify`` every byte is compared with its checksum. Raises SnapshotError when the folder was made for another
        mode than ``mode``: UnusableSnapshot when it is damaged or unfinished.
        """
        about, arrays = flatfiles.load(Path(folder), KIND, ARRAYS, verify=verify)
        if about.get("mode") not in MODES or mode not in (None, about["mode"]):
            raise SnapshotError(f"{folder}: made for mode {about.get('mode')!r}, not {mode or 'any known one'!r}")
        index = cls(about["mode"])
        segment = Segment.of_arrays(arrays, folder)
        index._segments = [segment] if segment.count else []
        return index
