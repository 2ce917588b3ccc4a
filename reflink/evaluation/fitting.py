"""Fits the verdict's scorecards to training pairs, and measures the rates of links at their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from reflink.evaluation.pairs import SOURCES, Pairs
from reflink.evaluation.regression import Flags, Floats, train
from reflink.verdict.evidence import COLUMN, UNTITLED
from reflink.verdict.model import CARDS, SUBJECTS, Model, zeros
from reflink.verdict.rates import Rate
from reflink.verdict.scorecard import FEATURES, features

PENALTY: Final = 2.0
TRIM: Final = 0.02
ROUNDS: Final = 2
#: Log-odds against any link.
FAR: Final = 20.0
#: About 0.5% of the identifiers in bibliographies name another work: log(0.995 / 0.005).
IDENTIFIER: Final = 5.3
#: Two identifiers of a kind that differ. A work may have two DOIs, or an id may be wrong: rare, but too frequent to exclude it.
CONTRADICTION: Final = -3.0
#: On a scorecard the sources weigh the same, but no reference counts more often than this.
MOST: Final = 4.0
#: Minimum log-odds for which the model records the rates of links.
LEAST: Final = tuple(step / 2 for step in range(-8, 23))


def fit(pairs: Pairs, without: int | None = None) -> tuple[Model, int]:
    """Return the model of all pairs, or of the pairs outside one fold, and the number of pairs left out as wrongly labelled."""
    points, middle = zeros()
    wanted = np.ones(len(pairs.y), dtype=bool) if without is None else pairs.fold != without
    signs = np.array([feature.sign * (1.0 + feature.least) for feature in FEATURES])
    left_out = 0
    for card in range(len(CARDS)):
        mine = wanted & (pairs.rows[:, COLUMN["card"]] == card)
        rows, y = pairs.rows[mine], pairs.y[mine]
        holds = features(rows)
        if y.any() and not y.all():
            points[card], out = train(
                holds, y, signs, pairs.query[mine], weight=balanced(pairs, mine), penalty=PENALTY, trim=TRIM, rounds=ROUNDS
            )
            middle[card] = _middle(holds, y, points[card])
            left_out += out
        else:
            points[card, -1] = -FAR  # an untrained card links nothing
    return Model.from_dict(Model(points, middle, IDENTIFIER, CONTRADICTION).to_dict()), left_out


def balanced(pairs: Pairs, mine: Flags) -> Floats:
    """Return the weights of the pairs ``mine`` [n] on one scorecard, by which each source has the same weight.

    The weight of a source is that of its right pairs. The pairs of the lighter source count more often, at most MOST times. On
    the card of references without title and authors every pair counts once: this card is calibrated at the natural absence of
    PubMed's lists, more than nine of ten, since the default share of absent works would link too much there.
    """
    if (pairs.rows[mine, COLUMN["card"]] == UNTITLED).all():
        return np.ones(int(mine.sum()))
    weight, source, y = pairs.weight[mine].copy(), pairs.source[mine], pairs.y[mine]
    sums = np.bincount(source, weight * y, len(SOURCES))
    for number, own in enumerate(sums.tolist()):
        if own:
            weight[source == number] *= min(MOST, float(sums.max()) / own)
    return weight


def _middle(holds: Flags, y: Flags, points: Floats) -> Floats:
    """Return each subject's score halfway between the right and the wrong pairs."""
    mean = (holds[y].mean(axis=0) + holds[~y].mean(axis=0)) / 2 * points[:-1]
    return np.array([mean[[f.subject == subject for f in FEATURES]].sum() for subject in SUBJECTS])


def rates(pairs: Pairs, models: Sequence[Model], absent: Flags) -> list[Rate]:
    """Return the rates of links at or above each of LEAST in two open worlds, the protocol's and the one with the other half.

    So every reference of an article has its target once and lacks it once. Each pair is judged by the model that was trained
    without its paper. ``absent`` bool [articles' references]: its target is absent in the protocol's open world.
    """
    asked = pairs.query < pairs.asked
    odds = np.zeros(len(pairs.y))
    for fold, model in enumerate(models):
        mine = asked & (pairs.fold == fold)
        odds[mine] = model.log_odds(pairs.rows[mine])
    right, wrong, false = (np.empty(0) for _ in range(3))
    for removed, none in ((pairs.removed, absent), (~pairs.removed, ~absent)):
        kept = np.flatnonzero(asked & ~removed)
        order = kept[np.lexsort((-odds[kept], pairs.query[kept]))]
        best = order[np.unique(pairs.query[order], return_index=True)[1]]
        lacks = none[pairs.query[best]]
        right = np.append(right, odds[best][pairs.y[best] & ~lacks])
        wrong = np.append(wrong, odds[best][~pairs.y[best] & ~lacks])
        false = np.append(false, odds[best][lacks])
    return [Rate(least, *(_share(part >= least, pairs.asked) for part in (right, wrong, false))) for least in LEAST]


def _share(hits: Flags, n: int) -> float:
    return round(float(hits.sum() / n), 6)
