"""Rows of the embedding table for each token: the word, its letters, its shape, and its position in the citation.

Words and letters are hashed, so that the table has a fixed size and no vocabulary. The parameters depend on every number: any
change requires new training and a new `reflink.recognition.bigru.network.FORMAT`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from reflink.recognition.features import described, positions
from reflink.recognition.tokens import Tokens

Rows = np.ndarray[Any, np.dtype[np.int32]]

#: Rows for the word (by two parts of its hash, so that two words rarely share both), its shape, its class, its first three,
#: last three and last two letters, and five numbers of its position (`reflink.recognition.features.positions`): a space before
#: it, its sentence and punctuation, its place in the sentence, its share of the text, and its distances from the text's ends.
SIZES: Final = (8192, 8192, 128, 32, 2048, 4096, 1024, 2, 72, 8, 48, 272)
#: First row of each of them; both parts of the hash have the same rows.
OFFSETS: Final = np.cumsum((0, 0, *SIZES[1:-1]), dtype=np.uint64)
_MODULI: Final = np.array(SIZES, dtype=np.uint64)
#: Number of rows of the table.
TOTAL: Final = sum(SIZES[1:])


def encode(tokens: Tokens) -> Rows:
    """Return row numbers, int32 [tokens, len(SIZES)], each below TOTAL."""
    words = described(tokens)
    numbers = np.column_stack((words[:, 0] // _MODULI[1], words[:, :-1], positions(tokens, words)))
    rows: Rows = (numbers % _MODULI + OFFSETS).astype(np.int32)
    return rows
