"""How single fields of a reference and of a work agree. Every comparison answers None where one side is silent."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from reflink.entities import ID_KINDS, Ids
from reflink.verdict.description import Description, fold
from reflink.verdict.grams import MOST_SHORT, containment, overlap

_VENUE_STOP: Final = frozenset(
    ("of the and in for on a an de la le les du des der die das und et y e del di da do dos den van voor to at by part").split()
)
#: Authors of a work looked for in a citation whose names are not tagged: "et al." hides the rest.
_NAMED: Final = 3
#: A title of this many characters can be the whole of a longer one without its subtitle; an addition no longer than the second
#: number is none ("Part II").
_BEGINNING: Final = 20
_ADDITION: Final = 12


def title_overlap(reference: Description, work: Description) -> float:
    """s = 2JC/(J+C) of the titles' trigrams."""
    return 1.0 if reference.title == work.title else overlap(reference.title_grams, work.title_grams)


def title_containment(work: Description, reference: Description) -> float:
    """Share of the trigrams of the work's title that are in the citation as written."""
    whole = len(work.title) > MOST_SHORT and work.title in reference.raw_compact
    return 1.0 if whole else containment(work.title_grams, reference.raw_grams)


def extends(a: str, b: str) -> bool:
    """Whether one title, without spaces and of some length, is the beginning of the other and not all of it."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    return _BEGINNING <= len(short) < len(long) and long.startswith(short) and len(long) > _ADDITION + len(short)


def authors(reference: Description, work: Description) -> tuple[float, bool] | None:
    """(share of the shorter author list found in the other, first author agrees); from the text where names are untagged."""
    if not work.names or not (reference.names or reference.raw_words):
        return None
    if not reference.names:
        named = work.names[:_NAMED]
        # A name's words must all be there: "Li" alone is found in any citation of three Chinese authors.
        found = [name <= reference.raw_words for name in named]
        return sum(found) / len(named), found[0]
    if reference.names == work.names and all(work.names):
        return 1.0, True
    shorter, longer = sorted((reference.names, work.names), key=len)
    words = frozenset().union(*longer)
    share = sum([not name.isdisjoint(words) for name in shorter]) / len(shorter)
    return share, _same_name(reference.names[0], work.names[0])


def _same_name(a: frozenset[str], b: frozenset[str]) -> bool:
    if not a.isdisjoint(b):
        return True
    x, y = "".join(sorted(a)), "".join(sorted(b))
    return len(x) > 4 < len(y) and x[:4] == y[:4] and abs(len(x) - len(y)) <= 2


def year_difference(reference: Description, work: Description) -> int | None:
    """Years from the work's to the reference's; the nearest of those in the text where the year is untagged."""
    if not reference.years or not work.years:
        return None
    (published,) = work.years
    if len(reference.years) == 1:
        (year,) = reference.years
        return year - published
    return min((year - published for year in reference.years), key=lambda d: (abs(d), d))


def volume(reference: Description, work: Description) -> bool | None:
    """Whether the volumes agree; an untagged one can be found in the text, but not missed there."""
    if work.volume is None:
        return None
    if reference.volume is None:
        return True if work.volume in reference.raw_words else None
    return reference.volume == work.volume


def page(reference: Description, work: Description) -> bool | None:
    """Whether the first pages agree, a missing letter ("S12", "12") forgiven; an untagged one can be found in the text."""
    if work.page is None:
        return None
    if reference.page is None:
        return True if len(work.page) > 1 and work.page in reference.raw_words else None
    if reference.page == work.page:
        return True
    a, b = (side.lstrip("abcdefghijklmnopqrstuvwxyz") for side in (reference.page, work.page))
    return a == b != "" and (a == reference.page or b == work.page)


@lru_cache(maxsize=100_000)
def _venue_words(venue: str) -> tuple[str, ...]:
    words = fold(venue.split("(")[0] or venue).split()[:12]
    return tuple(word for word in words if word not in _VENUE_STOP) or tuple(words)


def _abbreviates(a: str, b: str) -> bool:
    """Whether one word abbreviates the other: its letters in order, from the same first letter ("natl", "national")."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    if short[0] != long[0]:
        return False
    letters = iter(long)
    return all(letter in letters for letter in short)


@lru_cache(maxsize=100_000)
def venue_similarity(a: str, b: str) -> float | None:
    """Share of the words of the longer name that the other has in order, abbreviated or not; 1 for its acronym."""
    x, y = _venue_words(a), _venue_words(b)
    if not x or not y:
        return None
    if x == y:
        return 1.0
    for one, other in ((x, y), (y, x)):
        if len(one) == 1 and len(other) > 1 and "".join(w[0] for w in other).startswith(one[0]) and len(one[0]) > 2:
            return 1.0
    row = [0] * (len(y) + 1)
    for word in x:
        diagonal = 0
        for j, other_word in enumerate(y, 1):
            best = diagonal + 1 if _abbreviates(word, other_word) else max(row[j], row[j - 1])
            diagonal, row[j] = row[j], max(best, row[j - 1])
    return row[-1] / max(len(x), len(y))


def identifiers(reference: Ids, work: Ids) -> bool | None:
    """True when any identifier is shared, False when those of a kind differ and none is shared, None when none compare."""
    compared = None
    for kind in ID_KINDS:
        a, b = getattr(reference, kind), getattr(work, kind)
        if a and b:
            if a == b:
                return True
            compared = False
    return compared
