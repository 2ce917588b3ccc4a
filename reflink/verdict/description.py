"""What the verdict compares: one side of a pair, folded and cut into tokens and trigrams once.

Unlike the published texts (reflink.text), everything here is folded: accents are dropped, Greek letters spelled out, German
umlauts and their transliterations made equal, because the two sides come from different typesetters.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from reflink.entities import Ids, Reference, Work

#: Characters of a title and of a citation that are compared; longer ones are broken records.
TITLE_LIMIT: Final = 400
RAW_LIMIT: Final = 1500
#: Authors compared; collaborations list thousands.
AUTHOR_LIMIT: Final = 40

_LETTERS: Final = {
    "ø": "o",
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "ı": "i",
    "ħ": "h",
}
_APOSTROPHES: Final = frozenset("'’ʼ`´")
_GREEK: Final = re.compile(r"GREEK SMALL LETTER (?:FINAL )?([A-Z]+)")
_PARTICLES: Final = frozenset("van von de der den la le du da di del dela della dos das el al bin ibn ter ten zu".split())
_SUFFIXES: Final = frozenset(["jr", "sr", "ii", "iii", "iv", "phd", "md", "et"])
_ROMAN: Final = {r: str(n) for n, r in enumerate(["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"], 1)}
_TRANSLITERATED: Final = re.compile("(?<=[aou])e")
#: A letter that can begin a scrambled one, and the one to three that follow.
_SCRAMBLED: Final = re.compile("[ÂÃÄÅÎÏÐâã][^ -~\\s]{1,3}")
_ORDINAL: Final = re.compile(r"(?<!\d)(\d+)(?:st|nd|rd|th)\b")
_YEAR: Final = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_DIGITS: Final = re.compile(r"\d+")
_PAGE: Final = re.compile(r"[a-z]*\d+")
#: Words that make a title that of another work about the same work.
_MARKS: Final = frozenset(
    (
        "erratum errata corrigendum corrigenda correction corrections addendum retraction retracted withdrawn reply "
        "replies comment comments commentary response rebuttal editorial letter rejoinder"
    ).split()
)


class _Fold(dict[int, str]):
    """Translation table, filled on demand: base letters in lower case, digits, spaces for all else."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", chr(code)).lower())
        self[code] = "".join(map(_letter, parts))
        return self[code]


def _letter(char: str) -> str:
    """One decomposed character in lower case."""
    if char in _APOSTROPHES or unicodedata.category(char) in ("Cf", "Mn"):
        return ""
    if greek := _GREEK.match(unicodedata.name(char, "")):
        return greek[1].lower()
    return _LETTERS.get(char, char if char.isalnum() else " ")


_FOLD: Final = _Fold()


def fold(text: str) -> str:
    """Lower case letters without accents and digits, single spaces between words."""
    if not text.isascii() and _SCRAMBLED.search(text):
        text = _SCRAMBLED.sub(_unscramble, text)
    return " ".join(text.translate(_FOLD).split())


def _unscramble(found: re.Match[str]) -> str:
    """Letters that were UTF-8 and were read as Windows-1252 ("Ã¶"), as they were; anything else unchanged."""
    try:
        return found[0].encode("cp1252").decode("utf-8")
    except UnicodeError:
        return found[0]


def trigrams(text: str) -> frozenset[str]:
    """Character trigrams of ``text``; a text of one or two characters is its own only gram."""
    return frozenset({text[i : i + 3] for i in range(max(len(text) - 2, min(len(text), 1)))})


@lru_cache(maxsize=100_000)
def name_tokens(name: str) -> frozenset[str]:
    """The words of a last name that identify it: no particles, suffixes or initials, umlaut transliterations undone."""
    words = _TRANSLITERATED.sub("", fold(name)).split()
    kept = frozenset(word for word in words if len(word) > 1 and word not in _PARTICLES and word not in _SUFFIXES)
    return kept or frozenset(words)


def volume_key(volume: str | None) -> str | None:
    """The number of a volume: "Vol. 12(3)" and "XII" are "12"."""
    text = fold(volume or "")
    if number := _DIGITS.search(text):
        return number[0].lstrip("0") or "0"
    return _ROMAN.get(text, text) or None


def page_key(page: str | None) -> str | None:
    """The first page: lower case, its letters and number, without leading zeros ("S012-19" is "s12")."""
    text = fold(page or "").replace(" ", "") if page and not any(c.isdigit() for c in page) else fold(page or "")
    if not (match := _PAGE.search(text)):
        return _ROMAN.get(text, text) or None
    letters = match[0].rstrip("0123456789")
    return letters + (match[0][len(letters) :].lstrip("0") or "0")


@dataclass(frozen=True, slots=True)
class Description:
    """One side of a pair, prepared. ``raw`` is filled for references only; empty and None mean that the record is silent."""

    ids: Ids
    weak_ids: Ids
    title: str
    title_grams: frozenset[str]
    title_numbers: frozenset[str]
    title_marks: frozenset[str]
    names: tuple[frozenset[str], ...]
    venue: str
    years: frozenset[int]
    volume: str | None
    page: str | None
    raw: str = ""
    raw_grams: frozenset[str] = frozenset()
    raw_words: frozenset[str] = frozenset()
    raw_ordinals: frozenset[str] = frozenset()
    shown: dict[str, str] = field(default_factory=dict, compare=False)


def _title(text: str | None) -> tuple[str, frozenset[str], frozenset[str], frozenset[str]]:
    words = fold((text or "")[:TITLE_LIMIT]).split()
    compact = "".join(words)
    numbers = frozenset(_DIGITS.findall(" ".join(words))) | {_ROMAN[word] for word in words if word in _ROMAN and len(word) > 1}
    return compact, trigrams(compact), numbers, _MARKS.intersection(words)


def _book(venue: str | None, volume: str | None) -> str | None:
    """What stands for the title where there is none: a book's name, tagged as the venue; a volume makes it a journal."""
    return None if volume else venue


def _shown(year: int | None, volume: str | None, page: str | None) -> dict[str, str]:
    values = {"year": year, "volume": volume, "page": page}
    return {name: " ".join(str(value).split())[:20] for name, value in values.items() if value}


def describe_work(work: Work) -> Description:
    """The candidate's side."""
    title, grams, numbers, marks = _title(work.title or _book(work.venue, work.volume))
    return Description(
        ids=work.ids, weak_ids=Ids(), title=title, title_grams=grams, title_numbers=numbers, title_marks=marks,
        names=tuple(name_tokens(name) for name in work.authors[:AUTHOR_LIMIT]), venue=work.venue or "",
        years=frozenset() if work.year is None else frozenset({work.year}),
        volume=volume_key(work.volume), page=page_key(work.fpage), shown=_shown(work.year, work.volume, work.fpage),
    )  # fmt: skip


def describe_reference(reference: Reference) -> Description:
    """The reference's side; a year that is not tagged is looked for in the text."""
    title, grams, numbers, marks = _title(
        reference.title or reference.chapter_title or _book(reference.venue, reference.volume)
    )
    raw = fold(reference.raw_query[:RAW_LIMIT])
    years = {reference.year} if reference.year is not None else {int(year) for year in _YEAR.findall(raw)}
    return Description(
        ids=reference.ids, weak_ids=reference.ids_weak,
        title=title, title_grams=grams, title_numbers=numbers, title_marks=marks,
        names=tuple(name_tokens(name) for name in reference.last_names[:AUTHOR_LIMIT]), venue=reference.venue or "",
        years=frozenset(years),
        volume=volume_key(reference.volume), page=page_key(reference.first_page),
        raw=raw, raw_grams=trigrams(raw.replace(" ", "")),
        raw_words=frozenset(raw.split()) | frozenset(_TRANSLITERATED.sub("", raw).split()),
        raw_ordinals=frozenset(_ORDINAL.findall(raw)),
        shown=_shown(reference.year, reference.volume, reference.first_page),
    )  # fmt: skip
