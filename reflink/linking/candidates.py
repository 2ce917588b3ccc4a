"""Search the semantic and the lexical index for candidates of references, without forbidden works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from reflink.catalog.titles import of_works
from reflink.encoders import Encodes
from reflink.entities import Reference
from reflink.linking.policy import Policy
from reflink.stopwatch import Stopwatch
from reflink.text import reference_text, work_text

if TYPE_CHECKING:
    from reflink.catalog import Catalog

#: Another precision may reverse the order of cosines that differ by less: twice the measured difference (docs/semantic.md).
CLOSE: Final = 1e-3

#: Hits of a search: (id, score) of each query, best first.
Near = list[list[tuple[str, float]]]


def lexical_hits(
    texts: Sequence[str],
    catalog: Catalog,
    k: int,
    seeds: Sequence[Sequence[str]],
    floor: float | None = None,
    forbidden: Sequence[tuple[str, ...]] | None = None,
) -> Near:
    """Return the k best hits of each text, none for an empty text. Costs one search for all texts.

    ``seeds``: for each text, ids of probable hits. ``forbidden``: for each text, ids of works that are not candidates.
    """
    rows, hits = _asked(texts)
    if catalog.trigrams is not None and rows:
        never = [_all_of(forbidden[row] if forbidden else (), catalog) for row in rows]
        # Enough hits for k to remain after forbidden works are removed.
        most = k + max(map(len, never), default=0)
        found = catalog.trigrams.search([texts[row] for row in rows], most, floor, [seeds[row] for row in rows])
        for row, near, without in zip(rows, found, never, strict=True):
            hits[row] = _allowed(of_works(near), without, k)
    return hits


def _all_of(forbidden: tuple[str, ...], catalog: Catalog) -> frozenset[str]:
    """Return the ids of these works and of all works with the same canonical id."""
    return frozenset(member for each in forbidden for member in catalog.works.members(each))


def _allowed(near: list[tuple[str, float]], never: frozenset[str], k: int) -> list[tuple[str, float]]:
    return [hit for hit in near if hit[0] not in never][:k]


def _asked(texts: Sequence[str]) -> tuple[list[int], Near]:
    """Return the positions of the non-empty texts, and an empty list of hits for each text."""
    return [row for row, text in enumerate(texts) if text], [[] for _ in texts]


def semantic_hits(
    references: Sequence[Reference],
    catalog: Catalog,
    encoder: Encodes | None,
    policy: Policy,
    watch: Stopwatch,
    precise: Encodes | None = None,
    forbidden: Sequence[tuple[str, ...]] | None = None,
) -> Near:
    """Return the best hits of each reference, none for a reference without text.

    Costs one encoding and one search for all references, and one more of each for those whose scores are close, with the
    encoder ``precise``. ``forbidden``: for each reference, ids of works that are not candidates.
    """
    if encoder is None:
        return [[] for _ in references]
    # In production, venue and names without a title find other works of the same authors, never the cited one. The lexical
    # stage handles these references.
    untitled_too = policy.profile == "paper"
    texts = [
        reference_text(reference, policy.semantic_mode, lexical=False, separator=catalog.separator)
        if (untitled_too and reference_text(reference, policy.semantic_mode, lexical=True)) or reference.title
        else ""
        for reference in references
    ]
    rows, hits = _asked(texts)
    if catalog.vectors is None or not len(catalog.vectors) or not rows:
        return hits
    vectors, never = catalog.vectors, [_all_of(each, catalog) for each in forbidden or [()] * len(references)]

    def search(by: Encodes, wanted: Sequence[int]) -> None:
        queries = by.encode([texts[row] for row in wanted])
        watch.lap("model")
        found = vectors.search(queries, policy.candidates + max(len(never[row]) for row in wanted))
        for row, near in zip(wanted, found, strict=True):
            hits[row] = _allowed(near, never[row], policy.candidates)
        watch.lap("search")

    watch.lap("text")
    search(encoder, rows)
    if precise is not None and precise is not encoder and (close := [row for row in rows if _is_close(hits[row], policy)]):
        search(precise, close)
    return hits


def _is_close(near: list[tuple[str, float]], policy: Policy) -> bool:
    """Whether another precision may reverse the order of the best two, or the decision at the profile's threshold."""
    if policy.profile == "paper" and near and abs(near[0][1] - policy.threshold) < CLOSE:
        return True
    # Equal vectors tie in every precision.
    return len(near) > 1 and 0.0 < near[0][1] - near[1][1] < CLOSE


def lexical_query(reference: Reference, policy: Policy) -> str:
    """Return the query text for the trigram index; empty if the reference has no text."""
    text = reference_text(reference, policy.lexical_mode, lexical=True)
    if text or policy.profile == "paper":
        return text
    return work_text(reference, policy.lexical_mode, lexical=True)  # a reference with fields only gets the text of a work
