"""The precision of links at a minimum probability, for any share of references whose work is absent from the catalog.

A precision depends on that share: the more works are absent, the more false links and the fewer right ones. Therefore the rates
of links are measured apart for references whose work is present and for those whose work is absent; the share then weighs them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Rate(NamedTuple):
    """Links from the log-odds ``least`` on, at equal shares of present and absent works.

    ``right``, ``wrong``: share of the references with a present work whose link is right, or names another work. ``false``:
    share of the references with an absent work that are linked.
    """

    least: float
    right: float
    wrong: float
    false: float

    def precision(self, absent: float) -> float:
        """Return the share of right links if a share ``absent`` of the works is absent; 0 without links."""
        right, others = (1 - absent) * self.right, (1 - absent) * self.wrong + absent * self.false
        return right / (right + others) if right else 0.0


def least_for(rates: Sequence[Rate], precision: float, absent: float) -> float:
    """Return the lowest minimum probability, under the prior of ``absent``, whose links have that precision.

    If none has, return the one with the highest precision. Raises ValueError without rates.
    """
    if not rates:
        raise ValueError("the model has no measured precision")
    reaching = (rate for rate in rates if rate.precision(absent) >= precision)
    rate = next(reaching, None) or max(rates, key=lambda each: each.precision(absent))
    return 1 / (1 + math.exp(-(rate.least + math.log((1 - absent) / absent))))


def highest(rates: Sequence[Rate], absent: float) -> float:
    """Return the highest precision at any minimum probability; 0 without rates."""
    return max((rate.precision(absent) for rate in rates), default=0.0)
