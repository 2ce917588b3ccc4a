"""How single fields of a reference and of a work agree. Every comparison answers None where one side is silent."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from reflink.entities import ID_KINDS, Ids
from reflink.verdict.description import Description, is_weak
from reflink.verdict.folding import compact, fold
from reflink.verdict.grams import MOST_SHORT, common, containment, overlap
from reflink.verdict.names import agreement

_VENUE_STOP: Final = frozenset(
    ("of the and in for on a an de la le les du des der die das und et y e del di da do dos den van voor to at by part").split()
)
#: Authors of a work looked for in a citation whose names are not tagged: "et al." hides the rest.
_NAMED: Final = 3
#: A title of this many characters can be the whole of a longer one without its subtitle; an addition no longer than the second
#: number is none ("Part II").
_BEGINNING: Final = 20
_ADDITION: Final = 12
#: A venue of so many letters can be recognised in a citation.
_NAMED_VENUE: Final = 6
#: What a volume that lacks digits of the other agrees, and a page that many works share.
CUT: Final = 0.5
WEAK: Final = 0.5
#: What a volume or a page agrees that the reference does not tag and that does not stand in its text.
UNSEEN: Final = 0.25


def title_overlap(reference: Description, work: Description) -> float:
    """s = 2JC/(J+C) of the titles' trigrams."""
    return 1.0 if reference.title == work.title else overlap(reference.title_grams, work.title_grams)


def title_cover(reference: Description, work: Description) -> float:
    """The larger share of one title's trigrams that the other has: 1 where one is within the other."""
    a, b = reference.title_grams, work.title_grams
    smaller = min(len(a), len(b))
    return common(a, b) / smaller if smaller else 0.0


def title_containment(work: Description, reference: Description) -> float:
    """Share of the trigrams of the work's title that are in the citation as written."""
    whole = len(work.title) > MOST_SHORT and work.title in reference.raw_compact
    return 1.0 if whole else containment(work.title_grams, reference.raw_grams)


def extends(a: str, b: str) -> bool:
    """Whether one title, without spaces and of some length, is the beginning of the other and not all of it."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    return _BEGINNING <= len(short) < len(long) and long.startswith(short) and len(long) > _ADDITION + len(short)


def authors(reference: Description, work: Description) -> tuple[float, float, float] | None:
    """How many authors of the shorter list agree with one of the other, their share, and how far the first authors agree.

    From the text where names are untagged: as many of the work's first authors as are found there. A reference to a group
    says nothing about the names of persons that it does not mention.
    """
    if not work.names or not (reference.names or reference.raw_words):
        return None
    if not reference.names:
        named = work.names[:_NAMED]
        # A name's words must all be there: "Li" alone is found in any citation of three Chinese authors.
        found = [bool(name) and name <= reference.raw_words for name in named]
        if reference.group and not any(found):
            return None
        return float(sum(found)), sum(found) / len(named), float(found[0])
    if reference.names == work.names and all(work.names):
        return float(len(work.names)), 1.0, 1.0
    shorter, longer = sorted((reference.names, work.names), key=len)
    words = frozenset().union(*longer)
    agreeing = 0.0
    for name in shorter:
        if not name.isdisjoint(words):
            agreeing += 1.0
        else:
            agreeing += max(agreement(name, other) for other in longer)
    return agreeing, agreeing / len(shorter), agreement(reference.names[0], work.names[0])


def year_difference(reference: Description, work: Description) -> int | None:
    """Years from the work's to the reference's; the nearest of those in the text where the year is untagged."""
    if not reference.years or not work.years:
        return None
    (published,) = work.years
    if len(reference.years) == 1:
        (year,) = reference.years
        return year - published
    return min((year - published for year in reference.years), key=lambda d: (abs(d), d))


def volume(reference: Description, work: Description) -> float | None:
    """1 where the volumes agree, CUT where one is the other less some digits, else 0.

    An untagged one is looked for in the text (UNSEEN); one of a single digit only before the page, for it is anywhere.
    """
    a, b = reference.volume, work.volume
    if b is None:
        return None
    if a is None:
        if not reference.raw_words:
            return None
        return 1.0 if (len(b) > 1 and b in reference.raw_words) or _side_by_side(reference, work) else UNSEEN
    if a == b:
        return 1.0
    short, long = (a, b) if len(a) < len(b) else (b, a)
    return CUT if long.startswith(short) or long.endswith(short) else 0.0


def _side_by_side(reference: Description, work: Description) -> bool:
    """Whether the text has the work's volume and after it, at most an issue between, its page ("33 (4): 9-13")."""
    if work.volume is None or work.page is None or work.volume not in reference.raw_words:
        return False
    words = reference.raw.split()
    return any(word == work.volume and work.page in words[at + 1 : at + 3] for at, word in enumerate(words))


def page(reference: Description, work: Description) -> float | None:
    """1 where the first pages agree, WEAK where that says little, else 0; a missing letter ("S12", "12") is forgiven.

    An untagged one is looked for in the text (UNSEEN); one of a single digit only after the volume.
    """
    x, y = reference.page, work.page
    if y is None:
        return None
    if x is None:
        if not reference.raw_words:
            return None
        return 1.0 if (len(y) > 1 and y in reference.raw_words) or _side_by_side(reference, work) else UNSEEN
    if x == y:
        return WEAK if is_weak(y) else 1.0
    a, b = (side.lstrip("abcdefghijklmnopqrstuvwxyz") for side in (x, y))
    if not (a == b != "" and (a == x or b == y)):
        return 0.0
    return WEAK if is_weak(a) else 1.0


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


def venue(reference: Description, work: Description) -> float | None:
    """Similarity of the venues; an untagged one can be found in the text, but not missed there."""
    if not work.venue:
        return None
    if reference.venue:
        return venue_similarity(reference.venue, work.venue)
    name = compact(work.venue)
    return 1.0 if len(name) >= _NAMED_VENUE and name in reference.raw_compact else None


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
