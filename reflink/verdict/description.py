"""What the verdict compares: one side of a pair, folded and cut into tokens and trigrams once.

Unlike the published texts (reflink.text), everything here is folded: accents are dropped, Greek letters spelled out, German
umlauts and their transliterations made equal, because the two sides come from different typesetters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Generic, TypeVar

from reflink.entities import Ids, Reference, Work
from reflink.verdict.grams import Grams, grams

Value = TypeVar("Value")

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
#: Those that are no single letter, which may be an initial or a panel.
_ROMAN_WORDS: Final = frozenset(word for word in _ROMAN if len(word) > 1)
_TRANSLITERATED: Final = re.compile("(?<=[aou])e")
#: A letter that can begin a scrambled one, and the one to three that follow.
_SCRAMBLED: Final = re.compile("[ÂÃÄÅÎÏÐâã][^ -~\\s]{1,3}")
_ORDINAL: Final = re.compile(r"(?<!\d)(\d+)(?:st|nd|rd|th)\b")
_YEAR: Final = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_DIGITS: Final = re.compile(r"\d+")
_PAGE: Final = re.compile(r"[a-z]*\d+")
_NO_IDS: Final = Ids()
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


#: The same for ASCII, which most text is: a table of bytes and those it deletes take a twentieth of the time.
_FOLD_BYTES: Final = bytes(ord(_FOLD[code] or " ") if code < 128 else 32 for code in range(256))
_DELETED: Final = bytes(code for code in range(128) if not _FOLD[code])
_NO_LETTER: Final = bytes(code for code in range(128) if not _FOLD[code].strip())


def fold(text: str) -> str:
    """Lower case letters without accents and digits, single spaces between words."""
    return " ".join(folded_words(text))


def folded_words(text: str) -> list[str]:
    """The words of ``fold``."""
    if text.isascii():
        return text.encode().translate(_FOLD_BYTES, _DELETED).decode().split()
    if _SCRAMBLED.search(text):
        text = _SCRAMBLED.sub(_unscramble, text)
    return text.translate(_FOLD).split()


def compact(text: str) -> str:
    """``fold`` without the spaces."""
    if text.isascii():
        return text.encode().translate(_FOLD_BYTES, _NO_LETTER).decode()
    return "".join(folded_words(text))


def _unscramble(found: re.Match[str]) -> str:
    """Letters that were UTF-8 and were read as Windows-1252 ("Ã¶"), as they were; anything else unchanged."""
    try:
        return found[0].encode("cp1252").decode("utf-8")
    except UnicodeError:
        return found[0]


@lru_cache(maxsize=100_000)
def name_tokens(name: str) -> frozenset[str]:
    """The words of a last name that identify it: no particles, suffixes or initials, umlaut transliterations undone."""
    words = _TRANSLITERATED.sub("", fold(name)).split()
    kept = frozenset(word for word in words if len(word) > 1 and word not in _PARTICLES and word not in _SUFFIXES)
    return kept or frozenset(words)


@lru_cache(maxsize=20_000)
def volume_key(volume: str | None) -> str | None:
    """The number of a volume: "Vol. 12(3)" and "XII" are "12"."""
    text = fold(volume or "")
    if number := _DIGITS.search(text):
        return number[0].lstrip("0") or "0"
    return _ROMAN.get(text, text) or None


@lru_cache(maxsize=50_000)
def page_key(page: str | None) -> str | None:
    """The first page: lower case, its letters and number, without leading zeros ("S012-19" is "s12")."""
    text = fold(page or "").replace(" ", "") if page and not any(c.isdigit() for c in page) else fold(page or "")
    if not (match := _PAGE.search(text)):
        return _ROMAN.get(text, text) or None
    letters = match[0].rstrip("0123456789")
    return letters + (match[0][len(letters) :].lstrip("0") or "0")


class _lazy(Generic[Value]):  # noqa: N801
    """As functools.cached_property, without the lock that it takes before Python 3.12: a description has one user."""

    def __init__(self, compute: Callable[[Description], Value]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, side: Description, _: object = None) -> Value:
        value = side.__dict__[self._name] = self._compute(side)
        return value


class Description:
    """One side of a pair, prepared; empty and None mean that the record is silent.

    ``title`` is folded and without spaces. ``names`` are the words of each author's last name. ``year_said``, ``volume_said``
    and ``page_said`` are the fields as they stand in the record. Everything made of ``text`` (a reference's citation as
    written, a work has none) and every set is computed when a comparison first asks: most pairs are alike, and few ask.
    """

    def __init__(
        self, record: Reference | Work, title: str | None, names: tuple[str, ...], text: str, page: str | None, weak_ids: Ids
    ) -> None:
        self.ids, self.weak_ids = record.ids, weak_ids
        self._title_text = (title or "")[:TITLE_LIMIT]
        self._text = text
        if self._title_text.isascii():
            self.title = compact(self._title_text)
        else:
            self.__dict__["title_words"] = words = folded_words(self._title_text)
            self.title = "".join(words)
        self.names = tuple(map(name_tokens, names[:AUTHOR_LIMIT]))
        self.venue = record.venue or ""
        self.volume, self.page = volume_key(record.volume), page_key(page)
        self.year_said, self.volume_said, self.page_said = record.year, record.volume, page

    @_lazy
    def years(self) -> frozenset[int]:
        """The year of publication; one that is not tagged is looked for in the text."""
        if self.year_said is not None:
            return frozenset((self.year_said,))
        return frozenset(map(int, _YEAR.findall(self.raw))) if self._text else frozenset()

    @_lazy
    def title_words(self) -> list[str]:
        """The folded title's words."""
        return folded_words(self._title_text)

    @_lazy
    def title_grams(self) -> Grams:
        """The title's trigrams."""
        return grams(self.title)

    @_lazy
    def title_numbers(self) -> frozenset[str]:
        """Numbers in the title, Roman ones too."""
        words = self.title_words
        digits = _DIGITS.findall(" ".join(words)) if _DIGITS.search(self.title) else ()
        return frozenset(digits).union(map(_ROMAN.__getitem__, _ROMAN_WORDS.intersection(words)))

    @_lazy
    def title_marks(self) -> frozenset[str]:
        """Words of the title that make it one about another work."""
        return _MARKS.intersection(self.title_words)

    @_lazy
    def raw(self) -> str:
        """The citation as written, folded."""
        return fold(self._text)

    @_lazy
    def raw_compact(self) -> str:
        """The same without spaces."""
        return compact(self._text)

    @_lazy
    def raw_grams(self) -> Grams:
        """Its trigrams."""
        return grams(self.raw_compact)

    @_lazy
    def raw_words(self) -> frozenset[str]:
        """Its words, those with umlauts in both spellings."""
        return frozenset(self.raw.split()) | frozenset(_TRANSLITERATED.sub("", self.raw).split())

    @_lazy
    def raw_ordinals(self) -> frozenset[str]:
        """Its ordinal numbers ("2nd")."""
        return frozenset(_ORDINAL.findall(self.raw))


def _book(venue: str | None, volume: str | None) -> str | None:
    """What stands for the title where there is none: a book's name, tagged as the venue; a volume makes it a journal."""
    return None if volume else venue


def describe_work(work: Work) -> Description:
    """The candidate's side."""
    return Description(work, work.title or _book(work.venue, work.volume), work.authors, "", work.fpage, _NO_IDS)


def describe_reference(reference: Reference) -> Description:
    """The reference's side."""
    title = reference.title or reference.chapter_title or _book(reference.venue, reference.volume)
    text = reference.raw_query[:RAW_LIMIT]
    return Description(reference, title, reference.last_names, text, reference.first_page, reference.ids_weak)
