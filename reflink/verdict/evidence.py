"""The evidence for and against a pair of a reference and a work. `reflink.verdict.batch` computes it.

It depends on the two records alone: no index, no model, no score of a stage. The linker and the fallback, which hold different
halves of the catalog, therefore compute the same evidence for the same pair.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_SILENT: Final = math.nan

#: Fields of a reference: a title; other fields only; only the citation as written; only journal, year, volume and page,
#: tagged or as written.
TITLED, TAGGED, WRITTEN, UNTITLED = 0, 1, 2, 3

Floats = NDArray[np.float64]


class Evidence(NamedTuple):
    """Evidence for and against one pair. NaN: one of the two records lacks the field, or it says nothing.

    ``title``: trigram similarity s of the titles. ``equal``: 1 if they have the same letters. ``cover``: the larger share of
    one title's trigrams that the other has. ``beginning``: 1 if one title begins with the other (a subtitle is missing).
    ``contained``: share of the trigrams of the work's title found in the citation as written. ``length``: number of letters of
    the work's title. ``authors``: share of the shorter list that agrees with the other; ``agreeing``: number of authors that
    agree; ``first_author``, ``second_author``: agreement of the first and of the second authors; ``group``: 1 if the reference
    or the work names a group. ``year``: years between the two. ``volume``, ``page``: 1 agree, 0 differ; reflink.verdict.rules
    defines the values between. ``venue``: share of words that agree. ``numbers``: 1 if one title has a number that the other
    lacks, 2 if each has. ``title_year``: 1 if years in the titles name the same instalment, 0 if not. ``marks``: 1 if one title
    is that of an erratum, a reply, a summary… and the other is not. ``deposit``: of a work whose DOI is that of a preprint
    server or a data repository, 1 if the citation names none, 0 if it does. ``identifier``: 1 shared, 0 contradicted. ``bare``:
    1 if the reference has no field but identifiers. ``card``: TITLED, TAGGED, WRITTEN or UNTITLED by the fields of the
    reference; selects the scorecard.

    If the reference has no title, ``numbers``, ``title_year`` and ``marks`` compare the work's title with the text.
    """

    title: float = _SILENT
    equal: float = _SILENT
    cover: float = _SILENT
    beginning: float = _SILENT
    contained: float = _SILENT
    length: float = 0.0
    authors: float = _SILENT
    agreeing: float = _SILENT
    first_author: float = _SILENT
    second_author: float = _SILENT
    group: float = 0.0
    year: float = _SILENT
    volume: float = _SILENT
    page: float = _SILENT
    venue: float = _SILENT
    numbers: float = _SILENT
    title_year: float = _SILENT
    marks: float = _SILENT
    deposit: float = _SILENT
    identifier: float = _SILENT
    bare: float = 0.0
    card: float = 2.0

    def present(self) -> dict[str, float]:
        """Return the values that are not NaN, rounded to three decimals."""
        # Most values are quarters, which need no rounding: it is slow.
        return {
            name: value if value * 4 % 1 == 0 else round(value, 3)
            for name, value in zip(self._fields, self, strict=True)
            if math.isfinite(value)
        }


#: Positions of the evidence's values in a row of an array of evidence.
COLUMN: Final = {name: at for at, name in enumerate(Evidence._fields)}
