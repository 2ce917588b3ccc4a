"""``python -m tests.convergence.worker linker``: a worker with an encoder that needs no model. Otherwise the real command."""

from __future__ import annotations

import sys

from tests.convergence.replicas import WordEncoder
from workers import linker
from workers.cli import main
from workers.settings import LinkerSettings


def word_encoders(settings: LinkerSettings) -> tuple[WordEncoder, WordEncoder]:
    """In place of the model's."""
    encoder = WordEncoder()
    return encoder, encoder


if __name__ == "__main__":
    linker.load_encoders = word_encoders  # type: ignore[assignment]
    sys.exit(main())
