"""Evidence for and against a (reference, work) pair, from the two records alone: no index, no model, no score of a stage.

So the linker and the fallback, which hold different halves of the catalog, see the same evidence for the same pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from reflink.entities import Reference, Work
from reflink.verdict import fields
from reflink.verdict.description import Description, describe_reference, describe_work

#: Below this many characters, a citation without identifiers says nothing about the work.
_BARE: Final = 8
#: A title of this many characters (spaces not counted) is specific; shorter ones less so ("Wheat", "Editorial").
_SPECIFIC: Final = 40


class Evidence(NamedTuple):
    """What speaks for and against one pair. None: one side is silent.

    ``title``: trigram s of the titles. ``extended``: one title begins with the other (a subtitle left out).
    ``contained``: share of the work's title found in the citation as written.
    ``short``: 0 for a specific title of the work, up to 1 for none. ``authors``: share of the shorter list found in the
    other. ``year``: reference minus work. ``venue``: share of words that agree. ``numbers``: numbers of the titles that only
    one (1) or each (2) has. ``marks``: one title is that of an erratum, a reply, a comment… and the other is not.
    ``identifier``: shared (True) or contradicted (False). ``bare``: the reference has identifiers and nothing else.
    ``shown``: name and (reference's, work's) values of those of year, volume and page that differ, for the reasons.
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


def outline(reference: Description, work: Description, *, by_identifier: bool = False) -> Evidence:
    """The evidence of two prepared sides but for the words of the title, which cost most, and ``shown``.

    ``title`` is 0 where there are two. ``by_identifier``: the catalog found the work by an identifier of the reference.
    """
    named = fields.authors(reference, work)
    identifier = True if by_identifier else fields.identifiers(reference.ids, work.ids)
    if identifier is None and fields.identifiers(reference.weak_ids, work.ids):
        identifier = True  # one found in the text can confirm; that it differs proves nothing
    return Evidence(
        title=0.0 if reference.title and work.title else None,
        short=max(0.0, 1 - len(work.title) / _SPECIFIC),
        authors=named[0] if named else None,
        first_author=named[1] if named else None,
        year=fields.year_difference(reference, work),
        volume=fields.volume(reference, work),
        page=fields.page(reference, work),
        venue=fields.venue_similarity(reference.venue, work.venue) if reference.venue and work.venue else None,
        identifier=identifier,
        bare=not reference.title and not reference.names and len(reference.raw) < _BARE,
    )


def filled(outline: Evidence, reference: Description, work: Description) -> Evidence:
    """The whole evidence of the two sides that ``outline`` is of."""
    titled = outline.title is not None
    differs = outline.year or outline.volume is False or outline.page is False
    extended = titled and fields.extends(reference.title, work.title)
    return outline._replace(
        title=fields.title_overlap(reference, work) if titled else None,
        extended=extended,
        contained=fields.title_containment(work, reference) if work.title and reference.raw_compact else None,
        numbers=_numbers(reference, work) if titled and not extended else 0,
        marks=titled and reference.title_marks != work.title_marks,
        shown=tuple(_differing(reference, work)) if differs else (),
    )


def compare(reference: Description, work: Description, *, by_identifier: bool = False) -> Evidence:
    """The evidence of two prepared sides."""
    return filled(outline(reference, work, by_identifier=by_identifier), reference, work)


def _differing(reference: Description, work: Description) -> Iterator[tuple[str, str, str]]:
    values = (
        ("year", reference.year_said, work.year_said),
        ("volume", reference.volume_said, work.volume_said),
        ("page", reference.page_said, work.page_said),
    )
    for name, a, b in values:
        if a and b and a != b:
            yield name, _short(a), _short(b)


def _short(value: str | int) -> str:
    return " ".join(str(value).split())[:20]


def _numbers(reference: Description, work: Description) -> int:
    if reference.title_words == work.title_words:
        return 0
    a, b = reference.title_numbers, work.title_numbers
    if not a and not b:
        return 0
    # An edition may stand in the work's title and beside that of the reference ("2nd ed.").
    return (not a <= b) + (not b - reference.raw_ordinals <= a)


def evidence(reference: Reference, work: Work, *, by_identifier: bool = False) -> Evidence:
    """The evidence for ``reference`` citing ``work``. Both may lack any field."""
    return compare(describe_reference(reference), describe_work(work), by_identifier=by_identifier)


#: Names of the numbers that the judge weighs, in the order of ``features``.
FEATURES: Final[tuple[str, ...]] = (
    "title", "title_close", "title_extended", "title_missing", "title_short", "contained", "contained_untitled", "authors",
    "authors_none", "first_author", "first_author_differs", "year", "year_near", "year_far", "volume", "volume_differs",
    "page", "page_differs", "place", "place_differs", "edition_differs", "venue", "venue_differs", "numbers_one",
    "numbers_both", "marks",
)  # fmt: skip

#: What the sign of a weight may be: agreement never speaks against a link, disagreement never for it; the rest is free.
FOR: Final = frozenset(
    ["title", "title_close", "title_extended", "contained", "contained_untitled", "authors", "first_author", "year", "volume",
     "page", "place", "venue"]
)  # fmt: skip
AGAINST: Final = frozenset(
    ["title_short", "authors_none", "first_author_differs", "year_far", "volume_differs", "page_differs", "place_differs",
     "edition_differs", "venue_differs", "numbers_one", "numbers_both", "marks"]
)  # fmt: skip


#: Those that ``outline`` leaves at 0; none is above 1.
LEFT_OUT: Final = frozenset(
    ["title", "title_close", "title_extended", "title_short", "contained", "contained_untitled", "numbers_one", "numbers_both",
     "marks"]
)  # fmt: skip


def features(e: Evidence) -> tuple[float, ...]:
    """The evidence as the numbers named in FEATURES, in [0, 3], 0 where it is silent; identifiers are weighed apart."""
    title, contained, authors, year = e.title or 0.0, e.contained or 0.0, e.authors or 0.0, e.year
    untitled = e.title is None
    volume, volume_differs = e.volume is True, e.volume is False
    page, page_differs = e.page is True, e.page is False
    elsewhere = volume_differs and page_differs
    return (
        title,
        max(0.0, title - 0.8) / 0.2,
        e.extended,
        untitled,
        e.short * max(title, contained),
        contained,
        contained * untitled,
        authors,
        e.authors is not None and authors == 0,
        e.first_author is True,
        e.first_author is False,
        year == 0,
        year in (-1, 1),
        0.0 if year is None else min(max(abs(year) - 1, 0), 8) ** 0.5,
        volume,
        volume_differs,
        page,
        page_differs,
        volume and page,
        elsewhere,
        elsewhere and bool(year),
        e.venue or 0.0,
        e.venue is not None and e.venue < 0.5,
        e.numbers == 1,
        e.numbers == 2,
        e.marks,
    )
