"""The rival: of a citation's candidates, the work whose metadata is most similar to the citation, and its similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from reflink.entities import Reference, Work
from reflink.errors import ModelNotFound
from reflink.evaluation.rivals.siamese.network import Network, Vectors, similarities
from reflink.evaluation.rivals.siamese.texts import Vocabulary, citation_tokens, extracted_names, metadata_tokens
from reflink.evaluation.rivals.siamese.training import ABOUT, WEIGHTS, Version

Scores = NDArray[np.float64]


class Answer(NamedTuple):
    """The best candidate and its score; None and 0.0 without candidates."""

    best: str | None
    score: float


class Siamese:
    """A trained network with its vocabulary. Vectors of works are kept, because a work is a candidate of many citations."""

    def __init__(self, network: Network, vocabulary: Vocabulary, version: Version, works: Mapping[str, Work]) -> None:
        self._network, self._vocabulary, self._version, self._works = network, vocabulary, version, works
        self._vectors: dict[str, Vectors] = {}

    @classmethod
    def read(cls, folder: Path, works: Mapping[str, Work]) -> Siamese:
        """Return the network that training wrote to ``folder``. Raises ModelNotFound."""
        try:
            about = orjson.loads((folder / ABOUT).read_bytes())
        except (OSError, orjson.JSONDecodeError) as error:
            raise ModelNotFound(f"{folder}: no Siamese network: {error}") from None
        return cls(
            Network.read(folder / WEIGHTS), Vocabulary(tuple(about["words"])), Version(**about["version"]), works
        )  # fmt: skip

    def citation_vectors(self, references: Sequence[Reference]) -> Vectors:
        """Return the vectors of citations: float32 [references, dimensions]."""
        authors = self._version.authors
        texts = [citation_tokens(each, () if authors else extracted_names(each)) for each in references]
        return self._network.encode([self._vocabulary.numbers(text) for text in texts])

    def encode_works(self, ids: Sequence[str]) -> None:
        """Encode the works that have no vector yet."""
        missing = sorted({id_ for id_ in ids if id_ not in self._vectors})
        texts = [metadata_tokens(self._works[id_], authors=self._version.authors) for id_ in missing]
        vectors = self._network.encode([self._vocabulary.numbers(text) for text in texts])
        self._vectors.update(zip(missing, vectors, strict=True))

    def scores(self, references: Sequence[Reference], candidates: Sequence[Sequence[str]]) -> list[Scores]:
        """Return the similarities of each citation with its candidates, in their order."""
        self.encode_works([id_ for ids in candidates for id_ in ids])
        found = []
        for vector, ids in zip(self.citation_vectors(references), candidates, strict=True):
            of = np.array([self._vectors[id_] for id_ in ids], np.float32).reshape(len(ids), len(vector))
            found.append(similarities(of, vector))
        return found


def best_of(ids: Sequence[str], scores: Sequence[float] | NDArray[np.floating]) -> Answer:
    """Return the candidate with the highest score, of several the first."""
    if not len(ids):
        return Answer(None, 0.0)
    at = int(np.argmax(scores))
    return Answer(ids[at], float(scores[at]))
