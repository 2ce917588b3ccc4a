"""Time spent by an encoder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Spent:
    """Wall-clock seconds since the encoder was created: of tokenising, and of the model including copies.

    A GPU computes while the next texts are tokenised; ``model_s`` then counts only the time spent waiting for it.
    """

    tokens_s: float = 0.0
    model_s: float = 0.0
