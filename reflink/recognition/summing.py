"""Sums of rows of a table: the first step of every tagger."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from reflink.compiled import compiled
from reflink.tiered import Plain

#: Limits of the taggers' kernels as plain Python, for those whose results are then the same to the last bit.
PLAIN: Final = Plain(1.0, 10_000)

Array = np.ndarray[Any, np.dtype[Any]]


@compiled(plain=PLAIN)
def row_sums(numbers: Array, table: Array) -> Array:
    """Return the sums of the rows ``numbers`` [tokens, features] of a float32 table [rows, columns]: [tokens, columns]."""
    sums = np.zeros((len(numbers), table.shape[1]), dtype=np.float32)
    for token in range(len(numbers)):
        for row in numbers[token]:
            for column in range(table.shape[1]):
                sums[token, column] += table[row, column]
    return sums
