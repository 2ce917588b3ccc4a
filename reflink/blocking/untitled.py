"""Recognise citations without title, with or without authors: "Neuroimage. 2009 Jun;46(2):516-21".

PubMed's reference lists and articles of chemistry and physics have such citations, in four orders of the fields:

- journal, year, volume, page: "Angew. Chem. 2013, 125, 3016-3020", "J Lab Clin Med. 1977 Aug;90(2):249-58"
- journal, volume, page, year: "Phys. Rev. Lett. 102, 123456 (2009)"
- journal, volume, year, page: "Nature 227 (1970) 680-685"
- authors, year, journal, volume, page: "Ravenhall D. G., 1983, Phys. Rev. Lett., 50, 2066"

A text is such a citation only as a whole. Its journal is one sentence, or parts that each may be an abbreviation, so most texts
with a title do not match. If one does, its journal is unlike that of any work.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from reflink.blocking.author_list import splits
from reflink.entities import Reference
from reflink.journals.names import main_title

#: Maximum characters of a citation without its authors, words of a journal, and words of one abbreviated part of it ("Cell
#: Biol."); minimum letters of a word that shows a title beside others.
_MAX_TEXT: Final = 160
_MAX_WORDS: Final = 14
_MAX_PART: Final = 3
_LONG_WORD: Final = 5

_YEAR: Final = r"(?P<year>(?:1[6-9]|20)\d\d)[a-z]?"
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|fall|autumn|winter)[a-z]*\.?"
_DAY: Final = r"(?:\s+\d\d?(?:\s?[-–]\s?\d\d?)?)?"
_DATE: Final = rf"{_YEAR}(?:[-–](?:1[6-9]|20)\d\d)?(?:[\s,]+{_MONTH}(?:\s?[-–/]\s?{_MONTH})?)?{_DAY}"
_SUPPLEMENT: Final = r"(?:\s?\(?(?:suppl|pt|spec)[^:;,]{0,16})"
_ISSUE: Final = rf"(?:\s?\([^()]{{0,24}}\)|{_SUPPLEMENT}){{0,2}}"
_NUMBERED: Final = r"[a-z]{0,3}\d{1,4}[a-z]?|[ivxl]{2,7}(?=[\s,:(])"
_VOLUME: Final = rf"(?:vol(?:ume)?\.?\s?)?(?P<volume>{_NUMBERED})(?:\s?[-–/]\s?\d{{1,4}})?" + _ISSUE
_REST: Final = r"(?:\s?[-–]{1,2}\s?[a-z]{0,3}\d{1,8}[a-z]?(?:\.e?\d{1,3})?|,\s?[a-z]?\d{1,5}){0,4}\+?"
_PAGE: Final = r"(?:pp?\.?\s?)?(?P<page>[a-z]{0,4}\.?\d{1,8}(?:\.[a-z]?\d{1,8})?[a-z]?)" + _REST
_WITHIN: Final = (
    r"[^;:,\d?]|\((?:[^()\d]{1,20} )?(?:19|20)\d\d\)|,(?=[^()]*\))"
    r"|(?<=\.):(?=\s?(?-i:[A-Z]))|,(?=\s(?:sect?|part|perkin|dalton|faraday|chem)\b)"
)
_JOURNAL: Final = rf"(?P<journal>(?:\d[a-z]\s)?[^\W\d_](?:{_WITHIN}){{1,118}}?(?:\btrans\. ?[12])?)"
_BRACKETED: Final = r"(?:[\s,.;]*\[[^\[\]]{0,60}(?:\[[^\[\]]{0,20}\][^\[\]]{0,4})?\])?"
_REMARK: Final = r"(?:discussion|author reply|reply|quiz|passim|review|epub|erratum|\[pubmed\])"
_TAIL: Final = _BRACKETED + rf"(?:[\s.;,]*{_REMARK}[^:]{{0,24}})?[\s.;,\])]*"
_ORDERS: Final = tuple(
    re.compile(r"\s*(?:\[?\d{1,3}[\]).]\s+)?" + order + _TAIL, re.IGNORECASE)
    for order in (
        rf"{_JOURNAL}[\s.,]+\(?{_DATE}\)?\s?[;,:]\s?{_VOLUME}\s?[:,;]\s?{_PAGE}",
        rf"{_JOURNAL}[\s.,]+{_VOLUME}\s?[:,;]\s?{_PAGE}[\s,]*\({_YEAR}\)",
        rf"{_JOURNAL}[\s.,]+{_VOLUME}\s?\({_YEAR}\)\s?[:,;]?\s?(?:no\.?\s?\d{{1,4}}(?:-\d{{1,4}})?,?\s?)?{_PAGE}",
    )
)
#: The order after a year that follows the authors.
_UNDATED: Final = re.compile(rf"{_JOURNAL}[\s.,]+{_VOLUME}\s?[:,;]\s?{_PAGE}{_TAIL}", re.IGNORECASE)
#: A section's letter in the volume: "Phys. Rev. D58" and "Phys. Lett. 123B".
_LETTERED: Final = re.compile(r"([A-H])(\d{1,4})|(\d{1,4})([A-H])")
_BRACKETS: Final = re.compile(r"\([^()]*\)")
#: The first author of a citation that has one: "Huskisson EC". Alone it may be a journal if its name is short: "Plant J".
_PERSON: Final = re.compile(r"[^\W\d_][\w'’-]{3,} [A-Z]{1,3}")
_PERSON_ALONE: Final = re.compile(r"[^\W\d_][\w'’-]{8,} [A-Z]{1,3}")
#: The end of one author with one initial, and a full stop: it may be a title: "Vitamin D. ", "Factor IX. ", "T Cells. ".
_DOUBTFUL: Final = re.compile(r"(?:\w{2,} (?:[A-Z]|[IVX]+)|\b[A-Z](?:\. ?| )\w{2,})\.\s+\Z")
#: The end of a word that is not abbreviated: "Malaria", "Psychology", "HIV", "FreeSurfer", "Osteoporosis", "Protein".
_UNABBREVIATED: Final = re.compile(
    r"(?:[aeoãé]|\w{4}y|[A-Z]{2}|[a-z][A-Z]\w*|\w{3}(?:[st]is|es|cs|[^f]us)|\w{4}(?:[^c]cin|[elm]in|[ist]ion|ism|cer|ing))\Z"
)
_FULL_STOP: Final = re.compile(r"(?<=\w{9})\. ")
_FUER: Final = re.compile(r" f(?:u|ü|ue)r ", re.IGNORECASE)
#: Four words in lower case: part of a title.
_SENTENCE: Final = re.compile(r"(?<![a-z-])(?:[a-z][a-z-]+ ){4}")
_ET_AL: Final = re.compile(r"\bet al\b", re.IGNORECASE)
_YEAR_ALONE: Final = re.compile(r"(?<!\d)(?:1[6-9]|20)\d\d(?!\d)")


class Untitled(NamedTuple):
    """The fields of a reference without title, as written. ``last_names`` is empty for a reference without authors."""

    venue: str
    year: int
    volume: str
    first_page: str
    last_names: tuple[str, ...] = ()


def fields_of(reference: Reference) -> Untitled | None:
    """Return the fields of a reference without title and without tagged authors. Tagged fields outrank the text.

    Return None if the reference has a title or tagged authors, if its text may have a title, or if journal, year, volume or
    page is missing.
    """
    if reference.title or reference.chapter_title or reference.last_names or reference.collab or reference.collectives:
        return None
    venue, year, volume, page = reference.venue, reference.year, reference.volume, reference.first_page
    if text := reference.raw_query:
        if not (found := read(text) or read_authored(text)):
            return None
        return Untitled(
            venue or found.venue, year or found.year, volume or found.volume, page or found.first_page, found.last_names
        )
    return Untitled(venue, year, volume, page) if venue and year and volume and page else None


@lru_cache(maxsize=1 << 12)
def read(text: str) -> Untitled | None:
    """Return the fields of a citation that has a journal, a year, a volume and a page, and nothing else; else None."""
    if len(text) > _MAX_TEXT or not _YEAR_ALONE.search(text):
        return None
    for order in _ORDERS:
        if (found := order.fullmatch(text)) and _is_journal(found["journal"]):
            return _fields(found, int(found["year"]))
    return None


@lru_cache(maxsize=1 << 12)
def read_authored(text: str) -> Untitled | None:
    """Return the fields of a citation that has authors, a journal, a year, a volume and a page, and nothing else; else None."""
    ways = splits(text)
    if not ways or _SENTENCE.search(text) or not _YEAR_ALONE.search(text):
        return None
    for authored in ways:
        is_alone = len(authored.last_names) == 1 and authored.year is None
        if is_alone and _DOUBTFUL.search(text.removesuffix(authored.rest)):
            continue
        fields = read(authored.rest)
        if fields is None and authored.year is not None and len(authored.rest) <= _MAX_TEXT:
            found = _UNDATED.fullmatch(authored.rest)
            fields = _fields(found, authored.year) if found and _is_journal(found["journal"]) else None
        if fields is not None and not _has_title(fields.venue):
            return fields._replace(last_names=authored.last_names)
    return None


def _fields(found: re.Match[str], year: int) -> Untitled:
    venue, volume = found["journal"].strip(" ."), found["volume"]
    if section := _LETTERED.fullmatch(volume):
        venue, volume = f"{venue} {section[1] or section[4]}", section[2] or section[3]
    return Untitled(venue, year, volume, found["page"])


def _has_title(venue: str) -> bool:
    """Return whether a title precedes the journal: a sentence of several words or of a word that is not abbreviated."""
    for part in re.split(r"[.?!]\s+", venue)[:-1]:
        words = part.split()
        if (len(words) > 1 and max(map(len, words)) >= _LONG_WORD) or (words and _UNABBREVIATED.search(words[-1])):
            return True
    return False


def _is_journal(text: str) -> bool:
    """Return whether the text may be the name of a journal: one sentence, or parts that each may be abbreviated."""
    parts = re.split(r"\.\s+", _BRACKETS.sub(" ", text).strip(" ."))
    counts = [len(part.split()) for part in parts]
    if _ET_AL.search(text) or (_PERSON if len(parts) > 1 else _PERSON_ALONE).fullmatch(parts[0]):
        return False
    return 0 < sum(counts) <= _MAX_WORDS and (len(parts) == 1 or max(counts) <= _MAX_PART)


def in_supplement(page: str) -> bool:
    """Return whether the page belongs to a supplement: "S12"."""
    return page[:1] in ("s", "S") and page[1:2].isdigit()


def title_proper(venue: str) -> str:
    """Return a journal's title without subtitle, parallel title and "für".

    "FASEB journal : official publication of …" gives "FASEB journal". A full stop ends a title only after a long word, since
    others are abbreviated.
    """
    return _FUER.sub(" ", _FULL_STOP.split(main_title(venue), maxsplit=1)[0])
