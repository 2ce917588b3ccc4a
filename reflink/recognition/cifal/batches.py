"""Batches of citations as tensors: sorted by length, long citations cut into windows for the encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from reflink.recognition.cifal.pieces import Marks, Pieced

#: Maximum pieces of a window. The encoder has positions for 512 pieces, but was trained on shorter texts.
WINDOW: Final = 254
#: Citations are sorted by length within this number of batches.
_SORTED: Final = 16


@dataclass(frozen=True)
class Batch:
    """Citations of at most n tokens, in w windows of at most p pieces.

    ``ids`` int64 [w, p]; ``spellings`` int64 [w, p]: of each piece's token; ``real`` bool [w, p]: False for padding;
    ``places`` int64 [citations, n]: index of a token's first piece in the flattened windows; ``known`` bool [citations, n]:
    False for padding; ``labels`` int64 [citations, n].
    """

    ids: Tensor
    spellings: Tensor
    real: Tensor
    places: Tensor
    known: Tensor
    labels: Tensor

    @classmethod
    def of(cls, citations: Sequence[Pieced], marks: Marks, device: torch.device) -> Batch:
        """Return the batch of citations of at least one token."""
        first, last = marks.first, marks.last
        windows: list[tuple[list[int], list[int]]] = []
        places: list[list[tuple[int, int]]] = []
        for citation in citations:
            ids, spellings, at = [first], [0], []
            for pieces, spelled in zip(citation.pieces, citation.spellings, strict=True):
                if len(ids) + len(pieces) > WINDOW + 1:
                    windows.append(([*ids, last], [*spellings, 0]))
                    ids, spellings = [first], [0]
                at.append((len(windows), len(ids)))
                ids += pieces
                spellings += [spelled] * len(pieces)
            windows.append(([*ids, last], [*spellings, 0]))
            places.append(at)
        width, size = max(len(ids) for ids, _ in windows), max(map(len, places))
        piece = np.zeros((3, len(windows), width), np.int64)
        for row, (ids, spellings) in enumerate(windows):
            piece[0, row, : len(ids)], piece[1, row, : len(ids)], piece[2, row, : len(ids)] = ids, spellings, 1
        token = np.zeros((3, len(places), size), np.int64)
        for row, at in enumerate(places):
            token[0, row, : len(at)] = [window * width + column for window, column in at]
            token[1, row, : len(at)] = 1
            token[2, row, : len(citations[row].labels)] = citations[row].labels
        pieced, tokens = torch.from_numpy(piece).to(device), torch.from_numpy(token).to(device)
        return cls(pieced[0], pieced[1], pieced[2].bool(), tokens[0], tokens[1].bool(), tokens[2])


def rows(lengths: Sequence[int], size: int, rng: np.random.Generator | None) -> Iterator[list[int]]:
    """Yield the rows of batches of ``size`` texts of similar length, each row once.

    With ``rng`` in random order, else the longest first.
    """
    order = np.arange(len(lengths)) if rng is None else rng.permutation(len(lengths))
    chunk = len(order) if rng is None else size * _SORTED
    found: list[list[int]] = []
    for start in range(0, len(order), chunk or 1):
        part = sorted(order[start : start + chunk].tolist(), key=lambda row: (-lengths[row], row))
        found += [part[at : at + size] for at in range(0, len(part), size)]
    for at in range(len(found)) if rng is None else rng.permutation(len(found)).tolist():
        yield found[at]
