"""Normalisation, truncation and representative texts, as the method defines them (paper section 3.1-3.3).

A *representative text* represents the reference or the work of a pair. A mode names its fields, in order: ``T`` title, ``V``
publication venue, ``Y`` year, ``L`` last names of the authors, ``A`` abstract. ``Raw`` is the citation as written for a
reference, and "last names, title, year, venue" for a work.

*Semantic* texts (for sentence encoders) keep non-ASCII letters; *lexical* texts (for trigrams) consist of ``[a-z0-9 ]``. This
module does not fold accents, since the published method does not.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterable
from typing import Final, Literal, Protocol, get_args

Mode = Literal["Raw", "T", "TV", "TY", "TL", "TA", "TLY", "TVL", "TVY", "TVLY"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)

#: Maximum number of characters of each field: the 95th percentiles of the paper's data (its Table 4).
LIMITS: Final[dict[str, int]] = {"T": 200, "L": 120, "V": 60, "Y": 4, "A": 2480}

#: Order of a work's fields in mode Raw, "like a typical reference entry".
RAW_CANDIDATE_FIELDS: Final = "LTYV"

#: Separator between two fields of a text for SBERT.
SEP: Final = " [SEP] "

_ASCII_PUNCTUATION: Final = frozenset(string.punctuation)
_LEXICAL_ALPHABET: Final = frozenset(string.ascii_lowercase + string.digits)


class Described(Protocol):
    """A record with the fields of a representative text: a paper, work or reference."""

    @property
    def title(self) -> str | None:
        """The title."""

    @property
    def last_names(self) -> tuple[str, ...]:
        """The authors' last names, in order."""

    @property
    def venue(self) -> str | None:
        """Journal, proceedings or book."""

    @property
    def year(self) -> int | None:
        """Year of publication."""


class Cited(Described, Protocol):
    """A reference: a record with fields and the citation as written."""

    @property
    def raw_query(self) -> str:
        """The citation as written, without its identifiers."""


class _Semantic(dict[int, int | None]):
    """Translation table, filled on demand: deletes punctuation (Unicode category P and ``string.punctuation``)."""

    def __missing__(self, code: int) -> int | None:
        char = chr(code)
        deleted = char in _ASCII_PUNCTUATION or unicodedata.category(char).startswith("P")
        self[code] = None if deleted else code
        return self[code]


class _Lexical(_Semantic):
    """Translation table like _Semantic that also turns each remaining character outside ``[a-z0-9]`` into a space."""

    def __missing__(self, code: int) -> int | None:
        kept = super().__missing__(code)
        if kept is not None and chr(code) not in _LEXICAL_ALPHABET:
            kept = self[code] = ord(" ")
        return kept


_SEMANTIC: Final = _Semantic()
_LEXICAL: Final = _Lexical()


def normalise(text: str, *, lexical: bool, limit: int | None = None) -> str:
    """Normalise a field: truncate to ``limit`` characters, lowercase, remove punctuation, collapse and strip white space."""
    table = _LEXICAL if lexical else _SEMANTIC
    return " ".join(text[:limit].lower().translate(table).split())


def _field(record: Described, letter: str, lexical: bool) -> str:
    match letter:
        case "T":
            text = record.title or ""
        case "L":
            text = " ".join(record.last_names)
        case "V":
            text = record.venue or ""
        case "Y":
            text = "" if record.year is None else str(record.year)
        case "A":
            text = getattr(record, "abstract", None) or ""
        case _:
            raise ValueError(f"unknown field {letter!r} in a mode: expected one of {''.join(LIMITS)}")
    return normalise(text, lexical=lexical, limit=LIMITS[letter])


def _join(fields: Iterable[str], lexical: bool, separator: str) -> str:
    if lexical or separator.isspace():
        return " ".join(field for field in fields if field)
    return separator.join(fields)


def work_text(work: Described, mode: Mode, *, lexical: bool, separator: str = SEP) -> str:
    """Return the representative text of a work. ``separator`` joins semantic fields, a space joins lexical ones."""
    if mode == "Raw":
        return _join((_field(work, letter, lexical) for letter in RAW_CANDIDATE_FIELDS), lexical, " ")
    return _join((_field(work, letter, lexical) for letter in mode), lexical, separator)


def reference_text(reference: Cited, mode: Mode, *, lexical: bool, separator: str = SEP) -> str:
    """Return the representative text of a reference: in mode Raw the citation as written, without identifiers, untruncated."""
    if mode == "Raw":
        return normalise(reference.raw_query, lexical=lexical)
    return work_text(reference, mode, lexical=lexical, separator=separator)
