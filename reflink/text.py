"""Normalisation, truncation and representative texts, as the method defines them (paper section 3.1-3.3).

A *representative text* stands for one side of a (reference, work) pair. Modes name the fields it is made of, in order:
``T`` title, ``V`` publication venue, ``Y`` year, ``L`` last names of the authors, ``A`` abstract. ``Raw`` is the citation as
written on the reference's side and "last names, title, year, venue" on the work's side.

Two families of approaches read these texts: *semantic* (sentence encoders) keep non-ASCII letters, *lexical* (trigrams)
see only ``[a-z0-9 ]``. Nothing here folds accents: that would not be the published method.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterable
from typing import Final, Literal, Protocol, get_args

Mode = Literal["Raw", "T", "TV", "TY", "TL", "TA", "TLY", "TVL", "TVY", "TVLY"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)

#: Characters kept of each field: the 95th percentiles of the paper's data (its Table 4).
LIMITS: Final[dict[str, int]] = {"T": 200, "L": 120, "V": 60, "Y": 4, "A": 2480}

#: Order of a candidate's fields in mode Raw, "like a typical reference entry".
RAW_CANDIDATE_FIELDS: Final = "LTYV"

#: What stands between two fields of a text for SBERT.
SEP: Final = " [SEP] "

_ASCII_PUNCTUATION: Final = frozenset(string.punctuation)
_LEXICAL_ALPHABET: Final = frozenset(string.ascii_lowercase + string.digits)


class Described(Protocol):
    """What a representative text is made of; papers, works and references all are."""

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
    """A reference: described by its fields, and by the citation as written."""

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
    """As above; whatever then is outside ``[a-z0-9]`` becomes a space."""

    def __missing__(self, code: int) -> int | None:
        kept = super().__missing__(code)
        if kept is not None and chr(code) not in _LEXICAL_ALPHABET:
            kept = self[code] = ord(" ")
        return kept


_SEMANTIC: Final = _Semantic()
_LEXICAL: Final = _Lexical()


def normalise(text: str, *, lexical: bool, limit: int | None = None) -> str:
    """One field: truncated to ``limit`` characters, lowercased, without punctuation, white space collapsed and stripped."""
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
    """The candidate's side. ``separator`` joins the fields of semantic texts; lexical ones are joined by a space."""
    if mode == "Raw":
        return _join((_field(work, letter, lexical) for letter in RAW_CANDIDATE_FIELDS), lexical, " ")
    return _join((_field(work, letter, lexical) for letter in mode), lexical, separator)


def reference_text(reference: Cited, mode: Mode, *, lexical: bool, separator: str = SEP) -> str:
    """The reference's side: in mode Raw the citation as written without its identifiers, untruncated."""
    if mode == "Raw":
        return normalise(reference.raw_query, lexical=lexical)
    return work_text(reference, mode, lexical=lexical, separator=separator)
