"""A worker's replica of the catalog, and the encoder: the state that linker and fallback use."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reflink.catalog import Catalog
from reflink.entities import Work
from reflink.errors import BadRecord
from reflink.text import SEP
from tests.campaigns.convergence.topics import Topics
from workers.catalog.follower import change_of

CATALOG: Final = ("catalog", 0)
_DIM: Final = 24
#: Maximum number of works added at once.
_BULK: Final = 4096


@dataclass
class Spent:
    """The time statistics that the linker reads from its encoder."""

    tokens_s: float = 0.0


@dataclass
class Memory:
    """The memory statistics that the linker reads from its encoder."""

    tokens: int = 0
    halved: int = 0


class WordEncoder:
    """A fast encoder from hashes of words: similar texts have similar vectors, and equal texts have equal vectors."""

    name, precision, separator, dim, device = "words@1", "fp32", SEP, _DIM, "cpu"

    def __init__(self) -> None:
        self.tokens_read, self.spent, self.memory = 0, Spent(), Memory()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per text, of norm 1."""
        vectors = np.zeros((len(texts), _DIM), np.float32)
        for row, text in enumerate(texts):
            words = text.lower().split()
            self.tokens_read += len(words)
            for word in words:
                code = zlib.crc32(word.encode())
                vectors[row, code % _DIM] += 1.0 if code & 4096 else -1.0
            vectors[row, 0] += 0.01  # so that no vector is zero
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / norms


class Replica:
    """A worker's catalog, as far as it has followed the topic. It replaces the stage's follower."""

    def __init__(self, topics: Topics, *, vectors: bool, trigrams: bool, encoder: WordEncoder | None) -> None:
        self._topics, self._vectors, self._trigrams, self._encoder = topics, vectors, trigrams, encoder
        self.reset()

    def reset(self) -> None:
        """Begin with an empty catalog, like a process that starts without a snapshot."""
        encoder = self._encoder if self._vectors else None
        self.catalog = Catalog.empty(
            dim=None if encoder is None else encoder.dim,
            model=None if encoder is None else encoder.name,
            precision=None if encoder is None else encoder.precision,
            lexical_mode="Raw" if self._trigrams else None,
        )

    def follow(self, limit: int | None = None) -> bool:
        """Apply at most ``limit`` events. Return whether there were any."""
        records = self._topics.read(CATALOG, self.catalog.offset, limit)
        changes = [change for record in records if (change := change_of_record(record.key, record.value)) is not None]
        # Like the follower: apply each run of additions, and each run of removals, by one call.
        for gone, run in itertools.groupby(changes, key=lambda change: isinstance(change, str)):
            if gone:
                self.catalog.remove([each for each in run if isinstance(each, str)])
            else:
                self._add([each for each in run if isinstance(each, Work)])
        if records:
            self.catalog.offset = records[-1].offset + 1
        if limit is None or len(records) < limit:
            self.catalog.offset = self._topics.end(CATALOG)
        return bool(records)

    def _add(self, works: Sequence[Work]) -> None:
        for start in range(0, len(works), _BULK):
            part = works[start : start + _BULK]
            if self._vectors and self._encoder is not None:
                self.catalog.add_encoded(part, self._encoder)
            else:
                self.catalog.add(part)

    def wait_for(self, offset: int, deadline_s: float) -> None:
        """Follow the catalog to ``offset``. Raises AssertionError if the offset is beyond the end of the topic."""
        assert offset <= self._topics.end(CATALOG), f"the catalog has no offset {offset}"
        while self.catalog.offset < offset:
            self.follow(1)


def change_of_record(key: bytes | None, value: bytes | None) -> Work | str | None:
    """Return the work, or the id of a removed work; None for an event that followers reject."""
    try:
        return change_of(key, value)
    except BadRecord:
        return None
