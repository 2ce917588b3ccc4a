"""Candidates from the catalog's own indexes: exact cosine of vectors and exact trigram similarity, in either order.

Encoding a text takes milliseconds on a CPU and microseconds on a GPU; a search by trigrams takes a fraction of a millisecond on
a CPU. So ``NativeCandidates`` searches vectors first, and ``TrigramsFirst`` searches trigrams first and encodes only what they
leave open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from reflink.catalog.titles import of_works
from reflink.encoders import Encodes
from reflink.entities import Method, Reference
from reflink.linking.candidates import Near, lexical_query, members_of, without
from reflink.linking.policy import Open, Policy
from reflink.stopwatch import Stopwatch
from reflink.text import reference_text

if TYPE_CHECKING:
    from reflink.catalog import Catalog

#: Another precision may reverse the order of cosines that differ by less: twice the measured difference (docs/semantic.md).
CLOSE: Final = 1e-3


class NativeCandidates:
    """Search of the vectors and trigrams of a catalog. An index that the catalog lacks proposes no candidates.

    ``encoder`` encodes references; None: no vectors are searched. ``precise``: a more precise encoder, used for references
    whose best two candidates are closer than ``encoder`` can distinguish; None: ``encoder`` is the most precise one.
    """

    method: Method = "semantic"
    wider_method: Method = "lexical"

    def __init__(self, catalog: Catalog, encoder: Encodes | None = None, precise: Encodes | None = None) -> None:
        self.catalog, self.encoder, self.precise = catalog, encoder, precise

    @property
    def offset(self) -> int:
        """The version of the catalog."""
        return self.catalog.offset

    @property
    def complete(self) -> bool:
        """Whether every work has a vector; a work without one can still be found by its trigrams."""
        return self.catalog.vectors is not None and len(self.catalog.vectors) >= len(self.catalog)

    def near(
        self,
        references: Sequence[Reference],
        policy: Policy,
        watch: Stopwatch,
        forbidden: Sequence[tuple[str, ...]] | None = None,
    ) -> Near:
        """Return the best hits of each reference by cosine (``by_vectors``)."""
        return self.by_vectors(references, policy, watch, forbidden)

    def wider(self, opens: Sequence[Open], texts: Sequence[str], policy: Policy, watch: Stopwatch | None = None) -> Near:
        """Return the best hits of each text by trigrams. Costs one search for all texts.

        The search begins with the candidates of ``near``, since they are probably among the best by trigrams too.
        """
        seeds = [tuple(candidate.cited for candidate in item.found.semantic) for item in opens]
        return self.by_trigrams(texts, policy, [item.forbidden for item in opens], seeds)

    def searches_again(self, reference: Reference) -> bool:
        """Return True: trigrams find works for every text."""
        return True

    def by_vectors(
        self,
        references: Sequence[Reference],
        policy: Policy,
        watch: Stopwatch,
        forbidden: Sequence[tuple[str, ...]] | None = None,
    ) -> Near:
        """Return the best hits of each reference by cosine, none for a reference without text.

        Costs one encoding and one search for all references, and one more of each for those whose scores are close, with the
        encoder ``precise``.
        """
        encoder, precise, vectors = self.encoder, self.precise, self.catalog.vectors
        if encoder is None:
            return [[] for _ in references]
        # In production, venue and names without a title find other works of the same authors, never the cited one. The lexical
        # stage handles these references.
        untitled_too = policy.profile == "paper"
        texts = [
            reference_text(reference, policy.semantic_mode, lexical=False, separator=self.catalog.separator)
            if (untitled_too and reference_text(reference, policy.semantic_mode, lexical=True)) or reference.title
            else ""
            for reference in references
        ]
        rows, hits = _with_text(texts)
        if vectors is None or not len(vectors) or not rows:
            return hits
        never = [members_of(each, self.catalog) for each in forbidden or [()] * len(references)]

        def search(by: Encodes, wanted: Sequence[int]) -> None:
            queries = by.encode([texts[row] for row in wanted])
            watch.lap("model")
            found = vectors.search(queries, policy.candidates + max(len(never[row]) for row in wanted))
            for row, near in zip(wanted, found, strict=True):
                hits[row] = without(near, never[row], policy.candidates)
            watch.lap("search")

        watch.lap("text")
        search(encoder, rows)
        if precise is not None and precise is not encoder and (close := [row for row in rows if _is_close(hits[row], policy)]):
            search(precise, close)
        return hits

    def by_trigrams(
        self,
        texts: Sequence[str],
        policy: Policy,
        forbidden: Sequence[tuple[str, ...]] | None = None,
        seeds: Sequence[tuple[str, ...]] | None = None,
    ) -> Near:
        """Return the best hits of each text by trigrams, none for an empty text. Costs one search for all texts.

        ``seeds``: for each text ids that are probably good; they make the search faster and do not change the result.
        """
        rows, hits, k = *_with_text(texts), policy.candidates
        if self.catalog.trigrams is not None and rows:
            without_of = forbidden or [()] * len(texts)
            never = [members_of(without_of[row], self.catalog) for row in rows]
            # Enough hits for k to remain after forbidden works are removed.
            most = k + max(map(len, never), default=0)
            begun = None if seeds is None else [seeds[row] for row in rows]
            found = self.catalog.trigrams.search([texts[row] for row in rows], most, policy.lexical_floor, begun)
            for row, near, excluded in zip(rows, found, never, strict=True):
                hits[row] = without(of_works(near), excluded, k)
        return hits


class TrigramsFirst(NativeCandidates):
    """The same two searches in the opposite order, for profile ``production``."""

    method: Method = "lexical"
    wider_method: Method = "semantic"

    @property
    def complete(self) -> bool:
        """Whether every work is in the trigram index."""
        return self.catalog.trigrams is not None and len(self.catalog.trigrams) >= len(self.catalog)

    def near(
        self,
        references: Sequence[Reference],
        policy: Policy,
        watch: Stopwatch,
        forbidden: Sequence[tuple[str, ...]] | None = None,
    ) -> Near:
        """Return the best hits of each reference by trigrams. Costs one search for all references."""
        texts = [lexical_query(reference, policy) for reference in references]
        watch.lap("text")
        hits = self.by_trigrams(texts, policy, forbidden)
        watch.lap("search")
        return hits

    def wider(self, opens: Sequence[Open], texts: Sequence[str], policy: Policy, watch: Stopwatch | None = None) -> Near:
        """Return the best hits of each open reference by cosine (``by_vectors``)."""
        references, forbidden = [item.reference for item in opens], [item.forbidden for item in opens]
        return self.by_vectors(references, policy, watch or Stopwatch(), forbidden)

    def searches_again(self, reference: Reference) -> bool:
        """Return whether the reference has a title, since others are not encoded (``by_vectors``)."""
        return bool(reference.title)


def native_candidates(
    catalog: Catalog, policy: Policy, encoder: Encodes | None = None, precise: Encodes | None = None
) -> NativeCandidates:
    """Return the searches of a catalog in the order of the policy. ``encoder``, ``precise``: see NativeCandidates."""
    first = TrigramsFirst if policy.first == "trigrams" and policy.profile == "production" else NativeCandidates
    return first(catalog, encoder, precise)


def _with_text(texts: Sequence[str]) -> tuple[list[int], Near]:
    """Return the positions of the non-empty texts, and an empty list of hits for each text."""
    return [row for row, text in enumerate(texts) if text], [[] for _ in texts]


def _is_close(near: list[tuple[str, float]], policy: Policy) -> bool:
    """Whether another precision may reverse the order of the best two, or the decision at the profile's threshold."""
    if policy.profile == "paper" and near and abs(near[0][1] - policy.threshold) < CLOSE:
        return True
    # Equal vectors tie in every precision.
    return len(near) > 1 and 0.0 < near[0][1] - near[1][1] < CLOSE
