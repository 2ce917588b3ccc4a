"""Shares of absent works by source, learnt from a stream: what was seen, and the shares that the linker uses.

What was seen is forgotten exponentially. The shares in use are at least FLOOR. They change in steps of log-odds, and only when
the estimate has moved clearly beyond a step, so that links do not change back and forth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from reflink.linking.absence import FLOOR, absent_given, bounded, source_of

#: References after which an earlier one counts half.
HALF_LIFE: Final = 10_000
#: Sources counted apart; the references of others count together.
SOURCES: Final = 64
#: Sources with a share of their own, and the references (by weight) that each of them and all together need before they act.
LISTED: Final = 16
MIN_OF_SOURCE: Final = 300.0
MIN_OF_ALL: Final = 1000.0
#: References at the overall share by which the estimate of a source is held back.
STRENGTH: Final = 100.0
#: Distance between two shares in use, and from the share in use to the estimate at which the share changes, in log-odds.
STEP: Final = 0.5
MOVE: Final = 0.4
_KEEP: Final = 0.5 ** (1 / HALF_LIFE)
_DECIMALS: Final = 4


@dataclass(slots=True)
class Seen:
    """References seen, by weight, and the expected number of absent works among them."""

    weight: float = 0.0
    absent: float = 0.0

    def scale(self, factor: float) -> None:
        """Multiply both by ``factor``."""
        self.weight *= factor
        self.absent *= factor

    def add(self, other: Seen) -> None:
        """Add what another has seen."""
        self.weight += other.weight
        self.absent += other.absent

    def share(self, strength: float, toward: float) -> float:
        """Return the share of absent works, held back by ``strength`` references of which a share ``toward`` is absent."""
        return bounded((self.absent + strength * toward) / (self.weight + strength))


@dataclass(slots=True)
class Tally:
    """What was seen of a stream, by source; ``rest``: of all sources that are not counted apart."""

    sources: dict[str, Seen] = field(default_factory=dict)
    rest: Seen = field(default_factory=Seen)

    @classmethod
    def from_dict(cls, data: Mapping[str, Sequence[float]]) -> Self:
        """Return the tally that ``to_dict`` wrote."""
        seen = {name: Seen(*map(float, pair)) for name, pair in data.items()}
        rest = seen.pop("", Seen())
        return cls(seen, rest)

    def to_dict(self) -> dict[str, list[float]]:
        """Return JSON data: weight and absent works by source, the rest under the empty name."""
        seen = {**self.sources, "": self.rest}
        return {name: [round(each.weight, _DECIMALS), round(each.absent, _DECIMALS)] for name, each in seen.items()}

    def add(self, citing: str, log_odds: Sequence[float]) -> None:
        """Count references of one paper by their log-odds at equal shares.

        Each is absent with the probability that the present estimate gives: a step of online EM (Cappé and Moulines 2009).
        """
        source = source_of(citing)
        absent = absent_given(log_odds, self.share_of(source))
        for each in (*self.sources.values(), self.rest):
            each.scale(_KEEP ** len(log_odds))
        if source not in self.sources and len(self.sources) == SOURCES:
            smallest = min(self.sources, key=lambda name: (self.sources[name].weight, name))
            self.rest.add(self.sources.pop(smallest))
        weights = [_KEEP**age for age in reversed(range(len(log_odds)))]
        seen = Seen(sum(weights), float(sum(w * a for w, a in zip(weights, absent.tolist(), strict=True))))
        self.sources.setdefault(source, Seen()).add(seen)

    def merge(self, others: Iterable[Tally]) -> None:
        """Add what other tallies, of other parts of the stream, have seen."""
        for other in others:
            self.rest.add(other.rest)
            for name, seen in other.sources.items():
                self.sources.setdefault(name, Seen()).add(seen)

    def all(self) -> Seen:
        """Return what was seen of all sources."""
        total = Seen()
        for each in (*self.sources.values(), self.rest):
            total.add(each)
        return total

    def share_of(self, source: str | None = None) -> float:
        """Return the estimate for a source, held back toward that of all; without a source that of all."""
        overall = self.all().share(1.0, 0.5)
        return overall if source is None else self.sources.get(source, Seen()).share(STRENGTH, overall)


@dataclass(frozen=True)
class Shares:
    """The shares of absent works in use: of the listed sources, and ``overall`` of all others."""

    overall: float = 0.5
    sources: Mapping[str, float] = field(default_factory=dict)

    def of(self, citing: str) -> float:
        """Return the share for the references of a paper."""
        return self.sources.get(source_of(citing), self.overall) if self.sources else self.overall

    def after(self, tally: Tally) -> Shares:
        """Return the shares in use after ``tally``: these, unless an estimate has moved by MOVE from its share.

        A source is listed from MIN_OF_SOURCE references on and stays listed until it has fewer than half. Of more than LISTED
        sources those with most references are listed; a listed source then counts twice.
        """
        if tally.all().weight < MIN_OF_ALL:
            return self
        overall = _moved(self.overall, tally.share_of())
        weights = {name: seen.weight * (2 if name in self.sources else 1) for name, seen in tally.sources.items()}
        ranked = sorted((name for name in weights if weights[name] >= MIN_OF_SOURCE), key=lambda name: (-weights[name], name))
        listed = {name: _moved(self.sources.get(name, overall), tally.share_of(name)) for name in sorted(ranked[:LISTED])}
        return Shares(overall, listed)


def stepped(share: float) -> float:
    """Return the nearest of the shares that may be in use: multiples of STEP in log-odds, from FLOOR on."""
    return round(1 / (1 + math.exp(-STEP * round(_log_odds(_usable(share)) / STEP))), _DECIMALS)


def _moved(share: float, estimate: float) -> float:
    return stepped(estimate) if abs(_log_odds(_usable(estimate)) - _log_odds(share)) > MOVE else share


def _usable(share: float) -> float:
    return max(bounded(share), FLOOR)


def _log_odds(share: float) -> float:
    return math.log(share / (1 - share))
