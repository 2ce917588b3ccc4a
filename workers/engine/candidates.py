"""Candidates from the search engine: the engine finds works by words, and their trigram similarity is computed here.

A search returns ids. The records of the works are local, so a work that the local catalog does not have is left out, and the
version of a result is the older of both. The hits are ranked by s = 2JC/(J+C) of the reference's text and the work's texts
(paper section 3.4.2), the score that the native lexical search returns for the same pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from reflink.catalog import Catalog
from reflink.catalog.titles import lexical_texts, of_works
from reflink.entities import Method, Reference
from reflink.lexical.pairs import pair_scores
from reflink.linking.candidates import Near, lexical_query, members_of, without
from reflink.linking.policy import Open, Policy
from reflink.stopwatch import Stopwatch
from workers.engine.client import Engine
from workers.engine.index import Version
from workers.engine.queries import query
from workers.engine.searches import MAX_SEARCHES, find


class EngineCandidates:
    """Candidates of one version of the index. ``catalog`` has the records and keys, without vectors and trigrams."""

    method: Final[Method] = "lexical"
    wider_method: Final[Method] = "lexical"
    #: Every work has a document, so a work without similar words is absent. Works that the engine refused are counted.
    complete: Final = True

    def __init__(self, engine: Engine, catalog: Catalog, version: Version, *, hits: int, wider_hits: int) -> None:
        """``hits`` and ``wider_hits``: number of works that a search returns for a reference."""
        self.catalog, self._engine, self._version = catalog, engine, version
        self._hits, self._wider_hits = hits, wider_hits

    @property
    def offset(self) -> int:
        """The older version of the index and the records."""
        return min(self._version.offset, self.catalog.offset)

    def near(
        self,
        references: Sequence[Reference],
        policy: Policy,
        watch: Stopwatch,
        forbidden: Sequence[tuple[str, ...]] | None = None,
    ) -> Near:
        """Return the best hits of each reference by trigrams among the works that the engine finds by its fields.

        One request for 64 references. Raises EngineUnavailable, and EngineError for a query that the engine rejects.
        """
        texts = [lexical_query(reference, policy) for reference in references]
        watch.lap("text")
        never = forbidden or [()] * len(references)
        near = self._near(references, texts, never, self._hits, policy, wide=False)
        watch.lap("search")
        return near

    def searches_again(self, reference: Reference) -> bool:
        """Return True: the second search has more words and more hits."""
        return True

    def wider(self, opens: Sequence[Open], texts: Sequence[str], policy: Policy, watch: Stopwatch | None = None) -> Near:
        """Return the best hits of each text by trigrams among the works that the engine finds by all its words."""
        near = self._near(
            [item.reference for item in opens], texts, [item.forbidden for item in opens], self._wider_hits, policy, wide=True
        )
        floor = policy.lexical_floor
        return near if floor is None else [[hit for hit in hits if hit[1] >= floor] for hits in near]

    def _near(
        self,
        references: Sequence[Reference],
        texts: Sequence[str],
        forbidden: Sequence[tuple[str, ...]],
        size: int,
        policy: Policy,
        *,
        wide: bool,
    ) -> Near:
        near: Near = []
        for start in range(0, len(references), MAX_SEARCHES):  # which also bounds the texts in memory
            part = slice(start, start + MAX_SEARCHES)
            never = [members_of(each, self.catalog) for each in forbidden[part]]
            found = self.search(references[part], [size + len(each) for each in never], wide=wide)
            near += self._ranked(texts[part], found, never, policy)
        return near

    def search(self, references: Sequence[Reference], sizes: Sequence[int], *, wide: bool) -> list[list[str]]:
        """Return the ids of the works that the engine finds for each reference, best first, at most its number in ``sizes``.

        Raises as ``near``.
        """
        queries = [query(reference, size, wide=wide) for reference, size in zip(references, sizes, strict=True)]
        found = find(self._engine, self._version, [each for each in queries if each is not None])
        return [[] if each is None else next(found) for each in queries]

    def _ranked(
        self, texts: Sequence[str], found: Sequence[Sequence[str]], forbidden: Sequence[frozenset[str]], policy: Policy
    ) -> Near:
        """Return the most similar of the works found for each text, equal ones by smallest id."""
        listed = list(texts)
        #: Ids of texts of works, and their positions in ``listed``.
        known: dict[str, dict[str, int]] = {}
        pairs: list[tuple[int, int]] = []
        names: list[list[str]] = []
        for row, (text, ids) in enumerate(zip(texts, found, strict=True)):
            names.append([])
            for work_id in ids if text else ():
                if work_id not in known:
                    work = self.catalog.get(work_id)
                    of_work = {} if work is None else lexical_texts(work, policy.lexical_mode)
                    known[work_id] = dict(zip(of_work, range(len(listed), len(listed) + len(of_work)), strict=True))
                    listed += of_work.values()
                for name, position in known[work_id].items():
                    names[row].append(name)
                    pairs.append((row, position))
        scores = iter(pair_scores(listed, np.array(pairs, np.int64).reshape(-1, 2)).tolist())
        near: Near = []
        for of_row, never in zip(names, forbidden, strict=True):
            scored = sorted(((name, next(scores)) for name in of_row), key=lambda hit: (-hit[1], hit[0]))
            similar = of_works(hit for hit in scored if hit[1] > 0)
            near.append(without(similar, never, policy.candidates))
        return near
