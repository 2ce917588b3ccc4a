"""Candidates from the search engine: the engine finds works by words, and their trigram similarity is computed here.

A search returns ids. The records of the works are local, so a work that the local catalog does not have is left out, and the
version of a result is the older of both. The hits are ranked by s = 2JC/(J+C) of the reference's text and the work's texts
(paper section 3.4.2), the score that the native lexical search returns for the same pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from reflink.catalog import Catalog
from reflink.catalog.titles import lexical_texts, of_works
from reflink.entities import Method, Reference
from reflink.lexical.pairs import pair_scores
from reflink.linking.candidates import Near, lexical_query, members_of, without
from reflink.linking.policy import Open, Policy
from reflink.stopwatch import Stopwatch
from reflink.text import Mode
from workers.engine.client import Engine, lines
from workers.engine.errors import EngineError, NotFound
from workers.engine.index import Version, quoted
from workers.engine.queries import query, words

#: Only what is read: the engine's answers are otherwise larger than the ids in them.
_FILTER: Final = "filter_path=" + ",".join(
    f"responses.{field}" for field in ("status", "error.*", "timed_out", "_shards.failed", "hits.hits.sort")
)


class EngineCandidates:
    """Candidates of one version of the index. ``catalog`` has the records and keys, without vectors and trigrams."""

    method: Final[Method] = "lexical"
    #: Every work has a document, so a work without similar words is absent.
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

        One request for all references. Raises EngineUnavailable, and EngineError for a query that the engine rejects.
        """
        texts = [lexical_query(reference, policy) for reference in references]
        watch.lap("text")
        never = forbidden or [()] * len(references)
        found = self._search(references, never, self._hits, wide=False)
        near = self._ranked(texts, found, never, policy.candidates, policy.lexical_mode)
        watch.lap("search")
        return near

    def wider(self, opens: Sequence[Open], texts: Sequence[str], policy: Policy, k: int, floor: float | None) -> Near:
        """Return the ``k`` best hits of each text by trigrams among the works that the engine finds by all its words."""
        never = [item.forbidden for item in opens]
        found = self._search([item.reference for item in opens], never, self._wider_hits, wide=True)
        near = self._ranked(texts, found, never, k, policy.lexical_mode)
        return near if floor is None else [[hit for hit in hits if hit[1] >= floor] for hits in near]

    def _search(
        self, references: Sequence[Reference], forbidden: Sequence[tuple[str, ...]], size: int, *, wide: bool
    ) -> list[list[str]]:
        """Return the ids of the works that the engine finds for each reference, best first."""
        asked = [row for row, reference in enumerate(references) if words(reference, wide=wide)]
        found: list[list[str]] = [[] for _ in references]
        if not asked:
            return found
        body: list[object] = []
        for row in asked:
            more = sum(len(self.catalog.works.members(each)) for each in forbidden[row])
            body += [{"allow_partial_search_results": False}, query(references[row], size + more, wide=wide)]
        target = f"/{quoted(self._version.index)}/_msearch?search_type=dfs_query_then_fetch&{_FILTER}"
        try:
            answers = self._engine.call("search", "POST", target, lines(body))["responses"]
        except NotFound as error:  # another index serves by now
            raise self._engine.unavailable("search", str(error)) from None
        for row, answer in zip(asked, answers, strict=True):
            _check(answer, self._engine)
            found[row] = [hit["sort"][1] for hit in answer.get("hits", {}).get("hits", ())]
        return found

    def _ranked(
        self,
        texts: Sequence[str],
        found: Sequence[Sequence[str]],
        forbidden: Sequence[tuple[str, ...]],
        k: int,
        mode: Mode,
    ) -> Near:
        """Return the ``k`` most similar of the works found for each text, equal ones by smallest id."""
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
                    of_work = {} if work is None else lexical_texts(work, mode)
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
            near.append(without(similar, members_of(never, self.catalog), k))
        return near


def _check(answer: Mapping[str, Any], engine: Engine) -> None:
    """Raise EngineUnavailable unless the search has the result of all shards; EngineError if the query is at fault."""
    status, error = answer.get("status", 200), answer.get("error", {})
    if status == 404:
        raise engine.unavailable("search", str(error.get("reason")))
    if status == 400:
        raise EngineError(f"the search engine rejects a query: {error.get('type')}: {error.get('reason')}")
    if status >= 300 or answer.get("timed_out") or answer.get("_shards", {}).get("failed"):
        raise engine.unavailable("search", f"{error.get('type', 'timeout')}: {error.get('reason', 'not all shards answered')}")
