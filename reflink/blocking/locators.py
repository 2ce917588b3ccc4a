"""Compute locator keys: volume and first page, with the first author's name or with the year.

1. Reference and work both have the locator, even if a title is missing or wrong. Two records of one work share a key unless a
   field is missing or wrong in one of them; records of two works rarely share a key.
2. Names are folded, since the two records come from different typesetters: no case, accents or apostrophes; umlauts equal
   their transliterations.
3. A work without a first page has its article number instead: the number at the end of its DOI.
4. Snapshots hold the hashes of keys, and the version of their rules. If the rules change, the keys find only part of the works
   of older snapshots.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from reflink.blocking.untitled import fields_of
from reflink.entities import Reference, Work

#: Version of the rules for keys, in the manifest of a snapshot.
RULES: Final = 2

#: Maximum number of words of a name that make keys; names of groups have more words.
MAX_WORDS: Final = 3

#: Number of works that may share a key. A key that more works share is ignored.
MAX_SHARING: Final = 16

_MAX_NUMBER: Final = 100
_MAX_NAME: Final = 300

#: Prefixes of a key with the author's name and of a key with the year.
BY_AUTHOR: Final = "a:"
BY_YEAR: Final = "y:"

_LETTERS: Final = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"} | dict.fromkeys("'’ʼ`´", "")
)
_PARTICLES: Final = frozenset("van von de der den la le du da di del dela della dos das el al bin ibn ter ten zu".split())
_SUFFIXES: Final = frozenset("jr sr ii iii iv phd md et".split())
_TRANSLITERATED: Final = re.compile("(?<=[aou])e")
_NUMBER: Final = re.compile("[0-9]+")
#: The number at the end of a DOI. A last character after a hyphen is a check digit: "s41598-017-12778-6".
_ARTICLE: Final = re.compile(r"(?<![0-9])([0-9]{4,})(?:-.)?\Z")
_TENS: Final = ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc")
_UNITS: Final = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_ROMAN: Final = {a + b: str(10 * ten + unit) for ten, a in enumerate(_TENS) for unit, b in enumerate(_UNITS) if ten or unit}


def work_places(work: Work) -> tuple[str, ...]:
    """Return the locator keys of a work, those with the author first; empty without volume, or page and article number."""
    page = work.fpage
    # Without a venue too little would agree with a reference that has no title.
    if not page and work.venue and (found := _ARTICLE.search(work.ids.doi or "")):
        page = found[1]
    return _places(work.authors[0] if work.authors else None, work.year, work.volume, page)


def reference_places(reference: Reference) -> tuple[str, ...]:
    """Return the locator keys that the cited work should have, from recognised fields if the reference is untagged."""
    fields = reference.inferred or reference
    author = fields.last_names[0] if fields.last_names else reference.collab
    found = _places(author, fields.year, fields.volume, fields.first_page)
    if not found and (only := fields_of(reference)):
        return _places(only.last_names[0] if only.last_names else None, only.year, only.volume, only.first_page)
    return found


def _places(author: str | None, year: int | None, volume: str | None, page: str | None) -> tuple[str, ...]:
    # Longer values come from broken records and must not enlarge the caches.
    if not volume or not page or not (volume := number(volume[:_MAX_NUMBER])) or not (page := number(page[:_MAX_NUMBER])):
        return ()
    place = f":{volume}:{page}"
    keys = tuple(BY_AUTHOR + word + place for word in name_words(author[:_MAX_NAME])) if author else ()
    return keys if year is None else (*keys, f"{BY_YEAR}{year}{place}")


@lru_cache(maxsize=1 << 13)
def number(text: str) -> str:
    """Return the first number in a volume or page: "Vol. 012(3)", "XII", "S12", "12S" and "e12-e19" all give "12".

    Letters are dropped because reference and work often differ in them. A text without a number is folded; a text without
    letters and digits gives "".
    """
    if text.isascii() and text.isdigit():
        return text.lstrip("0") or "0"
    words = _folded(text)
    if found := _NUMBER.search(" ".join(words)):
        return found[0].lstrip("0") or "0"
    word = "".join(words)
    return _ROMAN.get(word, word)


@lru_cache(maxsize=1 << 13)
def name_words(name: str) -> tuple[str, ...]:
    """Return the first MAX_WORDS folded words of a name that have at least two letters.

    Particles and suffixes are left out, unless the name has no other words.
    """
    words = [_TRANSLITERATED.sub("", word) for word in _folded(name)]
    words = [word for word in dict.fromkeys(words) if len(word) > 1]
    significant = [word for word in words if word not in _PARTICLES and word not in _SUFFIXES]
    return tuple((significant or words)[:MAX_WORDS])


def _folded(text: str) -> list[str]:
    """Split a text into words of lower case letters without accents, and digits."""
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold()).translate(_LETTERS)
    kept = (char if char.isalnum() else " " for char in letters if unicodedata.category(char) not in ("Mn", "Cf"))
    return "".join(kept).split()
