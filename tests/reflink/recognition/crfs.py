"""Random taggers, and files of weights with changed arrays."""

from __future__ import annotations

import io

import numpy as np

from reflink.recognition.crf import HashedTagger
from reflink.recognition.features import BITS
from reflink.recognition.labels import LABELS

COUNT = len(LABELS)


def random_crf(seed: int) -> HashedTagger:
    rng = np.random.default_rng(seed)
    weights = rng.normal(0, 0.4, (1 << BITS, COUNT)).astype(np.float32)
    return HashedTagger(weights, rng.normal(0, 1, (COUNT, COUNT)), rng.normal(0, 1, COUNT), rng.normal(0, 1, COUNT))


def altered(file: bytes, **changed: object) -> bytes:
    """Return a file of weights with some arrays replaced, or left out where the value is None."""
    with np.load(io.BytesIO(file)) as arrays:
        parts = {name: arrays[name] for name in arrays.files}
    parts |= {name: np.array(value) for name, value in changed.items()}
    out = io.BytesIO()
    np.savez(out, **{name: part for name, part in parts.items() if changed.get(name, "") is not None}, allow_pickle=True)
    return out.getvalue()
