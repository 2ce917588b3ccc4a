"""Sets of character trigrams as sorted arrays: made and compared by compiled kernels, many times faster than sets of strings.

A gram is one uint64: three code points of 21 bits each. A text of one or two characters is its own only gram. The kernels keep
the GIL: they take a microsecond, and another thread that gets it keeps it for milliseconds.
"""

from __future__ import annotations

from typing import Final

import numba
import numpy as np
import numpy.typing as npt

Grams = npt.NDArray[np.uint64]

_BITS: Final = 21  # of a code point
_LENGTH: Final = 3
#: Characters of a text that is its own only gram, at most.
MOST_SHORT: Final = _LENGTH - 1


def grams(text: str) -> Grams:
    """The trigrams of ``text``, each once, ascending. Raises UnicodeEncodeError for lone surrogates."""
    found: Grams = _grams(np.frombuffer(text.encode("utf-32-le"), np.uint32))
    return found


def common(a: Grams, b: Grams) -> int:
    """How many grams two sets share."""
    return int(_common(a, b))


def overlap(a: Grams, b: Grams) -> float:
    """s = 2JC/(J+C) of two trigram sets, as 2o / (|a| + |b| + min(|a|, |b|) - o) (method, section Lexical)."""
    shared = common(a, b)
    return 2 * shared / (len(a) + len(b) + min(len(a), len(b)) - shared) if shared else 0.0


def containment(part: Grams, whole: Grams) -> float:
    """Share of ``part``'s grams that ``whole`` has."""
    return common(part, whole) / len(part) if len(part) else 0.0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _grams(codes: npt.NDArray[np.uint32]) -> Grams:
    number = len(codes)
    out = np.empty(max(number - _LENGTH + 1, min(number, 1)), np.uint64)
    for at in range(len(out)):
        gram = np.uint64(0)
        for position in range(at, min(at + _LENGTH, number)):
            gram = (gram << np.uint64(_BITS)) | np.uint64(codes[position])
        out[at] = gram
    out.sort()
    size = 0
    for gram in out:
        if size == 0 or out[size - 1] != gram:
            out[size] = gram
            size += 1
    return out[:size].copy()


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _common(a: Grams, b: Grams) -> int:
    i, j, count = 0, 0, 0
    while i < len(a) and j < len(b):
        count += a[i] == b[j]
        step = a[i] <= b[j]
        j += b[j] <= a[i]
        i += step
    return count
