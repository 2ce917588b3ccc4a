"""Where a work was printed: keys of volume and first page, with the first author's name or with the year.

Both sides of a citation name the place, even where a title is missing or wrong. Two records of one work have a key in
common unless one is silent or mistaken; two works rarely have. Names are folded, as the two sides come from different
typesetters: no case, accents or apostrophes, umlauts and their transliterations equal.

Snapshots hold the keys' hashes: where a key is made otherwise one day, works of older snapshots are not found by it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from reflink.entities import Reference, Work

#: Which rules the keys follow: others make another table.
RULES: Final = 1

#: Words of a name that make keys; names of groups have more.
MOST_WORDS: Final = 3

_LONGEST: Final = 100
_LONGEST_NAME: Final = 300

#: How a key with an author's name begins; the other kind is of the year.
BY_AUTHOR: Final = "a:"
BY_YEAR: Final = "y:"

_LETTERS: Final = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"} | dict.fromkeys("'’ʼ`´", "")
)
_PARTICLES: Final = frozenset("van von de der den la le du da di del dela della dos das el al bin ibn ter ten zu".split())
_SUFFIXES: Final = frozenset("jr sr ii iii iv phd md et".split())
_TRANSLITERATED: Final = re.compile("(?<=[aou])e")
_NUMBER: Final = re.compile("[0-9]+")
_TENS: Final = ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc")
_UNITS: Final = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_ROMAN: Final = {a + b: str(10 * ten + unit) for ten, a in enumerate(_TENS) for unit, b in enumerate(_UNITS) if ten or unit}


def work_places(work: Work) -> tuple[str, ...]:
    """The keys of a work, those with the author first; none without volume or first page."""
    return _places(work.authors[0] if work.authors else None, work.year, work.volume, work.fpage)


def reference_places(reference: Reference) -> tuple[str, ...]:
    """The keys that the cited work should have; of recognised fields where nothing was tagged."""
    said = reference.inferred or reference
    author = said.last_names[0] if said.last_names else reference.collab
    return _places(author, said.year, said.volume, said.first_page)


def _places(author: str | None, year: int | None, volume: str | None, page: str | None) -> tuple[str, ...]:
    # Longer ones are broken records, and what is remembered must not grow with them.
    if not volume or not page or not (volume := number(volume[:_LONGEST])) or not (page := number(page[:_LONGEST])):
        return ()
    place = f":{volume}:{page}"
    keys = tuple(BY_AUTHOR + word + place for word in name_words(author[:_LONGEST_NAME])) if author else ()
    return keys if year is None else (*keys, f"{BY_YEAR}{year}{place}")


@lru_cache(maxsize=50_000)
def number(text: str) -> str:
    """A volume or a page by its first number: "Vol. 012(3)", "XII", "S12", "12S" and "e12-e19" are all "12".

    Letters are dropped because the two sides often disagree in them. What has no number stands for itself, folded; a text
    without letters and digits is empty.
    """
    if text.isascii() and text.isdigit():
        return text.lstrip("0") or "0"
    words = _folded(text)
    if found := _NUMBER.search(" ".join(words)):
        return found[0].lstrip("0") or "0"
    word = "".join(words)
    return _ROMAN.get(word, word)


@lru_cache(maxsize=100_000)
def name_words(name: str) -> tuple[str, ...]:
    """The first MOST_WORDS words of a name, of two letters or more, folded; no particles and suffixes, unless all are such."""
    words = [_TRANSLITERATED.sub("", word) for word in _folded(name)]
    words = [word for word in dict.fromkeys(words) if len(word) > 1]
    telling = [word for word in words if word not in _PARTICLES and word not in _SUFFIXES]
    return tuple((telling or words)[:MOST_WORDS])


def _folded(text: str) -> list[str]:
    """Words of lower case letters without accents, and of digits."""
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold()).translate(_LETTERS)
    kept = (char if char.isalnum() else " " for char in letters if unicodedata.category(char) not in ("Mn", "Cf"))
    return "".join(kept).split()
