"""The catalog as one worker has it, and the encoder: what linker and fallback look at."""

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
from tests.convergence.topics import Topics
from workers.following import change_of

CATALOG: Final = ("catalog", 0)
_DIM: Final = 24
#: Works added at a time at most.
_BULK: Final = 4096


@dataclass
class Spent:
    """What the linker asks about its encoder's time."""

    tokens_s: float = 0.0


@dataclass
class Memory:
    """What the linker asks about its encoder's memory."""

    tokens: int = 0
    halved: int = 0


class WordEncoder:
    """Vectors of the words' hashes: near texts are near, equal ones equal, in no time."""

    name, precision, separator, dim, device = "words@1", "fp32", SEP, _DIM, "cpu"

    def __init__(self) -> None:
        self.tokens_read, self.spent, self.memory = 0, Spent(), Memory()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Of length 1 each."""
        vectors = np.zeros((len(texts), _DIM), np.float32)
        for row, text in enumerate(texts):
            words = text.lower().split()
            self.tokens_read += len(words)
            for word in words:
                code = zlib.crc32(word.encode())
                vectors[row, code % _DIM] += 1.0 if code & 4096 else -1.0
            vectors[row, 0] += 0.01  # no text is without a direction
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / norms


class Replica:
    """A worker's catalog, as far as it has followed the topic. It stands in for the stage's follower."""

    def __init__(self, topics: Topics, *, vectors: bool, trigrams: bool, encoder: WordEncoder | None) -> None:
        self._topics, self._vectors, self._trigrams, self._encoder = topics, vectors, trigrams, encoder
        self.begin_anew()

    def begin_anew(self) -> None:
        """As a process that starts without a snapshot."""
        encoder = self._encoder if self._vectors else None
        self.catalog = Catalog.empty(
            dim=None if encoder is None else encoder.dim,
            model=None if encoder is None else encoder.name,
            precision=None if encoder is None else encoder.precision,
            lexical_mode="Raw" if self._trigrams else None,
        )

    def follow(self, most: int | None = None) -> bool:
        """Applies so many events; whether there were any."""
        records = self._topics.read(CATALOG, self.catalog.offset, most)
        changes = [change for record in records if (change := change_of_record(record.key, record.value)) is not None]
        # As the follower does: runs of additions and of removals, each as one call.
        for gone, run in itertools.groupby(changes, key=lambda change: isinstance(change, str)):
            if gone:
                self.catalog.remove([each for each in run if isinstance(each, str)])
            else:
                self._add([each for each in run if isinstance(each, Work)])
        if records:
            self.catalog.offset = records[-1].offset + 1
        if most is None or len(records) < most:
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
        """What a stage asks of its follower. Raises AssertionError for what will never come."""
        assert offset <= self._topics.end(CATALOG), f"version {offset} of the catalog is asked for, and there is no such one"
        while self.catalog.offset < offset:
            self.follow(1)


def change_of_record(key: bytes | None, value: bytes | None) -> Work | str | None:
    """None for an event that no follower takes."""
    try:
        return change_of(key, value)
    except BadRecord:
        return None
