"""Read what one ``biblStruct`` or ``bibl`` states: titles, people, imprint, identifiers, the citation as printed.

The levels of a ``biblStruct`` are the part (``analytic``), the whole that holds it (``monogr``) and its series. A ``bibl`` has
none; the attribute ``level`` of its titles takes their place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from lxml import etree

from reflink.bibliography.citation import Citation
from reflink.formats.records import Person, names, year_in
from reflink.formats.tei.names import NAMES, text_of
from reflink.formats.tei.people import people
from reflink.identifiers import NORMALISERS, extract
from reflink.sources.pages import first_and_last
from reflink.subtitles import joined

#: Kinds of identifiers by the attribute ``type``, in lower case.
_KINDS: Final = {
    "doi": "doi", "pmid": "pmid", "pubmed": "pmid", "pmc": "pmcid", "pmcid": "pmcid", "pubmedcentral": "pmcid",
    "arxiv": "arxiv",
}  # fmt: skip
_LEVELS: Final = {"analytic": "a", "monogr": "m", "series": "s"}
#: Types of titles that are not the title: "running-head", "short".
_MAIN_TITLES: Final = frozenset((None, "main", "sub", "subordinate", "subtitle"))
_SCOPES: Final = {
    "volume": "volume", "vol": "volume", "issue": "issue", "number": "issue", "page": "page", "pages": "page", "pp": "page",
    "p": "page", "fpage": "page", "lpage": "last",
}  # fmt: skip
#: Types of dates that are not the date of publication.
_OTHER_DATES: Final = frozenset(("accessed", "access", "submitted", "received", "accepted"))
_EDITORS: Final = frozenset(("", "editor", "ed", "eds", "edt"))
#: Maximum length of a title, and of any other text, in characters.
MAX_TITLE: Final = 3_000
_MAX: Final = 300
#: Maximum number of people of each role.
_MANY: Final = 5_000


@dataclass(slots=True)
class Bibl:
    """What one citation states. ``titles``: level, type and text of each. ``people``: by level. ``ids``: of the cited work."""

    kind: str | None = None
    raw: str = ""
    titles: list[tuple[str, str | None, str]] = field(default_factory=list)
    people: dict[str, list[Person]] = field(default_factory=dict)
    editors: list[Person] = field(default_factory=list)
    ids: list[tuple[str, str, str]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scopes: dict[str, str] = field(default_factory=dict)
    issns: list[str] = field(default_factory=list)
    own_ids: list[str] = field(default_factory=list)


def read(element: etree._Element) -> Bibl:
    """Return what a ``biblStruct`` or ``bibl`` states."""
    found = Bibl(kind=_word(element.get("type")))
    _read(element, "", found)
    return found


def _read(element: etree._Element, level: str, found: Bibl) -> None:
    for part in element:
        name = NAMES.get(part.tag)
        if name is None:
            continue
        if name == "author":
            persons = found.people.setdefault(level, [])
            if len(persons) < _MANY:
                persons += people(part)
        elif name == "title":
            own = part.get("level") or level
            found.titles.append((own, part.get("type"), text_of(part)[:MAX_TITLE]))
        elif name == "biblScope":
            _scope(part, found)
        elif name == "date":
            _date(part, found)
        elif name in _LEVELS:
            _read(part, _LEVELS[name], found)
        elif name == "imprint":
            _read(part, level, found)
        elif name == "idno":
            _identifier(part, level, found)
        elif name == "note":
            _note(part, found)
        elif name in ("ptr", "ref"):
            if target := part.get("target"):
                found.links.append(target[:_MAX])
        elif name == "publisher":
            found.scopes.setdefault("publisher", text_of(part)[:_MAX])
        elif name == "editor":
            if (part.get("role") or "").lower() in _EDITORS and len(found.editors) < _MANY:
                found.editors += people(part)
        elif name == "meeting":
            found.scopes.setdefault("meeting", " ".join((part.text or "").split())[:_MAX])
        elif name == "respStmt":
            for child in part:
                if NAMES.get(child.tag) == "orgName":
                    found.scopes.setdefault("institution", text_of(child)[:_MAX])


def _scope(part: etree._Element, found: Bibl) -> None:
    """Read a volume, an issue or pages; pages may be one element with a range, or two with its ends."""
    scope = _SCOPES.get((part.get("unit") or part.get("type") or "").lower())
    text = text_of(part)[:_MAX]
    if scope == "page":
        first, last = first_and_last(text)
        first, last = part.get("from") or (None if part.get("to") and last is None else first), part.get("to") or last
        for name, value in (("first_page", first), ("last_page", last)):
            if value and value.strip():
                found.scopes.setdefault(name, value.strip()[:_MAX])
    elif scope == "last":
        found.scopes.setdefault("last_page", text)
    elif scope is not None and (value := text or (part.get("from") or part.get("n") or "").strip()[:_MAX]):
        found.scopes.setdefault(scope, value)


def _date(part: etree._Element, found: Bibl) -> None:
    kind = (part.get("type") or "").lower()
    if kind in _OTHER_DATES:
        return
    year = year_in(part.get("when") or "") or year_in(text_of(part))
    if year is not None and ("year" not in found.scopes or kind == "published"):
        found.scopes["year"] = str(year)


def _identifier(part: etree._Element, level: str, found: Bibl) -> None:
    stated = (part.get("type") or "").lower().replace(" ", "").replace("-", "")
    text = text_of(part)[:_MAX]
    kind = _KINDS.get(stated)
    if kind is not None:
        if value := NORMALISERS[kind](text):
            found.ids.append((level, kind, value))
    elif stated in ("issn", "issne", "eissn", "issnp", "pissn"):
        found.issns.append(text)
    elif not stated:
        # GROBID leaves the type out if it does not know it; "abs/1907.11692" is how CoRR cites arXiv.
        if text.startswith("abs/"):
            text = f"arXiv:{text[4:]}"
        found.ids += [(level, kind, value) for kind, value in extract(text) if value]
    elif stated in ("docnumber", "halid", "publisherid", "md5"):
        found.own_ids.append(text)


def _note(part: etree._Element, found: Bibl) -> None:
    kind = part.get("type")
    if kind == "raw_reference":
        found.raw = found.raw or text_of(part)
    elif kind == "report_type":
        found.kind = found.kind or _word(text_of(part))
    elif kind is None and (text := text_of(part)[:MAX_TITLE]):
        found.notes.append(text)


def _word(text: str | None) -> str | None:
    return " ".join(text.split())[:_MAX] or None if text else None


def identifiers(found: Bibl) -> dict[str, str]:
    """Return the identifiers of the cited work by kind, without the DOI of the whole that holds it and of the series."""
    part = any(level == "a" and text for level, _, text in found.titles)
    ids: dict[str, str] = {}
    for level, kind, value in found.ids:
        if level != "s" and not (part and level == "m" and kind == "doi"):
            ids.setdefault(kind, value)
    return ids


def fields(found: Bibl) -> Citation:
    """Return the fields of `reflink.entities.Reference` that a citation states.

    The title of a whole without a part is that of a book; with volume and pages, that of the journal that holds the work.
    """
    scopes = found.scopes
    titles = {level: _title(found, level) for level in {level for level, _, _ in found.titles}}
    part, journal = titles.get("a"), titles.get("j")
    whole = titles.get("m") or titles.get("u") or titles.get("")
    if part is None and journal is None and not {"volume", "first_page"} <= scopes.keys():
        title, venue = whole, titles.get("s")
    else:
        title, venue = part, journal or whole or titles.get("s")
    authors = found.people.get("a") or found.people.get("") or found.people.get("m") or ()
    year = scopes.get("year")
    return {
        "kind": found.kind, "title": title, **names(authors), "editors": tuple(last for last, _, _ in found.editors),
        "venue": venue or scopes.get("meeting"), "publisher": scopes.get("publisher") or scopes.get("institution"),
        "year": int(year) if year else None, "volume": scopes.get("volume"), "issue": scopes.get("issue"),
        "first_page": scopes.get("first_page"), "last_page": scopes.get("last_page"),
    }  # fmt: skip


def _title(found: Bibl, level: str) -> str | None:
    """Return the title of a level: the main one with its subtitles, else another one such as an abbreviation."""
    titles = [each for each in found.titles if each[0] == level and any(map(str.isalnum, each[2]))]
    if len(titles) < 2:
        return titles[0][2] if titles else None
    main = [each for each in titles if each[1] in _MAIN_TITLES]
    if not main:
        return titles[0][2]
    return joined((main[0][2], *(text for _, kind, text in main[1:] if kind not in (None, "main"))))
