"""Evidence for and against a (reference, work) pair, from the two records alone: no index, no model, no score of a stage.

So the linker and the fallback, which hold different halves of the catalog, see the same evidence for the same pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from reflink.entities import Reference, Work
from reflink.verdict import fields
from reflink.verdict.description import Description, describe_reference, describe_work

#: Below this many characters, a citation without identifiers says nothing about the work.
_BARE: Final = 8
#: A title of this many characters (spaces not counted) is specific; shorter ones less so ("Wheat", "Editorial").
_SPECIFIC: Final = 40


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for and against one pair. None: one side is silent.

    ``title``: trigram s of the titles. ``extended``: one title begins with the other (a subtitle left out).
    ``contained``: share of the work's title found in the citation as written.
    ``short``: 0 for a specific title of the work, up to 1 for none. ``authors``: share of the shorter list found in the
    other. ``year``: reference minus work. ``venue``: share of words that agree. ``numbers``: numbers of the titles that only
    one (1) or each (2) has. ``marks``: one title is that of an erratum, a reply, a comment… and the other is not.
    ``identifier``: shared (True) or contradicted (False). ``bare``: the reference has identifiers and nothing else.
    ``shown``: (reference's, work's) values of year, volume and page for the reasons.
    """

    title: float | None = None
    extended: bool = False
    contained: float | None = None
    short: float = 1.0
    authors: float | None = None
    first_author: bool | None = None
    year: int | None = None
    volume: bool | None = None
    page: bool | None = None
    venue: float | None = None
    numbers: int = 0
    marks: bool = False
    identifier: bool | None = None
    bare: bool = False
    shown: tuple[tuple[str, str, str], ...] = ()


def compare(reference: Description, work: Description, *, by_identifier: bool = False) -> Evidence:
    """The evidence of two prepared sides. ``by_identifier``: the catalog found the work by an identifier of the reference."""
    title = fields.overlap(reference.title_grams, work.title_grams) if reference.title and work.title else None
    extended = title is not None and fields.extends(reference.title, work.title)
    named = fields.authors(reference, work)
    identifier = True if by_identifier else fields.identifiers(reference.ids, work.ids)
    if identifier is None and fields.identifiers(reference.weak_ids, work.ids):
        identifier = True  # one found in the text can confirm; that it differs proves nothing
    return Evidence(
        title=title,
        extended=extended,
        contained=fields.containment(work.title_grams, reference.raw_grams) if work.title and reference.raw else None,
        short=max(0.0, 1 - len(work.title) / _SPECIFIC),
        authors=named[0] if named else None,
        first_author=named[1] if named else None,
        year=fields.year_difference(reference, work),
        volume=fields.volume(reference, work),
        page=fields.page(reference, work),
        venue=fields.venue_similarity(reference.venue, work.venue) if reference.venue and work.venue else None,
        numbers=0 if title is None or extended else _numbers(reference, work),
        marks=title is not None and reference.title_marks != work.title_marks,
        identifier=identifier,
        bare=not reference.title and not reference.names and len(reference.raw) < _BARE,
        shown=tuple(
            (name, reference.shown[name], work.shown[name]) for name in reference.shown if name in work.shown
        ),
    )  # fmt: skip


def _numbers(reference: Description, work: Description) -> int:
    a, b = reference.title_numbers, work.title_numbers
    # An edition may stand in the work's title and beside that of the reference ("2nd ed.").
    return (not a <= b) + (not b - reference.raw_ordinals <= a)


def evidence(reference: Reference, work: Work, *, by_identifier: bool = False) -> Evidence:
    """The evidence for ``reference`` citing ``work``. Both may lack any field."""
    return compare(describe_reference(reference), describe_work(work), by_identifier=by_identifier)


def _yes(value: bool | None) -> float:
    return float(value is True)


def _no(value: bool | None) -> float:
    return float(value is False)


def _numbered(e: Evidence) -> dict[str, float]:
    """Every number the judge weighs, by name; 0 means silent."""
    title = e.title or 0.0
    contained = e.contained or 0.0
    authors = e.authors or 0.0
    untitled = e.title is None
    elsewhere = _no(e.volume) * _no(e.page)
    return {
        "title": title,
        "title_close": max(0.0, title - 0.8) / 0.2,
        "title_extended": float(e.extended),
        "title_missing": float(untitled),
        "title_short": e.short * max(title, contained),
        "contained": contained,
        "contained_untitled": contained * untitled,
        "authors": authors,
        "authors_none": float(e.authors is not None and authors == 0),
        "first_author": _yes(e.first_author),
        "first_author_differs": _no(e.first_author),
        "year": float(e.year == 0),
        "year_near": float(e.year in (-1, 1)),
        "year_far": 0.0 if e.year is None else min(max(abs(e.year) - 1, 0), 8) ** 0.5,
        "volume": _yes(e.volume),
        "volume_differs": _no(e.volume),
        "page": _yes(e.page),
        "page_differs": _no(e.page),
        "place": _yes(e.volume) * _yes(e.page),
        "place_differs": elsewhere,
        "edition_differs": elsewhere * float(bool(e.year)),
        "venue": e.venue or 0.0,
        "venue_differs": float(e.venue is not None and e.venue < 0.5),
        "numbers_one": float(e.numbers == 1),
        "numbers_both": float(e.numbers == 2),
        "marks": float(e.marks),
    }


#: Names of the numbers, in the order of ``features``.
FEATURES: Final[tuple[str, ...]] = tuple(_numbered(Evidence()))

#: What the sign of a weight may be: agreement never speaks against a link, disagreement never for it; the rest is free.
FOR: Final = frozenset(
    ["title", "title_close", "title_extended", "contained", "contained_untitled", "authors", "first_author", "year", "volume",
     "page", "place", "venue"]
)  # fmt: skip
AGAINST: Final = frozenset(
    ["title_short", "authors_none", "first_author_differs", "year_far", "volume_differs", "page_differs", "place_differs",
     "edition_differs", "venue_differs", "numbers_one", "numbers_both", "marks"]
)  # fmt: skip


def features(e: Evidence) -> list[float]:
    """The evidence as the numbers named in FEATURES, in [0, 3]; identifiers are weighed apart (see judge)."""
    return list(_numbered(e).values())
