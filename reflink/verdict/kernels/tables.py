"""The tables that the kernels read, as one argument. They are not constants, because `letters` fills its tables on demand."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reflink.verdict.kernels.letters import EXPANSIONS, FOLDS, KINDS
from reflink.verdict.kernels.vocabulary import VALUES, WORDS, Hashes, Ints


class Tables(NamedTuple):
    """``folds``, ``kinds``, ``expansions``: of characters (`letters`). ``words``, ``values``: of words (`vocabulary`)."""

    folds: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.uint16]
    expansions: npt.NDArray[np.int32]
    words: Hashes
    values: Ints


TABLES: Final = Tables(FOLDS, KINDS, EXPANSIONS, WORDS, VALUES)
