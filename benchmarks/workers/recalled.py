"""Run the linker with a model that takes no time: it reads precomputed vectors, but still tokenises the texts.

    python -m benchmarks.workers.recalled linker

This measures a linker beside a GPU on a machine without one. ``RECALLED`` names the folder with the vectors.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reflink.semantic import Encoder
from reflink.semantic.encoder.spent import Spent
from workers.cli import main
from workers.linking.linker_stage import LinkerStage

FOLDER = "RECALLED"


def remember(texts: Sequence[str], folder: Path) -> None:
    """Encode the texts in advance and write their vectors."""
    distinct = list(dict.fromkeys(texts))
    np.save(folder / "vectors.npy", Encoder().encode(distinct))
    (folder / "texts.json").write_text(json.dumps(distinct))


class Recalled:
    """An encoder of texts whose vectors were computed in advance."""

    def __init__(self, encoder: Encoder, folder: Path) -> None:
        self._encoder = encoder
        self._vectors = np.load(folder / "vectors.npy")
        self._rows = {text: row for row, text in enumerate(json.loads((folder / "texts.json").read_text()))}
        self.spent = Spent()
        self.tokens_read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors, float32 [n, dim]."""
        started = time.perf_counter()
        self.tokens_read += int(self._encoder.tokens(texts).sum())
        self.spent.tokens_s += time.perf_counter() - started
        vectors: npt.NDArray[np.float32] = self._vectors[[self._rows[text] for text in texts]]
        return vectors


class RecallingStage(LinkerStage):
    """Encodes works with the model, and references with precomputed vectors."""

    def warm(self) -> None:
        """Warm the stage, then replace the encoder."""
        super().warm()
        self.encoder = Recalled(self.encoder, Path(os.environ[FOLDER]))  # type: ignore[assignment]


if __name__ == "__main__":
    from workers.linking import linker_stage as linker

    linker.LinkerStage = RecallingStage  # type: ignore[misc]
    sys.exit(main())
