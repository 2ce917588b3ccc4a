"""The systems that choose among the same candidates: the Siamese network, the trigrams, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from reflink.entities import Reference, Work
from reflink.evaluation.judges import HeldOut
from reflink.journals.table import Journals
from reflink.lexical.pairs import pair_scores
from reflink.text import reference_text, work_text
from reflink.verdict.batch import compare_all

#: References compared at once.
_BATCH: Final = 64


class System(Protocol):
    """Scores the candidates of references, higher for a better one."""

    def scores(self, references: Sequence[Reference], candidates: Sequence[Sequence[str]]) -> Sequence[NDArray[np.floating]]:
        """Return the scores of each reference's candidates, in their order."""


class Trigrams:
    """s of the citation as written and the work in mode Raw."""

    def __init__(self, works: Mapping[str, Work]) -> None:
        self._works = works

    def scores(self, references: Sequence[Reference], candidates: Sequence[Sequence[str]]) -> Sequence[NDArray[np.floating]]:
        place: dict[str, int] = {}
        for ids in candidates:
            for id_ in ids:
                place.setdefault(id_, len(place))
        texts = [work_text(self._works[id_], "Raw", lexical=True) for id_ in place]
        texts += [reference_text(reference, "Raw", lexical=True) for reference in references]
        pairs = [(len(place) + row, place[id_]) for row, ids in enumerate(candidates) for id_ in ids]
        found = pair_scores(texts, np.array(pairs, np.int64).reshape(-1, 2))
        return divided(found, candidates)


class Verdict:
    """The probability of the verdict that was not trained on the citing paper."""

    def __init__(self, works: Mapping[str, Work], journals: Journals | None) -> None:
        self._works, self._journals, self._judges = works, journals, HeldOut.shipped()

    def scores(self, references: Sequence[Reference], candidates: Sequence[Sequence[str]]) -> Sequence[NDArray[np.floating]]:
        found: list[NDArray[np.floating]] = []
        for start in range(0, len(references), _BATCH):
            found += self._batch(references[start : start + _BATCH], candidates[start : start + _BATCH])
        return found

    def _batch(self, references: Sequence[Reference], candidates: Sequence[Sequence[str]]) -> Sequence[NDArray[np.floating]]:
        place: dict[str, int] = {}
        pairs = [(row, place.setdefault(id_, len(place))) for row, ids in enumerate(candidates) for id_ in ids]
        if not pairs:
            return [np.empty(0) for _ in references]
        works = [self._works[id_] for id_ in place]
        rows = compare_all(references, works, np.array(pairs, np.int64), journals=self._journals)
        parts = divided(rows, candidates)
        return [
            self._judges.of(reference.citing).probabilities(part)
            for reference, part in zip(references, parts, strict=True)
        ]  # fmt: skip


def divided(values: NDArray[np.floating], candidates: Sequence[Sequence[str]]) -> list[NDArray[np.floating]]:
    """Return the rows of each reference's candidates, which follow one another in ``values``."""
    return np.split(values, np.cumsum([len(ids) for ids in candidates])[:-1]) if candidates else []
