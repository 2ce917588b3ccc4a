"""``python -m tests.campaigns.convergence.worker linker``: the real worker command, but with an encoder that needs no model."""

from __future__ import annotations

import sys

from tests.campaigns.convergence.replicas import WordEncoder
from workers.cli import main
from workers.config.settings import LinkerSettings
from workers.linking import vectors


def word_encoders(settings: LinkerSettings) -> tuple[WordEncoder, WordEncoder]:
    """Return the word encoder, twice, in place of the model's encoders."""
    encoder = WordEncoder()
    return encoder, encoder


if __name__ == "__main__":
    vectors.load_encoders = word_encoders  # type: ignore[assignment]
    sys.exit(main())
