"""The tagger that comes with the package: the random field over hashed features and the BiGRU-CRF together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, Protocol

import numpy as np

from reflink.recognition.bigru.network import Network
from reflink.recognition.crf import HashedTagger
from reflink.recognition.tagging import Chain, Doubles, Tagging, infer
from reflink.recognition.tokens import Tokens
from reflink.shipped import read

CRF: Final = "recognition/crf.npz"
BIGRU: Final = "recognition/bigru.npz"
#: Share of each tagger's scores, CRF first. Chosen on fold 1 (benchmarks.parsing.crossvalidation).
SHARES: Final = (0.5, 0.5)


class Member(Protocol):
    """A tagger whose scores can be added to those of others."""

    @property
    def chain(self) -> Chain:
        """Scores of steps, of the first and of the last label."""
        ...

    def scores(self, tokens: Tokens) -> Doubles:
        """Return the score of each label for each token, float64 [tokens, labels]."""
        ...


class Pool:
    """A tagger that adds the scores of others: a geometric mean of their probabilities, normalised over all sequences."""

    def __init__(self, members: Sequence[Member], shares: Sequence[float] = SHARES) -> None:
        self._members = list(zip(members, shares, strict=True))
        parts = zip(*(member.chain for member in members), strict=True)
        steps, first, last = (np.tensordot(shares, np.stack(part), 1) for part in parts)
        self._chain = steps, first, last

    def tag(self, text: str, tokens: Tokens) -> Tagging:
        """Return the labels of a citation of at least one token. The text itself is not used."""
        (member, share), *others = self._members
        scores = share * member.scores(tokens)
        for member, share in others:
            scores += share * member.scores(tokens)
        return infer(scores, *self._chain)


@cache
def shipped() -> Pool:
    """Return the tagger, read on first use. Raises ModelNotFound if one of its files is absent or damaged."""
    return Pool((HashedTagger.read(read(CRF), CRF), Network.read(read(BIGRU), BIGRU)))
