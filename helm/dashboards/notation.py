"""Numbers as Grafana writes them, for the units that the panels have."""

from __future__ import annotations

import math
from typing import Final

_THOUSANDS: Final = ("", " K", " Mil", " Bil")
_BYTES: Final = (" B", " KiB", " MiB", " GiB", " TiB")
#: Seconds of each, from the largest.
_TIMES: Final = ((86_400.0, " d"), (3600.0, " h"), (60.0, " min"), (1.0, " s"), (0.001, " ms"))


def written(value: float, unit: str, decimals: int | None = None) -> str:
    """The number with its unit, short: 1.2 K, 34%, 120 ms."""
    if not math.isfinite(value):
        return "no data"
    if unit == "percentunit":
        return f"{_plain(value * 100, 0 if decimals is None else decimals)}%"
    if unit == "s":
        return _time(value)
    if unit == "bytes":
        return _scaled(value, 1024.0, _BYTES, decimals)
    suffix = unit.partition("suffix:")[2]
    return _scaled(value, 1000.0, _THOUSANDS, decimals) + suffix


def _time(value: float) -> str:
    if value == 0:
        return "0 s"
    size, name = next((each for each in _TIMES if abs(value) >= each[0]), _TIMES[-1])
    return f"{_plain(value / size)}{name}"


def _scaled(value: float, step: float, names: tuple[str, ...], decimals: int | None) -> str:
    level = 0
    while abs(value) >= step and level < len(names) - 1:
        value, level = value / step, level + 1
    return _plain(value, None if level else decimals) + names[level]


def _plain(value: float, decimals: int | None = None) -> str:
    """With three digits that mean something, if nothing else is asked for."""
    return f"{value:.3g}" if decimals is None else f"{value:.{decimals}f}"
