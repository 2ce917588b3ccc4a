"""The two title baselines of the paper: equal titles (TitleMatch), and S2ORC's rule on the trigram score of titles.

Titles are representative texts of mode T, cut to 200 characters and then normalised by ``reflink.text`` with ``lexical=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final, Self

import numba
import numpy as np
import numpy.typing as npt

from reflink.lexical.trigrams import Letters, Rows, letters
from reflink.storage.idtable import IdTable, frozen

if TYPE_CHECKING:
    from reflink.lexical.index import LexicalIndex

Hashes = npt.NDArray[np.uint64]
#: Function from the concatenated letters of n titles and their offsets to the hash of each title: uint64 [n].
Hash = Callable[[Letters, Rows], Hashes]

#: S2ORC links if the score is above this threshold, not equal to it.
S2ORC: Final = 0.8


def s2orc(index: LexicalIndex, titles: Sequence[str], least: float = S2ORC) -> list[tuple[str, float] | None]:
    """Return for each title the id and the score s of the most similar work if s > ``least``, else None (S2ORC's rule).

    ``index`` holds texts of mode T. Of equal scores the smallest id wins. A score is one rounded division, so the ratio 4/5 is
    the float 0.8 itself and not a link. Raises ValueError for an index of another mode or a title that is not normalised.
    """
    if index.mode != "T":
        raise ValueError(f"S2ORC's rule compares titles: the index has mode {index.mode!r}, not 'T'")
    best = [found[0] if found else None for found in index.search(titles, 1, floor=least)]
    # The floor is inclusive, the rule is not.
    return [hit if hit is not None and hit[1] > least else None for hit in best]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def fnv(text: Letters, offsets: Rows) -> Hashes:
    """Return the 64-bit FNV-1a hash of each title: uint64 [n]."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for number in range(len(hashes)):
        value = np.uint64(0xCBF29CE484222325)
        for at in range(offsets[number], offsets[number + 1]):
            value = (value ^ np.uint64(text[at])) * np.uint64(0x100000001B3)
        hashes[number] = value
    return hashes


class TitleMatch:
    """An index of works by their exact title (paper section 3.4): texts of mode T by id, in flat arrays.

    A 64-bit hash finds the rows, then the letters are compared: a collision costs time and never gives a wrong match. An empty
    title matches nothing. Searches may run concurrently; a change needs exclusive access. The class is a baseline for
    measurements and not a part of the linker.

    Each addition is a segment. A segment at least half as large as its predecessor is merged with it immediately. A removal
    marks the row dead until a merge drops it. ``hashed``: another hash function, for tests.
    """

    def __init__(self, *, hashed: Hash = fnv) -> None:
        self._hash: Final = hashed
        self._segments: list[_Segment] = []

    def __len__(self) -> int:
        return sum(segment.count for segment in self._segments)

    @property
    def nbytes(self) -> int:
        """Total bytes of all arrays."""
        return sum(segment.nbytes for segment in self._segments)

    def add(self, ids: Sequence[str], titles: Sequence[str]) -> None:
        """Add titles, or replace the title of a known id. Of an id repeated in ``ids`` the last title counts.

        Raises ValueError, and changes nothing, if the lengths differ, an id is empty or a title is not normalised.
        """
        if len(ids) != len(titles):
            raise ValueError(f"{len(ids)} ids for {len(titles)} titles")
        if not all(ids):
            raise ValueError("an id is empty")
        newest = dict(zip(ids, titles, strict=True))
        if not newest:
            return
        segment = _Segment.build(list(newest), list(newest.values()), self._hash)
        self.remove(list(newest))
        self._segments.append(segment)
        while len(self._segments) > 1 and 2 * self._segments[-1].count >= self._segments[-2].count:
            last = self._segments.pop()
            self._segments[-1] = self._segments[-1].merge(last)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove the titles of these ids; unknown ids are ignored."""
        for segment in self._segments:
            segment.remove(ids)
        self._segments = [
            segment if 2 * segment.count >= len(segment.ids) else segment.compact()
            for segment in self._segments
            if segment.count
        ]

    def search(self, titles: Sequence[str]) -> list[tuple[str, ...]]:
        """Return for each title the ids of all works with this title, ascending; no ids for an empty title.

        Raises ValueError if a title is not normalised.
        """
        found: list[list[str]] = [[] for _ in titles]
        for segment, of, rows in self._find(titles):
            for number, id_ in zip(of.tolist(), segment.ids.decode(rows.tolist()), strict=True):
                found[number].append(id_)
        return [tuple(sorted(ids)) for ids in found]

    def link(self, titles: Sequence[str], draw: Random | None = None) -> list[str | None]:
        """Return for each title the id of one work with this title, or None: the smallest id, or a random one by ``draw``.

        The paper draws at random. ``draw`` is called title by title, so for a given seed the choice depends on the titles
        before. Raises ValueError as ``search``.
        """
        if draw is not None:
            return [draw.choice(ids) if ids else None for ids in self.search(titles)]
        best: list[str | None] = [None] * len(titles)
        for segment, of, rows in self._find(titles):
            # Thousands of works may have the title "editorial": decode only the first id of each segment.
            least = np.full(len(titles), len(segment.ids), np.int64)
            np.minimum.at(least, of, rows)
            for number in np.flatnonzero(least < len(segment.ids)).tolist():
                id_, known = segment.ids[least[number]], best[number]
                best[number] = id_ if known is None else min(id_, known)
        return best

    def _find(self, titles: Sequence[str]) -> Iterator[tuple[_Segment, Rows, Rows]]:
        """Yield for each segment the living rows with one of these titles: the number of the title and the row of each."""
        texts, offsets = letters(titles)
        hashes = self._hash(texts, offsets)
        for segment in self._segments:
            yield segment, *segment.find(hashes, texts, offsets)


@dataclass(eq=False)
class _Segment:
    """Rows in ascending order of their ids, their concatenated titles, and ``rows``: the row of each hash, hashes ascending.

    All arrays except ``alive`` (bool [n]) are read-only. ``count``: number of living rows.
    """

    ids: IdTable
    titles: Letters
    offsets: Rows
    hashes: Hashes
    rows: npt.NDArray[np.uint32]
    alive: npt.NDArray[np.bool_]
    count: int

    @classmethod
    def build(cls, ids: Sequence[str], titles: Sequence[str], hashed: Hash) -> Self:
        """Build a segment from distinct ids and their titles. Raises ValueError if a title is not normalised."""
        table, order = IdTable.build(ids)
        texts, offsets = letters([titles[position] for position in order.tolist()])
        return cls._of(table, texts, offsets, hashed(texts, offsets), np.arange(len(table), dtype=np.uint32))

    @classmethod
    def _of(cls, ids: IdTable, titles: Letters, offsets: Rows, hashes: Hashes, rows: npt.NDArray[np.uint32]) -> Self:
        order = np.argsort(hashes, kind="stable")  # only interleaves the two sorted runs of a merge
        return cls(
            ids, frozen(titles), frozen(offsets), frozen(hashes[order]), frozen(rows[order]),
            np.ones(len(ids), np.bool_), len(ids),
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        """Total bytes of the arrays."""
        arrays = (self.ids.blob, self.ids.offsets, self.titles, self.offsets, self.hashes, self.rows, self.alive)
        return sum(array.nbytes for array in arrays)

    def merge(self, other: _Segment) -> _Segment:
        """Return a segment of the living rows of both; no id is alive in both."""
        merged = self.ids.merge(self.alive, other.ids, other.alive)
        lengths = np.empty(len(merged.table), np.int64)
        parts = ((self, merged.first), (other, merged.second))
        hashes, rows = [], []
        for part, new in parts:
            lengths[new[part.alive]] = np.diff(part.offsets)[part.alive]
            kept = part.alive[part.rows]
            hashes.append(part.hashes[kept])
            rows.append(new[part.rows[kept]].astype(np.uint32))
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        titles = np.empty(offsets[-1], np.uint8)
        for part, new in parts:
            _move(part.titles, part.offsets, new, titles, offsets)
        return self._of(merged.table, titles, offsets, np.concatenate(hashes), np.concatenate(rows))

    def compact(self) -> _Segment:
        """Return the segment without its dead rows."""
        return self if self.count == len(self.ids) else self.merge(_Segment.build([], [], fnv))

    def remove(self, ids: Sequence[str]) -> None:
        """Mark the rows of these ids dead; unknown ids are ignored."""
        rows = self.ids.find(ids)
        rows = np.unique(rows[rows >= 0])
        self.count -= int(np.count_nonzero(self.alive[rows]))
        self.alive[rows] = False

    def find(self, hashes: Hashes, texts: Letters, offsets: Rows) -> tuple[Rows, Rows]:
        """Return the living rows with one of these titles: the number of the title and the row of each."""
        first = np.searchsorted(self.hashes, hashes, side="left")
        last = np.searchsorted(self.hashes, hashes, side="right")
        return _verify(self.titles, self.offsets, self.rows, self.alive, first, last, texts, offsets)  # type: ignore[no-any-return]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _move(source: Letters, source_offsets: Rows, new: Rows, target: Letters, target_offsets: Rows) -> None:
    """Copy the text of each row to its new row; a row whose new number is negative is dropped."""
    for row in range(len(new)):
        if new[row] >= 0:
            begin = target_offsets[new[row]]
            for at in range(source_offsets[row], source_offsets[row + 1]):
                target[begin] = source[at]
                begin += 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _verify(
    titles: Letters, offsets: Rows, rows: npt.NDArray[np.uint32], alive: npt.NDArray[np.bool_],
    first: Rows, last: Rows, texts: Letters, text_offsets: Rows,
) -> tuple[Rows, Rows]:  # fmt: skip
    """Return i and the row for each living row in ``rows[first[i]:last[i]]`` with text i; an empty text matches no row."""
    of, found = np.empty((last - first).sum(), np.int64), np.empty((last - first).sum(), np.int64)
    size = 0
    for number in range(len(first)):
        start = text_offsets[number]
        length = text_offsets[number + 1] - start
        if length == 0:
            continue
        for place in range(first[number], last[number]):
            row = np.int64(rows[place])
            begin = offsets[row]
            if not alive[row] or offsets[row + 1] - begin != length:
                continue
            same = 0
            while same < length and titles[begin + same] == texts[start + same]:
                same += 1
            if same == length:
                of[size], found[size] = number, row
                size += 1
    return of[:size].copy(), found[:size].copy()
