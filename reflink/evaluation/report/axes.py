"""Axes: from values to places between 0 and 1, and the ticks to read them by."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

Format = Callable[[float], str]

_LOGIT_TICKS: Final = (0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)


def percent(value: float) -> str:
    """A fraction in percent, as few decimals as it needs."""
    return f"{100 * value:.4f}".rstrip("0").rstrip(".") + "%"


def plain(value: float) -> str:
    """A number, thousands apart, as few decimals as it needs."""
    if abs(value) >= 1 or not value:
        return f"{value:,.6f}".rstrip("0").rstrip(".")
    return f"{value:.6g}"


@dataclass(frozen=True)
class Linear:
    """Even steps from ``low`` to ``high``, which differ."""

    low: float
    high: float
    label: str = ""
    format: Format = field(default=plain)

    def place(self, value: float) -> float:
        """Where a value lies, in [0, 1]; beyond the ends at the end."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def ticks(self) -> list[float]:
        """Three to seven round numbers within the axis: steps of 1, 2 or 5 times a power of ten."""
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [round(number * step, 12) for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Log:
    """Even steps are equal factors, from ``low`` above 0 to ``high``. 0 lies at the low end."""

    low: float
    high: float
    label: str = ""
    format: Format = field(default=plain)

    def place(self, value: float) -> float:
        """As Linear's."""
        if value <= self.low:
            return 0.0
        return min(1.0, math.log(value / self.low) / math.log(self.high / self.low))

    def ticks(self) -> list[float]:
        """Powers of ten within the axis, of many only some; where there are fewer than three, twice and five times them too."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        if last - first >= 2:
            return [float(f"1e{power}") for power in range(first, last + 1, (last - first) // 6 + 1)]
        fine = (float(f"{factor}e{power}") for power in range(first - 1, last + 1) for factor in (1, 2, 5))
        found = [value for value in fine if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]
        return found if len(found) > 1 else Linear(self.low, self.high).ticks()


@dataclass(frozen=True)
class Logit:
    """Even steps are equal log-odds: 0.1% is as far from 1% as 99% from 99.9%. Within (0, 1), ends included."""

    low: float
    high: float
    label: str = ""
    format: Format = field(default=percent)

    def place(self, value: float) -> float:
        """As Linear's."""
        inside = min(self.high, max(self.low, value))
        low, high = _log_odds(self.low), _log_odds(self.high)
        return min(1.0, max(0.0, (_log_odds(inside) - low) / (high - low)))

    def ticks(self) -> list[float]:
        """0.1%, 1%, 10%, … within the axis."""
        return [value for value in _LOGIT_TICKS if self.low * (1 - 1e-9) <= value <= self.high + (1 - self.high) * 1e-9]


Axis = Linear | Log | Logit


def _log_odds(p: float) -> float:
    return math.log(p / (1 - p))


def around(values: list[float], *, least: float = 0.02, floor: float = 0.0, ceiling: float = 1.0) -> tuple[float, float]:
    """Bounds of an axis that holds all values with some air, at least ``least`` apart, within ``floor`` and ``ceiling``."""
    low, high = (min(values), max(values)) if values else (floor, ceiling)
    air = max(0.05 * (high - low), (least - (high - low)) / 2)
    return max(floor, low - air), min(ceiling, high + air)
