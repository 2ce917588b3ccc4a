"""The features that the verdict counts: each is a conjunction of a few conditions on the evidence.

A card assigns points, in log-odds, to each feature; a pair's score is the sum of its features' points. No feature's points
depend on another feature, so the reasons of a verdict are exact. Evidence that counts jointly (volume and page both agree) has
a feature of its own.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reflink.verdict.evidence import COLUMN, Floats

_MOST: Final = 1e9


class Feature(NamedTuple):
    """One feature of the evidence.

    ``sign``: 1 if the feature may only count for a link, -1 only against it, 0 either. ``conditions``: column of the evidence,
    lowest and highest value; a NaN column fails. ``silent``: columns that must be NaN. ``least``: minimum log-odds of the
    feature, for known effects that are too rare in the data to be learnt.
    """

    name: str
    subject: str
    sign: int
    conditions: tuple[tuple[str, float, float], ...]
    silent: tuple[str, ...] = ()
    least: float = 0.0


def _least(column: str, value: float) -> tuple[str, float, float]:
    return column, value, _MOST


def _below(column: str, value: float) -> tuple[str, float, float]:
    return column, -_MOST, float(np.nextafter(value, -1))


def _is(column: str, value: float) -> tuple[str, float, float]:
    return column, value, value


def _steps(
    subject: str, column: str, steps: tuple[float, ...], *more: tuple[str, float, float], name: str = ""
) -> list[Feature]:
    """Return one feature for each lower bound of ``column`` in ``steps``. They measure agreement, so none counts against."""
    return [
        Feature(f"{name or column}_{f'{step:g}'.replace('0.', '')}", subject, 1, (_least(column, step), *more))
        for step in steps
    ]


_VOLUME, _PAGE, _YEAR = _is("volume", 1.0), _is("page", 1.0), _is("year", 0.0)
_OTHER_VOLUME, _OTHER_PAGE, _OTHER_YEAR = _is("volume", 0.0), _is("page", 0.0), _least("year", 1.0)
_SPECIFIC, _SAME_VENUE, _WITHIN = _least("length", 40.0), _least("venue", 0.75), _least("cover", 0.97)

FEATURES: Final[tuple[Feature, ...]] = (
    *_steps("title", "title", (0.5, 0.7, 0.8, 0.9, 0.97)),
    Feature("title_equal", "title", 1, (_is("equal", 1.0),)),
    *_steps("title", "cover", (0.7, 0.8, 0.9, 0.97)),
    Feature("title_other", "title", -1, (_below("title", 0.5), _below("cover", 0.7))),
    Feature("title_other_unplaced", "title", -1, (_below("title", 0.5), _below("cover", 0.7)), ("page",)),
    Feature("title_other_page", "title", -1, (_below("title", 0.5), _below("cover", 0.7), _OTHER_PAGE)),
    Feature("title_beginning", "title", 1, (_is("beginning", 1.0), _SPECIFIC)),
    Feature("title_missing", "title", 0, (), ("title",)),
    Feature("title_under_20", "title", -1, (_below("length", 20.0), _least("cover", 0.8))),
    Feature("title_under_40", "title", -1, (_below("length", 40.0), _least("cover", 0.8))),
    Feature("title_under_10", "title", -1, (_below("length", 10.0),)),
    *_steps("title", "contained", (0.4, 0.6, 0.8, 0.9, 0.97), name="text"),
    Feature("text_under_20", "title", -1, (_below("length", 20.0), _least("contained", 0.8)), ("title",)),
    Feature("text_under_40", "title", -1, (_below("length", 40.0), _least("contained", 0.8)), ("title",)),
    *_steps("authors", "authors", (0.25, 0.45, 0.6, 0.75, 0.9)),
    Feature("authors_missing", "authors", 0, (), ("authors",)),
    Feature("authors_none", "authors", -1, (_is("authors", 0.0),)),
    *_steps("authors", "agreeing", (1.8, 2.6, 4.0), _least("authors", 0.7)),
    *_steps("authors", "first_author", (0.6, 0.9)),
    Feature("first_author_differs", "authors", -1, (_below("first_author", 0.6),)),
    Feature("second_author_differs", "authors", -1, (_is("second_author", 0.0), _least("first_author", 0.6)), (), 2.2),
    Feature("group", "authors", -1, (_is("group", 1.0), _least("authors", 0.6))),
    Feature("year", "year", 1, (_YEAR,)),
    Feature("year_near", "year", 0, (_is("year", 1.0),)),
    Feature("year_missing", "year", 0, (), ("year",)),
    *(Feature(f"year_off_{n}", "year", -1, (_least("year", n),)) for n in (2, 4, 8)),
    Feature("volume", "volume", 1, (_VOLUME,)),
    Feature("volume_cut", "volume", 0, (_is("volume", 0.5),)),
    Feature("volume_unseen", "volume", -1, (_is("volume", 0.25),)),
    Feature("volume_differs", "volume", -1, (_OTHER_VOLUME,)),
    Feature("page", "page", 1, (_PAGE,)),
    Feature("page_near", "page", 0, (_is("page", 0.75),)),
    Feature("page_weak", "page", 1, (_is("page", 0.5),)),
    Feature("page_unseen", "page", -1, (_is("page", 0.25),)),
    Feature("page_differs", "page", -1, (_OTHER_PAGE,)),
    Feature("place", "page", 1, (_VOLUME, _PAGE)),
    Feature("place_year", "page", 1, (_VOLUME, _PAGE, _YEAR)),
    Feature("place_weak", "page", 1, (_VOLUME, _is("page", 0.5), _YEAR)),
    Feature("place_author", "page", 1, (_PAGE, _YEAR, _least("first_author", 0.6))),
    Feature("place_author_untitled", "page", 1, (_VOLUME, _least("page", 0.5), _least("first_author", 0.9)), ("title",)),
    Feature("place_weak_author", "page", 1, (_VOLUME, _is("page", 0.5), _YEAR, _least("first_author", 0.9))),
    Feature("place_differs", "page", -1, (_OTHER_VOLUME, _OTHER_PAGE)),
    Feature("place_unseen", "page", -1, (_is("volume", 0.25), _is("page", 0.25), _below("venue", 0.5))),
    Feature("page_year_differs", "page", -1, (_OTHER_PAGE, _OTHER_YEAR)),
    Feature("page_venue_differs", "page", -1, (_OTHER_PAGE, _below("venue", 0.5))),
    Feature("place_year_differs", "page", -1, (_OTHER_VOLUME, _OTHER_PAGE, _OTHER_YEAR)),
    Feature("other_page", "page", -1, (_SAME_VENUE, _OTHER_PAGE, _VOLUME)),
    Feature("other_page_same_year", "page", -1, (_SAME_VENUE, _OTHER_PAGE, _YEAR)),
    Feature("other_issue", "volume", -1, (_SAME_VENUE, _OTHER_VOLUME, _OTHER_YEAR)),
    Feature("other_article", "page", -1, (_SAME_VENUE, _OTHER_VOLUME, _OTHER_PAGE, _OTHER_YEAR)),
    Feature("other_article_far", "page", -1, (_SAME_VENUE, _OTHER_VOLUME, _OTHER_PAGE, _least("year", 3.0)), (), 1.0),
    Feature("other_article_short", "page", -1, (_below("length", 20.0), _OTHER_VOLUME, _OTHER_PAGE, _OTHER_YEAR), (), 1.0),
    # Papers of one issue on one subject have similar titles and pages.
    Feature("neighbour", "page", -1, (_SAME_VENUE, _VOLUME, _is("page", 0.75), _is("equal", 0.0)), (), 2.3),
    Feature("update", "year", -1, (_least("year", 2.0), _least("title", 0.8), _is("page", 0.5)), (), 3.5),
    Feature("update_far", "year", -1, (_least("year", 2.0), _least("title", 0.8), _below("volume", 0.4))),
    *_steps("venue", "venue", (0.5, 0.75, 0.99)),
    Feature("venue_missing", "venue", 0, (), ("venue",)),
    Feature("venue_differs", "venue", -1, (_below("venue", 0.5),)),
    Feature("venue_none", "venue", -1, (_below("venue", 0.25),)),
    Feature("deposit", "deposit", -1, (_is("deposit", 1.0),), (), 3.0),
    # A preprint has no page: this record has the DOI of one work and the fields of another.
    Feature("deposit_placed", "deposit", -1, (_is("deposit", 1.0), _least("page", 0.5)), (), 4.0),
    Feature("numbers_one", "numbers", -1, (_is("numbers", 1.0),)),
    Feature("numbers_both", "numbers", -1, (_is("numbers", 2.0),), (), 1.5),
    Feature("title_year", "numbers", 1, (_is("title_year", 1.0),)),
    Feature("title_year_differs", "numbers", -1, (_is("title_year", 0.0),), (), 3.0),
    Feature("marks", "marks", -1, (_is("marks", 1.0),)),
    Feature("marks_unplaced", "marks", -1, (_is("marks", 1.0),), ("page",), least=3.0),
    Feature("marks_other_page", "marks", -1, (_is("marks", 1.0), _OTHER_PAGE), (), 3.0),
    Feature("numbers_unplaced", "numbers", -1, (_least("numbers", 1.0),), ("page",), least=2.0),
    Feature("numbers_other_page", "numbers", -1, (_least("numbers", 1.0), _OTHER_PAGE), (), 2.0),
    Feature("similar_unplaced", "title", -1, (_below("cover", 0.85),), ("page",)),
    Feature("similar_other_page", "title", -1, (_below("cover", 0.85), _OTHER_PAGE)),
    Feature("known_title_authors", "title", 1, (_is("equal", 1.0), _SPECIFIC, _least("authors", 0.75))),
    # Books: no page, and one title has an edition or a subtitle in addition.
    Feature(
        "known_within_unplaced", "title", 1, (_WITHIN, _YEAR, _least("authors", 0.9), _is("marks", 0.0)), ("page",), least=2.0
    ),
    Feature("known_within_authors", "title", 1, (_WITHIN, _SPECIFIC, _least("authors", 0.7), _least("agreeing", 2.6))),
    # The title is in the text, though another field was tagged as title.
    Feature("text_place", "title", 1, (_least("contained", 0.97), _least("length", 30.0), _VOLUME, _PAGE)),
    Feature(
        "known_text_venue", "title", 1,
        (_least("contained", 0.9), _SPECIFIC, _SAME_VENUE, _least("authors", 0.6)), ("title",),
    ),
    Feature("known_text_authors", "title", 1, (_least("contained", 0.97), _SPECIFIC, _least("authors", 0.9)), ("title",)),
)  # fmt: skip

_NEVER: Final = (-1, 0.0, 0.0)


def _table() -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Return columns [features, 4] (-1 for none), bounds [features, 4, 2], silent column [features] (-1 for none)."""
    columns, bounds = np.full((len(FEATURES), 4), -1, np.int64), np.zeros((len(FEATURES), 4, 2))
    silent = np.full(len(FEATURES), -1, np.int64)
    for row, feature in enumerate(FEATURES):
        for at, (column, low, high) in enumerate(feature.conditions):
            columns[row, at], bounds[row, at] = COLUMN[column], (low, high)
        if feature.silent:
            (name,) = feature.silent
            silent[row] = COLUMN[name]
    return columns, bounds, silent


COLUMNS, BOUNDS, SILENT = _table()


def features(evidence: Floats) -> NDArray[np.bool_]:
    """Return which of FEATURES hold for each pair, bool [n, features], from its evidence, [n, columns]."""
    holds = np.ones((len(evidence), len(FEATURES)), dtype=np.bool_)
    for row, feature in enumerate(FEATURES):
        for column, low, high in feature.conditions:
            values = evidence[:, COLUMN[column]]
            holds[:, row] &= (values >= low) & (values <= high)
        for column in feature.silent:
            holds[:, row] &= np.isnan(evidence[:, COLUMN[column]])
    return holds
