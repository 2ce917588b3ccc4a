"""Convert other projects' records to reflink's form: names of authors, first pages, lines of a PDF, citation texts."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from reflink.entities import Reference, Work

_SUFFIXES: Final = frozenset(("jr", "sr", "ii", "iii", "iv"))
_HYPHENATED: Final = re.compile(r"(?<=[^\W\d_])-\n(?=[a-z])")
_YEAR: Final = re.compile(r"(?<!\d)(?:1[5-9]\d\d|20\d\d)(?!\d)")
_NUMBER: Final = re.compile(r"\d+")
_PAGE: Final = re.compile(r"([a-z]*)0*(\d+)")


def last_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the part before the comma of each name, else its last word; a "Jr." does not count, non-names are dropped."""
    found = []
    for name in names:
        before, _, after = name.partition(",")
        words = [word for word in before.split() if word.strip(".").lower() not in _SUFFIXES]
        given = [word for word in after.split() if word.strip(".").lower() not in _SUFFIXES]
        last = " ".join(words) if given else "".join(words[-1:])
        if any(map(str.isalpha, last)) and not last.startswith("&"):
            found.append(last)
    return tuple(found)


def unescaped(text: str) -> str:
    """Return ``text`` with HTML character references replaced and white space collapsed."""
    return " ".join(html.unescape(text).split())


def one_line(text: str) -> str:
    """Join the lines of a PDF, including words hyphenated at line ends."""
    return " ".join(_HYPHENATED.sub("", text).split())


def first_page(pages: str | None) -> str | None:
    """Return the first of "117-118"."""
    return (pages or "").replace("–", "-").split("-")[0].strip() or None


def years(text: object) -> frozenset[int]:
    """Return the numbers in ``text`` that may be years."""
    return frozenset(map(int, _YEAR.findall(str(text or ""))))


def year_of(text: object) -> int | None:
    """Return the first year in "1997.0"."""
    found = _YEAR.search(str(text or ""))
    return int(found[0]) if found else None


def letters(text: str | None) -> str:
    """Return letters and digits alone, in lower case and without accents."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text or "").lower()))


class RecordKey(NamedTuple):
    """Title, volume and first page of a record without typographic differences; empty: unknown."""

    title: str
    volume: str
    page: str

    @classmethod
    def of(cls, title: str | None, volume: str | None, page: str | None) -> RecordKey:
        """Normalise the fields as written: "Vol. 012(3)" is "12", "S012-19" is "s12"."""
        number, first = _NUMBER.search(volume or ""), _PAGE.search((page or "").lower())
        return cls(
            letters(title),
            number[0].lstrip("0") if number else letters(volume),
            first[1] + first[2] if first else letters(page),
        )


def reference_of(work: Work, names: Sequence[str] = ()) -> Reference:
    """Return a record as a citation: its fields, and one line made of them, with ``names`` in full where given.

    Identifiers are left out.
    """
    locator = ":".join(part for part in (work.volume, work.fpage) if part)
    year = None if work.year is None else str(work.year)
    parts = (", ".join(names or work.authors), work.title, work.venue, year, locator)
    return Reference(
        id=f"{work.id}#1", citing=f"citing:{work.id}", position=1, raw_text=". ".join(part for part in parts if part),
        title=work.title, last_names=work.authors, venue=work.venue, year=work.year, volume=work.volume, first_page=work.fpage,
    )  # fmt: skip
