"""The share of references whose work is absent from the catalog, estimated from the verdict's probabilities.

A reference's best candidate is the cited work with the odds that its evidence gives at equal shares, times the odds of
presence. The share is the weight of a mixture of two known components, so expectation maximisation needs no labels: the
expected number of absent works under a share gives the next share (Dempster, Laird and Rubin 1977; for class priors Saerens,
Latinne and Decaestecker 2002).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from reflink.entities import ID_KINDS, Link, Reference
from reflink.linking.policy import Policy
from reflink.verdict.evidence import Floats
from reflink.verdict.model import prior

#: The smallest share under which links are decided. A smaller share would link more of the references whose work is absent, and
#: a wrong estimate could feed itself (docs/accuracy.md has the measurement).
FLOOR: Final = 0.5
#: Bounds of an estimate.
LOWEST: Final = 0.02
HIGHEST: Final = 0.98
#: References of a share of one half by which the share of a batch is held back.
FEW: Final = 20.0
_ROUNDS: Final = 1000
_SMALL: Final = 1e-9
#: Difference of two probabilities from which they may be published differently.
_ROUNDING: Final = 2.5e-7
_REGISTRANT: Final = re.compile(r"doi:(10\.[0-9]{4,9})[./]")


def absent_given(log_odds: Sequence[float] | Floats, absent: float) -> Floats:
    """Return the probability, [n], that each work is absent, from log-odds at equal shares and the share ``absent``."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(np.asarray(log_odds, np.float64) + prior(absent))))


def fit(log_odds: Sequence[float] | Floats, weight: float = 0.0, toward: float = 0.5) -> float:
    """Return the most likely share of absent works for the references' ``log_odds`` [n] at equal shares.

    ``weight``: number of further references, a share ``toward`` of which is absent; they hold an estimate from few references
    back. The result is within LOWEST and HIGHEST; it is ``toward`` without any reference.
    """
    given = np.asarray(log_odds, np.float64)
    if not len(given):
        return toward
    share = 0.5
    for _ in range(_ROUNDS):
        before = share
        share = bounded((float(absent_given(given, share).sum()) + weight * toward) / (len(given) + weight))
        if abs(share - before) < _SMALL:
            break
    return share


def link_learnt(
    link: Callable[[Sequence[Reference], Policy], list[Link]], references: Sequence[Reference], policy: Policy
) -> tuple[list[Link], float]:
    """Link ``references`` under the share of absent works that they show themselves, at least FLOOR. Return it as estimated.

    ``link`` decides references under a policy. All are decided at equal shares first; then those are decided again that have
    another probability under the share. A share from few references is held back toward one half.
    """
    links = link(references, replace(policy, absent=0.5))
    share = fit([each for each in (log_odds_of(one, 0.5) for one in links) if each is not None], FEW)
    used = max(share, FLOOR)
    again = [row for row, one in enumerate(links) if _differs(one, used)]
    for row, one in zip(again, link([references[row] for row in again], replace(policy, absent=used)), strict=True):
        links[row] = one
    return links, share


def _differs(link: Link, share: float) -> bool:
    """Return whether the probability of the best or of the next candidate, as published, is another one under the share."""
    given = (link.probability, link.runner_up.probability if link.runner_up else None)
    factor = math.exp(float(prior(share)))
    return any(abs(p * factor / (1 - p + p * factor) - p) > _ROUNDING for p in given if p is not None)


def bounded(share: float) -> float:
    """Return the nearest share within LOWEST and HIGHEST."""
    return min(max(share, LOWEST), HIGHEST)


def log_odds_of(link: Link, absent: float) -> float | None:
    """Return the log-odds at equal shares that the best candidate is the cited work. ``absent``: the share of the outcome.

    Minus infinity if there was no candidate. None if the outcome says nothing about the catalog: the reference is empty, or no
    verdict was computed (profile ``paper``).
    """
    if link.probability is None:
        return -math.inf if link.unresolved == "no-candidate" else None
    if not 0 < link.probability < 1:  # rounded
        return math.inf if link.probability else -math.inf
    return math.log(link.probability / (1 - link.probability)) - float(prior(absent))


def source_of(citing: str) -> str:
    """Return the source of a citing paper: the registrant of its DOI (``10.1371``), else the kind of its id, else ``other``."""
    if match := _REGISTRANT.match(citing):
        return match[1]
    kind = citing.partition(":")[0]
    return kind if kind in ID_KINDS else "other"
