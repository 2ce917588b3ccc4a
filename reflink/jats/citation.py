"""One citation element → the fields of one reference."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from lxml import etree

from reflink.entities import Ids
from reflink.identifiers import NO_IDS, NORMALISERS, REMOVED, extract, normalise_doi, strip
from reflink.jats.rawtext import Part, joined, line, text_of, walk

#: Elements that hold a citation. ``citation`` and ``nlm-citation`` are those of NLM 2 and 3.
CITATIONS: Final = ("mixed-citation", "element-citation", "citation", "nlm-citation")

_ID_TAGS: Final = frozenset(("pub-id", "object-id", "ext-link", "uri", "self-uri"))
_LINKS: Final = frozenset(("ext-link", "uri"))
_HREF: Final = "{http://www.w3.org/1999/xlink}href"
#: ``pub-id-type`` and ``ext-link-type`` of the identifiers that name a work.
ID_TYPES: Final[dict[str, str]] = {"doi": "doi", "pmid": "pmid", "pmcid": "pmcid", "pmc": "pmcid", "arxiv": "arxiv"}
#: What publishers write on a link beside a reference; no part of the citation.
_LINK_TEXTS: Final = frozenset(
    ("pubmed", "pubmed abstract", "crossref", "cross ref", "google scholar", "reference source", "publisher full text",
     "full text", "free full text", "pmc free article", "pubmed central full text", "view article", "webcite",
     "web of science", "scopus", "doi", "pmc", "link")
)  # fmt: skip
#: A citation's text is cut here, in characters: real ones are a quarter of it at most, and reading more costs without bound.
MAX_TEXT: Final = 10_000
#: Elements of which the first one with text is taken as it is.
_FIRST: Final = frozenset(
    ("collab", "source", "volume", "issue", "fpage", "page-range", "chapter-title", "part-title", "data-title")
)
_PAGE_BREAK: Final = re.compile(r"[-‐‑–—,]")
#: A year of publication as written, alone or with what surrounds it.
YEAR: Final = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_SURNAME_FIRST: Final = re.compile(r"\s*([^,]+),")
_INITIALS: Final = re.compile(r"(?:[A-Z]\.?-?){1,4}")
_AUTHORS: Final = frozenset(("author", "allauthors", "all-authors", "inventor", ""))


@dataclass
class Citation:
    """What one citation element says, in the spelling of `reflink.entities.Reference`."""

    raw_text: str
    raw_noid: str | None = None
    label: str | None = None
    kind: str | None = None
    title: str | None = None
    chapter_title: str | None = None
    last_names: tuple[str, ...] = ()
    collab: str | None = None
    venue: str | None = None
    year: int | None = None
    volume: str | None = None
    issue: str | None = None
    first_page: str | None = None
    ids: Ids = NO_IDS
    ids_weak: Ids = NO_IDS

    @property
    def raw_query(self) -> str:
        """As `reflink.entities.Reference.raw_query`."""
        return self.raw_text if self.raw_noid is None else self.raw_noid

    @property
    def tagged(self) -> int:
        """How many fields the markup gave."""
        people = (self.last_names, self.collab)
        fields = (*people, self.title, self.chapter_title, self.venue, self.year, self.volume, self.first_page)
        return sum(map(bool, fields))


def read_citation(element: etree._Element) -> Citation:
    """Reads the tags; what only the text says is left to others, identifiers excepted (``ids_weak``)."""
    pieces, parts = walk(element)
    citation = Citation(joined(pieces)[:MAX_TEXT], kind=element.get("publication-type") or element.get("citation-type") or None)
    first: dict[str, str] = {}
    ids: dict[str, str] = {}
    titles: list[Part] = []
    people: dict[str, list[str]] = {}
    bare: list[str] | None = None  # the pieces without identifiers, once there are any
    group, group_stop, accessed_stop = "", -1, -1
    for at, part in enumerate(parts):
        tag, item, start, stop = part
        if tag == "surname" or tag == "string-name":
            if start >= group_stop:
                group = ""
            if tag == "surname":
                people.setdefault(group, []).append(line(pieces[start:stop]))
            elif stop > start and not any(inner == "surname" and begin < stop for inner, _, begin, _ in parts[at + 1 : at + 5]):
                people.setdefault(group, []).append(_last_name(line(pieces[start:stop])))
        elif tag in _FIRST:
            if tag not in first and (text := line(pieces[start:stop])):
                first[tag] = text
        elif tag == "article-title":
            titles.append(part)
        elif tag == "person-group":
            group, group_stop = item.get("person-group-type") or "", stop
        elif tag == "year":
            if tag not in first and start >= accessed_stop and (found := YEAR.search(line(pieces[start:stop]))):
                first[tag] = found[1]
        elif tag in _ID_TAGS:
            if _identify(tag, item, line(pieces[start:stop]), ids):
                bare = bare or list(pieces)
                bare[start:stop] = [REMOVED] * (stop - start)
        elif tag == "elocation-id":
            text = line(pieces[start:stop])
            if text.startswith("10.") and (doi := normalise_doi(text)):
                ids.setdefault("doi", doi)
                bare = bare or list(pieces)
                bare[start:stop] = [REMOVED] * (stop - start)
            else:
                first.setdefault(tag, text)
        elif tag == "date-in-citation":
            accessed_stop = stop
    if (label := element.find("label")) is not None:
        citation.label = text_of(label) or None
    title = _title(pieces, titles, element.tag != "element-citation") if titles else None
    citation.title = title or first.get("data-title")
    citation.chapter_title = first.get("chapter-title") or first.get("part-title")
    citation.last_names = _names(people)
    citation.collab = first.get("collab")
    citation.venue = first.get("source")
    citation.year = int(first["year"]) if "year" in first else None
    citation.volume = first.get("volume")
    citation.issue = first.get("issue")
    citation.first_page = first.get("fpage") or first.get("elocation-id") or _first_page(first.get("page-range"))
    if ids:
        citation.ids = Ids(**ids)
    text = citation.raw_text if bare is None else joined(bare)[:MAX_TEXT]
    found_ids = extract(text)
    if found_ids is not NO_IDS:
        weak = {kind: value for kind, value in found_ids if kind not in ids and value}
        citation.ids_weak = Ids(**weak) if weak else NO_IDS
    noid = strip(text)
    if noid != citation.raw_text:
        citation.raw_noid = noid
    return citation


def _first_page(pages: str | None) -> str | None:
    return _PAGE_BREAK.split(pages, maxsplit=1)[0].strip() or None if pages else None


def _identify(tag: str, element: etree._Element, text: str, ids: dict[str, str]) -> bool:
    """Notes the identifiers of an id or link element; true when its text is nothing but an identifier or address."""
    text, href = text[:MAX_TEXT], (element.get(_HREF) or "").strip()[:MAX_TEXT]
    declared = (element.get("pub-id-type") or element.get("ext-link-type") or "").lower()
    if kind := ID_TYPES.get(declared):
        for value in (text, href):
            if value and (known := NORMALISERS[kind](value)):
                ids.setdefault(kind, known)
                return tag not in _LINKS or value == text or text.lower().strip(" []().") in _LINK_TEXTS
        return tag not in _LINKS
    if declared == "medline":  # MEDLINE numbers its own records: not a PMID
        return True
    for value in (href, text):
        for kind, known in extract(value):
            if known:
                ids.setdefault(kind, known)
    return tag not in _LINKS or text.lower().strip(" []().") in _LINK_TEXTS or not strip(text)


def _title(pieces: list[str], titles: list[Part], spaced: bool) -> str | None:
    """One title of the parts it may be split into: those with letters, and what stands between adjacent ones.

    ``spaced``: white space between elements means something, so parts without any are one word.
    """
    found: list[Part] = []
    for part in titles:
        if not any(map(str.isalnum, line(pieces[part[2] : part[3]]))):
            continue
        if found and any(map(str.isalnum, line(pieces[found[-1][3] : part[2]]))):
            break
        found.append(part)
    if not found:
        return None
    title = line(pieces[found[0][2] : found[0][3]])
    for before, part in pairwise(found):
        between = line(pieces[before[3] : part[2]])
        seamless = spaced and not before[1].tail and before[1].getnext() is part[1]
        title = line((title, between, "" if seamless else " ", line(pieces[part[2] : part[3]])))
    return title


def _names(people: dict[str, list[str]]) -> tuple[str, ...]:
    """The authors' last names; those of editors and others only where nobody else is named."""
    authors = [name for group, names in people.items() if group in _AUTHORS for name in names if name]
    return tuple(authors or [name for names in people.values() for name in names if name])


def _last_name(text: str) -> str:
    """The last name in a name written as one string: "Wang, X.", "Wang X" or "Xiao Wang"."""
    if found := _SURNAME_FIRST.match(text):
        return found[1].strip()
    words = [word for word in text.split() if not _INITIALS.fullmatch(word)]
    if not words:
        return text
    return words[-1] if len(words) == len(text.split()) else " ".join(words)
