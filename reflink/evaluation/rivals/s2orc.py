"""S2ORC's rule (paper 004, section 2.6): link the work with the most similar title if the similarity s is above 0.8."""

from __future__ import annotations

from collections.abc import Sequence

from reflink.entities import Link, Reference, Work
from reflink.evaluation.rivals.rule import linked, normalised, not_linked, title_of
from reflink.lexical import LexicalIndex
from reflink.lexical.titles import S2ORC, s2orc


class SimilarTitles:
    """The rule over the works of one catalog; one thread. ``threshold``: s must be above it."""

    def __init__(self, works: Sequence[Work], threshold: float = S2ORC) -> None:
        self._threshold = threshold
        self._index = LexicalIndex("T", threads=1)
        self._index.add([work.id for work in works], [normalised(work.title) for work in works])
        self._index.settle()

    def link(self, references: Sequence[Reference]) -> list[Link]:
        """Return a link for each reference, in order; its score is s. Of equal scores the smallest id wins."""
        titles = [normalised(title_of(reference)) for reference in references]
        return [
            not_linked(reference, title, "below-threshold") if hit is None else linked(reference, *hit)
            for reference, title, hit in zip(references, titles, s2orc(self._index, titles, self._threshold), strict=True)
        ]
