"""A linear-chain conditional random field over hashed features of the tokens of a citation."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from reflink.errors import ModelNotFound
from reflink.recognition.features import BITS, features
from reflink.recognition.labels import LABELS
from reflink.recognition.tagging import Doubles, Tagging, infer
from reflink.recognition.tokens import Tokens
from reflink.shipped import read

Floats = np.ndarray[Any, np.dtype[np.float32]]

#: Version written into the weights' file. Increase it when the features, the labels or the file's layout change.
FORMAT: Final = 1
_ROWS: Final = 1 << BITS


@dataclass(frozen=True)
class HashedTagger:
    """Parameters of the random field.

    ``weights`` float32 [2**BITS, labels]: by feature. ``steps`` float64 [labels, labels]: from a token's label to the next
    token's. ``first`` and ``last`` float64 [labels]: for the first and the last token.
    """

    weights: Floats
    steps: Doubles
    first: Doubles
    last: Doubles

    def tag(self, text: str, tokens: Tokens) -> Tagging:
        """Return the labels of a citation of at least one token. The text itself is not used."""
        return infer(self.weights[features(tokens)].sum(axis=1).astype(np.float64), self.steps, self.first, self.last)

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


def load(path: Path) -> HashedTagger:
    """Return the tagger in a file. Raises ModelNotFound."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelNotFound(f"{path}: cannot be read ({error.strerror}): install reflink again") from None
    return HashedTagger.read(data, str(path))


@cache
def shipped() -> HashedTagger:
    """Return the tagger that comes with the package, read on first use. Raises ModelNotFound."""
    return HashedTagger.read(read("recognition/weights.npz"), "recognition/weights.npz")
