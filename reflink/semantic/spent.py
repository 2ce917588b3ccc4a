"""Where an encoder's time went."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Spent:
    """Seconds since the encoder was made, as a clock on the wall tells them: tokenising, and the model with its copies.

    A GPU computes while the next texts are tokenised; the model's seconds are then those that were waited for it.
    """

    tokens_s: float = 0.0
    model_s: float = 0.0
