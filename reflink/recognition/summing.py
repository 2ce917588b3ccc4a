"""Sums of rows of a table: the first step of every tagger."""

from __future__ import annotations

from typing import Any

import numpy as np

from reflink.compiled import compiled

Array = np.ndarray[Any, np.dtype[Any]]


@compiled()
def row_sums(table: Array, numbers: Array) -> Array:
    """Return the sums of the rows ``numbers`` [tokens, features] of a float32 table [rows, columns]: [tokens, columns]."""
    sums = np.zeros((len(numbers), table.shape[1]), dtype=np.float32)
    for token in range(len(numbers)):
        for row in numbers[token]:
            for column in range(table.shape[1]):
                sums[token, column] += table[row, column]
    return sums
