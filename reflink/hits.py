"""The result of a search: the best candidates of each query and their scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Hits:
    """The k best candidates of n queries, best first, equal scores by smallest id.

    ``ids``: object array [n, k] of ``str``, None where a query has fewer than k candidates. ``scores``: float32 or float64
    array [n, k], NaN where the id is None.
    """

    ids: npt.NDArray[np.object_]
    scores: npt.NDArray[Any]

    @classmethod
    def collect(
        cls, rows: Iterable[tuple[Sequence[str], Sequence[float] | npt.NDArray[Any]]], n: int, k: int, dtype: type
    ) -> Self:
        """Pad the results of ``n`` queries, ``(ids, scores)`` best first and at most ``k`` each, to the shape [n, k]."""
        ids = np.full((n, k), None, dtype=object)
        scores: npt.NDArray[Any] = np.full((n, k), np.nan, dtype=dtype)
        for row, (found, values) in enumerate(rows):
            ids[row, : len(found)] = found
            scores[row, : len(found)] = values
        return cls(ids, scores)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[list[tuple[str, float]]]:
        """Yield each query's candidates as a list of ``(id, score)``, without padding."""
        for ids, scores in zip(self.ids.tolist(), self.scores.tolist(), strict=True):
            yield [(id_, score) for id_, score in zip(ids, scores, strict=True) if id_ is not None]
