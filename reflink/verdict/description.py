"""What the verdict compares: one side of a pair, folded and cut into words, trigrams and numbers once."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Generic, TypeVar

from reflink.entities import Ids, Reference, Work
from reflink.verdict.folding import compact, fold, folded_words
from reflink.verdict.grams import Grams, grams
from reflink.verdict.titles import ROMAN, marks, numbers, text_marks

Value = TypeVar("Value")

#: Characters of a title and of a citation that are compared; longer ones are broken records.
TITLE_LIMIT: Final = 400
RAW_LIMIT: Final = 1500
#: Authors compared, collaborations list thousands; and characters of a name.
AUTHOR_LIMIT: Final = 40
NAME_LIMIT: Final = 300
#: Years that a record may say; others are broken, and no number to count with.
YEAR_LIMIT: Final = 10_000

_PARTICLES: Final = frozenset("van von de der den la le du da di del dela della dos das el al bin ibn ter ten zu".split())
_SUFFIXES: Final = frozenset(["jr", "sr", "ii", "iii", "iv", "phd", "md", "et"])
_TRANSLITERATED: Final = re.compile("(?<=[aou])e")
_ORDINAL: Final = re.compile(r"(?<!\d)(\d+)(?:st|nd|rd|th)\b")
_YEAR: Final = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_DIGITS: Final = re.compile(r"\d+")
_PAGE: Final = re.compile(r"[a-z]*\d+")
#: A "page" that is the number of a series ("CD001234" of the Cochrane reviews): every version of the work has the same.
_SERIES: Final = re.compile(r"cd\d{3,6}")
_NO_IDS: Final = Ids()


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
    return ROMAN.get(text, text) or None


@lru_cache(maxsize=50_000)
def page_key(page: str | None) -> str | None:
    """The first page: lower case, its letters and number, without leading zeros ("S012-19" is "s12")."""
    text = fold(page or "").replace(" ", "") if page and not any(c.isdigit() for c in page) else fold(page or "")
    if not (match := _PAGE.search(text)):
        return ROMAN.get(text, text) or None
    letters = match[0].rstrip("0123456789")
    return letters + (match[0][len(letters) :].lstrip("0") or "0")


def said_year(year: int | None) -> int | None:
    """The year, unless it is none."""
    return year if year is not None and -YEAR_LIMIT < year < YEAR_LIMIT else None


def is_weak(page: str) -> bool:
    """Whether a page key says little: one digit, as articles without pages have, or the number of a series."""
    return len(page) == 1 or _SERIES.fullmatch(page) is not None


class _lazy(Generic[Value]):  # noqa: N801
    """As functools.cached_property, without the lock that it takes before Python 3.12: a description has one user."""

    def __init__(self, compute: Callable[[Description], Value]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, side: Description, _: object = None) -> Value:
        value = side.__dict__[self._name] = self._compute(side)
        return value


class Description:
    """One side of a pair, prepared; empty and None mean that the record is silent.

    ``title`` is folded and without spaces. ``names`` are the words of each author's last name; ``group``: the reference names
    a group only; ``tagged``: it has fields besides a title. ``year_said``, ``volume_said`` and ``page_said`` are the fields as
    they stand in the record. Everything made of ``text`` (a reference's citation as written, a work has none) and every set is
    computed when a comparison first asks.
    """

    def __init__(
        self, record: Reference | Work, title: str | None, names: tuple[str, ...], text: str, page: str | None, weak_ids: Ids,
        group: bool = False,
    ) -> None:  # fmt: skip
        self.ids, self.weak_ids, self.group = record.ids, weak_ids, group
        self.tagged = bool(names or record.venue or record.volume or page)
        self._title_text = (title or "")[:TITLE_LIMIT]
        self._text = text
        self.title = compact(self._title_text)
        self.names = tuple(name_tokens(name[:NAME_LIMIT]) for name in names[:AUTHOR_LIMIT])
        self.venue = record.venue or ""
        self.volume, self.page = volume_key(record.volume), page_key(page)
        self.year_said, self.volume_said, self.page_said = said_year(record.year), record.volume, page

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
        """Numbers in the title, those of parts too ("II", "Part B"), without years."""
        return frozenset(number for number in self._all_numbers if not _YEAR.fullmatch(number))

    @_lazy
    def title_years(self) -> frozenset[int]:
        """Years in the title."""
        return frozenset(int(number) for number in self._all_numbers if _YEAR.fullmatch(number))

    @_lazy
    def _all_numbers(self) -> frozenset[str]:
        return numbers(self._title_text, self.title_words)

    @_lazy
    def title_marks(self) -> frozenset[str]:
        """What in the title makes the work one about another work."""
        return marks(self._title_text, self.title_words)

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
    def raw_numbers(self) -> frozenset[str]:
        """Its numbers, Roman ones too."""
        return numbers(self._text, self.raw.split())

    @_lazy
    def raw_marks(self) -> frozenset[str]:
        """What in it says that another work about the one described is cited."""
        return text_marks(self.raw)

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
    group = not reference.last_names and bool(reference.collab or reference.collectives)
    return Description(reference, title, reference.last_names, text, reference.first_page, reference.ids_weak, group)
