"""Anchors of labelled citations: the words of a venue whose removal lowers the confidence in the rest of it (section 2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch

from reflink.recognition.cifal.batches import Batch, rows
from reflink.recognition.cifal.network import Network
from reflink.recognition.cifal.pieces import Marks, Pieced
from reflink.recognition.labels import V

#: Minimum drop of the mean confidence (the paper's delta).
DELTA: Final = 0.05
#: Citations that the network labels at once.
_SIZE: Final = 64

Doubles = np.ndarray[Any, np.dtype[np.float64]]


def confidences(network: Network, citations: Sequence[Pieced], marks: Marks) -> Doubles:
    """Return the mean probability of the label V over the tokens with that label, float64 [citations]; 0 if there is none."""
    device = network.encoder.words.weight.device
    found = np.zeros(len(citations))
    for chosen in rows([citation.length for citation in citations], _SIZE, None):
        batch = Batch.of([citations[row] for row in chosen], marks, device)
        with torch.no_grad():
            sure = network.crf.marginals(network(batch), batch.known)[..., V]
        venue = (batch.labels == V) & batch.known
        found[chosen] = ((sure * venue).sum(1) / venue.sum(1).clamp(min=1)).cpu().numpy()
    return found


def importance(network: Network, citations: Sequence[Pieced], marks: Marks) -> list[dict[int, float]]:
    """Return S(w), equation 1, of each token of each citation's venue, by the token's number.

    S(w) is the mean confidence in the venue minus that without the token w, in the citation without w. If w is the whole venue,
    nothing remains and the mean is 0.
    """
    places = [(row, at) for row, citation in enumerate(citations) for at, label in enumerate(citation.labels) if label == V]
    whole = confidences(network, citations, marks)
    less = confidences(network, [citations[row].without(at) for row, at in places], marks)
    found: list[dict[int, float]] = [{} for _ in citations]
    for (row, at), rest in zip(places, less.tolist(), strict=True):
        found[row][at] = float(whole[row] - rest)
    return found


def anchors(network: Network, citations: Sequence[Pieced], marks: Marks) -> list[frozenset[int]]:
    """Return the numbers of the anchors of each citation: S(w) > DELTA (equation 2)."""
    scores = importance(network, citations, marks)
    return [frozenset(at for at, drop in drops.items() if drop > DELTA) for drops in scores]
