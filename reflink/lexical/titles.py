"""The two title baselines of the paper: equal titles (TitleMatch), and S2ORC's rule on the trigram score of titles.

Titles are representative texts of mode T, cut to 200 characters and then normalised by ``reflink.text`` with ``lexical=True``.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from itertools import chain
from random import Random
from sys import getsizeof
from typing import TYPE_CHECKING, Final

from reflink.lexical.trigrams import letters

if TYPE_CHECKING:
    from reflink.lexical.index import LexicalIndex

#: S2ORC links if the score is above this threshold, not equal to it.
S2ORC: Final = 0.8


def s2orc(index: LexicalIndex, titles: Sequence[str], threshold: float = S2ORC) -> list[tuple[str, float] | None]:
    """Return for each title the id and the score s of the most similar work if s > ``threshold``, else None (S2ORC's rule).

    ``index`` holds texts of mode T. Of equal scores the smallest id wins. A score is one rounded division, so the ratio 4/5 is
    the float 0.8 itself and not a link. Raises ValueError for an index of another mode or a title that is not normalised.
    """
    if index.mode != "T":
        raise ValueError(f"S2ORC's rule compares titles: the index has mode {index.mode!r}, not 'T'")
    best = [found[0] if found else None for found in index.search(titles, 1, floor=threshold)]
    # The floor is inclusive, the rule is not.
    return [hit if hit is not None and hit[1] > threshold else None for hit in best]


class TitleMatch:
    """An index of works by their exact title (paper section 3.4): texts of mode T by id, in two dictionaries.

    An empty title matches nothing. Searches may run concurrently; a change needs exclusive access. The class is a baseline for
    measurements and not a part of the linker.
    """

    def __init__(self) -> None:
        self._title_of: dict[str, str] = {}
        self._ids_of: dict[str, list[str]] = {}  # ascending

    def __len__(self) -> int:
        return len(self._title_of)

    @property
    def nbytes(self) -> int:
        """Total bytes of the ids, the titles and their tables."""
        tables = (self._title_of, self._ids_of, *self._ids_of.values())
        return sum(map(getsizeof, chain(tables, self._title_of, self._title_of.values())))

    def add(self, ids: Sequence[str], titles: Sequence[str]) -> None:
        """Add titles, or replace the title of a known id. Of an id repeated in ``ids`` the last title counts.

        Raises ValueError, and changes nothing, if the lengths differ, an id is empty or a title is not normalised.
        """
        if len(ids) != len(titles):
            raise ValueError(f"{len(ids)} ids for {len(titles)} titles")
        if not all(ids):
            raise ValueError("an id is empty")
        letters(titles)  # refuses titles that are not normalised
        self.remove(ids)
        self._title_of.update(zip(ids, titles, strict=True))
        for id_ in dict.fromkeys(ids):
            insort(self._ids_of.setdefault(self._title_of[id_], []), id_)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove the titles of these ids; unknown ids are ignored."""
        for id_ in ids:
            title = self._title_of.pop(id_, None)
            if title is not None:
                self._ids_of[title].remove(id_)
                if not self._ids_of[title]:
                    del self._ids_of[title]

    def search(self, titles: Sequence[str]) -> list[tuple[str, ...]]:
        """Return for each title the ids of all works with this title, ascending; no ids for an empty title.

        Raises ValueError if a title is not normalised.
        """
        letters(titles)
        return [tuple(self._ids_of.get(title, ())) if title else () for title in titles]

    def link(self, titles: Sequence[str], draw: Random | None = None) -> list[str | None]:
        """Return for each title the id of one work with this title, or None: the smallest id, or a random one by ``draw``.

        The paper draws at random. ``draw`` is called title by title, so for a given seed the choice depends on the titles
        before. Raises ValueError as ``search``.
        """
        found = self.search(titles)
        return [None if not ids else ids[0] if draw is None else draw.choice(ids) for ids in found]
