"""Evidence for and against a (reference, work) pair, from the two records alone: no index, no model, no score of a stage.

So the linker and the fallback, which hold different halves of the catalog, see the same evidence for the same pair.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reflink.entities import Reference, Work
from reflink.verdict import fields
from reflink.verdict.description import Description, describe_reference, describe_work
from reflink.verdict.titles import numbers_differ, years_agree

#: Below this many characters, a citation without identifiers says nothing about the work.
_BARE: Final = 8
_SILENT: Final = math.nan

#: What a reference gives: a title; other fields only; nothing but the citation as written.
TITLED, TAGGED, WRITTEN = 0, 1, 2

Floats = NDArray[np.float64]


class Evidence(NamedTuple):
    """What speaks for and against one pair. NaN: one side is silent.

    ``title``: trigram s of the titles. ``equal``: they are the same letters. ``cover``: the larger share of one title's
    trigrams that the other has. ``beginning``: one title begins with the other (a subtitle left out). ``contained``: share of
    the trigrams of the work's title found in the citation as written. ``length``: letters of the work's title.
    ``authors``: share of the shorter list that agrees with the other; ``agreeing``: how many; ``first_author``: how far
    the first ones agree; ``group``: 1 where the reference or the work names a group. ``year``: years between the two.
    ``volume``, ``page``: 1 agree, 0 differ, between them what reflink.verdict.fields says. ``venue``: share of words that
    agree. ``numbers``: numbers of the titles that only one (1) or each (2) has. ``title_year``: whether years in the titles
    name the same instalment. ``marks``: 1 where one title is that of an erratum, a reply, a summary… and the other is not.
    ``identifier``: 1 shared, 0 contradicted. ``bare``: 1 where the reference has identifiers and nothing else.
    ``card``: TITLED, TAGGED or WRITTEN, what the reference gives to compare by, and so which card counts the points.

    Where the reference has no title, ``numbers``, ``title_year`` and ``marks`` compare the work's title with the text.
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
    group: float = 0.0
    year: float = _SILENT
    volume: float = _SILENT
    page: float = _SILENT
    venue: float = _SILENT
    numbers: float = _SILENT
    title_year: float = _SILENT
    marks: float = _SILENT
    identifier: float = _SILENT
    bare: float = 0.0
    card: float = 2.0

    def said(self) -> dict[str, float]:
        """What is not silent, rounded to three decimals."""
        return {name: round(value, 3) for name, value in zip(self._fields, self, strict=True) if math.isfinite(value)}


#: Positions of the evidence's numbers in a row of ``rows``.
COLUMN: Final = {name: at for at, name in enumerate(Evidence._fields)}


def compare(reference: Description, work: Description, *, by_identifier: bool = False) -> Evidence:
    """The evidence of two prepared sides. ``by_identifier``: the catalog found the work by an identifier of the reference."""
    both = bool(reference.title and work.title)
    named = fields.authors(reference, work)
    years = fields.year_difference(reference, work)
    identifier = True if by_identifier else fields.identifiers(reference.ids, work.ids)
    if identifier is None and fields.identifiers(reference.weak_ids, work.ids):
        identifier = True  # one found in the text can confirm; that it differs proves nothing
    beginning = both and fields.extends(reference.title, work.title)
    return Evidence(
        title=fields.title_overlap(reference, work) if both else _SILENT,
        equal=float(reference.title == work.title) if both else _SILENT,
        cover=fields.title_cover(reference, work) if both else _SILENT,
        beginning=float(beginning) if both else _SILENT,
        contained=fields.title_containment(work, reference) if work.title and reference.raw_compact else _SILENT,
        length=float(len(work.title)),
        authors=named[1] if named else _SILENT,
        agreeing=named[0] if named else _SILENT,
        first_author=named[2] if named else _SILENT,
        group=float(reference.group or bool(work.names and len(work.names[0]) > 2)),
        year=_SILENT if years is None else float(abs(years)),
        volume=_number(fields.volume(reference, work)),
        page=_number(fields.page(reference, work)),
        venue=_number(fields.venue(reference, work)),
        numbers=_numbers(reference, work),
        title_year=_title_year(reference, work),
        marks=_marks(reference, work),
        identifier=_number(identifier),
        bare=float(not reference.title and not reference.names and len(reference.raw) < _BARE),
        card=float(TITLED if reference.title else TAGGED if reference.tagged else WRITTEN),
    )


def rows(evidence: list[Evidence]) -> Floats:
    """The numbers of several pairs, [n, len(COLUMN)]."""
    return np.array(evidence, dtype=np.float64).reshape(len(evidence), len(COLUMN))


def _number(value: Any) -> float:
    return _SILENT if value is None else float(value)


def _numbers(reference: Description, work: Description) -> float:
    if not work.title or reference.title == work.title:
        return 0.0 if work.title else _SILENT
    if reference.title:
        return float(numbers_differ(reference.title_numbers, work.title_numbers, reference.raw_ordinals))
    return float(not work.title_numbers <= reference.raw_numbers) if reference.raw_compact else _SILENT


def _title_year(reference: Description, work: Description) -> float:
    if reference.title and work.title:
        if not reference.title_years and not work.title_years:
            return _SILENT
        return _number(years_agree(reference.title_years, work.title_years, reference.years, work.years))
    if not work.title_years or not reference.raw_compact:
        return _SILENT
    return float({str(year) for year in work.title_years} <= reference.raw_numbers)


def _marks(reference: Description, work: Description) -> float:
    if reference.title and work.title:
        return float(reference.title_marks != work.title_marks)
    if not work.title or not reference.raw_compact:
        return _SILENT
    return float(not work.title_marks <= reference.raw_words or bool(reference.raw_marks - work.title_marks))


def evidence(reference: Reference, work: Work, *, by_identifier: bool = False) -> Evidence:
    """The evidence for ``reference`` citing ``work``. Both may lack any field."""
    return compare(describe_reference(reference), describe_work(work), by_identifier=by_identifier)
