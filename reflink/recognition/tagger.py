"""A linear-chain conditional random field over the tokens of a citation: most probable labels and their probabilities."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np

from reflink.errors import ModelNotFound
from reflink.recognition.features import BITS, Indices
from reflink.recognition.labels import LABELS, label_runs
from reflink.shipped import read

Floats = np.ndarray[Any, np.dtype[np.float32]]
Doubles = np.ndarray[Any, np.dtype[np.float64]]

#: Version written into the weights' file. Increase it when the features, the labels or the file's layout change.
FORMAT: Final = 1
_ROWS: Final = 1 << BITS
#: Limit of the scores: prevents overflow, and larger scores do not change a probability.
_CLIP: Final = 60.0


class Tagging(NamedTuple):
    """Labels of n tokens with their probabilities.

    ``labels`` [n]: each token's most probable label. ``sure`` [n, labels]: probability of each label. ``stays`` [n, labels]:
    probability that a token and the next token both have the label (0 for the last token).
    """

    labels: list[int]
    sure: Doubles
    stays: Doubles


class Span(NamedTuple):
    """Tokens ``[start, stop)`` with one label, and the probability that exactly these tokens form a run of that label."""

    label: int
    start: int
    stop: int
    probability: float


@dataclass(frozen=True)
class Tagger:
    """Parameters of the random field.

    ``weights`` float32 [2**BITS, labels]: by feature. ``steps`` float64 [labels, labels]: from a token's label to the next
    token's. ``first`` and ``last`` float64 [labels]: for the first and the last token.
    """

    weights: Floats
    steps: Doubles
    first: Doubles
    last: Doubles

    def tag(self, features: Indices) -> Tagging:
        """Return the labels of a citation of at least one token, from ``features`` [tokens, features]: forward-backward."""
        scores = self.weights[features].sum(axis=1).astype(np.float64)
        scores[0] += self.first
        scores[-1] += self.last
        scores -= scores.max(axis=1, keepdims=True)
        emit = np.exp(np.maximum(scores, -_CLIP))
        step = np.exp(np.clip(self.steps, -_CLIP, _CLIP))
        size, count = emit.shape
        forward, backward = np.empty((size, count)), np.empty((size, count))
        norms = np.empty(size)
        state = emit[0]
        for at in range(size):
            if at:
                state = (state @ step) * emit[at]
            norm = state.sum()
            state = state / norm
            forward[at], norms[at] = state, norm
        back = step.T
        state = np.ones(count)
        backward[-1] = state
        weighted = emit / norms[:, None]
        for at in range(size - 1, 0, -1):
            state = (state * weighted[at]) @ back
            backward[at - 1] = state
        sure = forward * backward
        stays = np.zeros((size, count))
        stays[:-1] = forward[:-1] * np.diagonal(step) * weighted[1:] * backward[1:]
        return Tagging(sure.argmax(axis=1).tolist(), sure, stays)

    @classmethod
    def read(cls, data: bytes, name: str) -> Self:
        """Return the tagger that ``to_bytes`` wrote. Raises ModelNotFound if the file is damaged or of another version."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                found = {key: arrays[key] for key in arrays.files}
            version, names = int(found["format"]), str(found["labels"])
            quantised, scale = found["weights"], float(found["scale"])
            others = [found[key].astype(np.float64) for key in ("steps", "first", "last")]
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
            raise ModelNotFound(f"{name}: not a file of the recogniser's weights ({error}): install reflink again") from None
        count = len(LABELS)
        shapes = [array.shape for array in (quantised, *others)]
        sound = quantised.dtype == np.int8 and np.isfinite(scale) and all(np.isfinite(array).all() for array in others)
        if version != FORMAT or names != LABELS or shapes != [(_ROWS, count), (count, count), (count,), (count,)] or not sound:
            raise ModelNotFound(f"{name}: the recogniser's weights are of another version: train them again with this one")
        return cls(quantised.astype(np.float32) * np.float32(scale), *others)

    def to_bytes(self) -> bytes:
        """Return the weights' file: compressed arrays, weights in 8 bits. Equal weights give equal bytes."""
        scale = float(np.abs(self.weights).max()) / 127 or 1.0
        arrays = {
            "format": np.array(FORMAT), "labels": np.array(LABELS), "scale": np.array(scale, dtype=np.float64),
            "weights": np.rint(self.weights / scale).astype(np.int8), "steps": self.steps.astype(np.float32),
            "first": self.first.astype(np.float32), "last": self.last.astype(np.float32),
        }  # fmt: skip
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for key, array in arrays.items():
                part = io.BytesIO()
                np.save(part, array, allow_pickle=False)
                packed.writestr(zipfile.ZipInfo(f"{key}.npy", (1980, 1, 1, 0, 0, 0)), part.getvalue(), zipfile.ZIP_DEFLATED, 9)
        return out.getvalue()


def spans(tagging: Tagging) -> list[Span]:
    """Return the runs of equal labels, in order."""
    found: list[Span] = []
    labels, sure, stays = tagging
    for label, start, stop in label_runs(labels):
        # Markov chain: P(the run starts here) * P(it continues at each token) * P(it ends at the last).
        own = np.maximum(sure[start:stop, label], 1e-12)
        begins = own[0] - (stays[start - 1, label] if start else 0.0)
        on = (stays[start : stop - 1, label] / own[:-1]).prod()
        ends = (own[-1] - stays[stop - 1, label]) / own[-1]
        found.append(Span(label, start, stop, float(min(max(begins * on * ends, 0.0), 1.0))))
    return found


def load(path: Path) -> Tagger:
    """Return the tagger in a file. Raises ModelNotFound."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelNotFound(f"{path}: cannot be read ({error.strerror}): install reflink again") from None
    return Tagger.read(data, str(path))


@cache
def shipped() -> Tagger:
    """Return the tagger that comes with the package, read on first use. Raises ModelNotFound."""
    return Tagger.read(read("recognition/weights.npz"), "recognition/weights.npz")
