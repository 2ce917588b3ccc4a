"""Intervals of a proportion, a number of hits among independent observations: Wilson's and Jeffreys'.

Brown, Cai and DasGupta, Interval estimation for a binomial proportion, Statistical Science 16(2), 2001.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Final

_DECIMALS: Final = 6
#: Halvings of [0, 1] that find a quantile to the last bit that matters, and max terms of the continued fraction.
_HALVINGS: Final = 60
_TERMS: Final = 10_000
_TINY: Final = 1e-300
_EXACT: Final = 1e-15


def wilson(hits: float, n: float, confidence: float = 0.95) -> list[float]:
    """Return Wilson's interval of the share ``hits / n``; [0, 1] without observations."""
    if n == 0:
        return [0.0, 1.0]
    z, share = NormalDist().inv_cdf((1 + confidence) / 2), hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return [round(max(0.0, centre - half), _DECIMALS), round(min(1.0, centre + half), _DECIMALS)]


def jeffreys(hits: int, n: int, confidence: float = 0.95) -> list[float]:
    """Return Jeffreys' interval of the share ``hits / n``: quantiles of the beta distribution of hits + 1/2 and misses + 1/2.

    The lower limit is 0 without a hit, and the upper limit 1 without a miss, as Brown et al. recommend.
    """
    a, b, tail = hits + 0.5, n - hits + 0.5, (1 - confidence) / 2
    low = 0.0 if hits == 0 else beta_quantile(tail, a, b)
    high = 1.0 if hits == n else beta_quantile(1 - tail, a, b)
    return [round(low, _DECIMALS), round(high, _DECIMALS)]


def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the quantile of the beta distribution with parameters ``a`` and ``b`` at probability ``p``."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if beta_share(middle, a, b) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def beta_share(x: float, a: float, b: float) -> float:
    """Return the probability of values up to ``x``: the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast below the mean
        return 1 - beta_share(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    return front / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction 1 + d1/(1 + d2/(1 + …)) of I_x(a, b), from the front by Lentz's method."""
    value, c, d = 1.0, 1.0, 0.0
    for term in range(1, _TERMS):
        m = term // 2
        if term % 2:
            step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        c = (1 + step / c) or _TINY
        d = 1 / ((1 + step * d) or _TINY)
        value *= c * d
        if abs(c * d - 1) < _EXACT:
            break
    return value
