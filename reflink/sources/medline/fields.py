"""Fields that articles and books share: texts, titles, people, identifiers, years, languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from lxml import etree

from reflink.entities import Ids
from reflink.errors import BadRecord
from reflink.identifiers import NO_IDS, normalise_arxiv, normalise_doi, normalise_pmcid
from reflink.sources.languages import language_code
from reflink.sources.medline.parsing import UNREAD

#: Children of an element by tag.
Parts = dict[str, list[etree._Element]]

#: Maximum number of characters of a name, number or volume, and of a title; maximum number of authors.
MAX_SHORT: Final = 300
MAX_TITLE: Final = 5_000
MAX_AUTHORS: Final = 10_000

_YEAR: Final = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_UNREAD: Final = frozenset(UNREAD)
#: A note of NLM in translated titles of the 1970s, and the title of a record without one.
_TRANSLATED_BY_AUTHOR: Final = re.compile(r"(?i)\s*\(author'?s transl\.?\)\.?$")
_NO_TITLE: Final = frozenset(("not available", "in process citation", "no title available"))


def first(element: etree._Element, tag: str) -> etree._Element:
    """Return the first child with this tag. Raises BadRecord if there is none."""
    for child in element:
        if child.tag == tag:
            return child
    raise BadRecord(f"{element.tag}: has no {tag}")


def parts_of(element: etree._Element) -> Parts:
    """Return the children of an element by tag."""
    parts: Parts = {}
    for child in element:
        parts.setdefault(str(child.tag), []).append(child)
    return parts


def text_of(element: etree._Element, limit: int = MAX_SHORT) -> str:
    """Return at most ``limit`` characters of an element as one line; markup adds no space, `UNREAD` elements no text."""
    text = "".join(_pieces(element)) if len(element) else element.text or ""
    return " ".join(text[:limit].split())


def _pieces(element: etree._Element) -> Iterable[str]:
    if element.text:
        yield element.text
    for child in element:
        if isinstance(child.tag, str) and child.tag not in _UNREAD:
            yield from _pieces(child)
        if child.tail:
            yield child.tail


def title_of(element: etree._Element) -> str | None:
    """Return a title without the brackets of a translated one and without final full stop; None for "[Not Available]."."""
    text = text_of(element, MAX_TITLE)
    inner = text.rstrip(".")
    if inner[:1] == "[" and inner[-1:] == "]" and _closes_at_end(inner):
        text = _TRANSLATED_BY_AUTHOR.sub("", inner[1:-1].strip())
    if text.lower().rstrip(".") in _NO_TITLE:
        return None
    return without_full_stop(text) or None


def _closes_at_end(text: str) -> bool:
    """Return whether the bracket at the beginning closes at the end: not in "[3H]thymidine and [14C]"."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if depth == 0:
            return at == len(text) - 1
    return False


def without_full_stop(text: str) -> str:
    """Return a title without its final full stop; one of an ellipsis or of an abbreviation with several stops stays."""
    if not text.endswith(".") or "." in text[:-1].rpartition(" ")[2]:
        return text
    return text[:-1].rstrip()


def people(authors: Iterable[etree._Element]) -> tuple[list[str], list[str]]:
    """Return the last names and groups of the ``Author`` elements, and the groups. Names marked as invalid are left out."""
    names: list[str] = []
    groups: list[str] = []
    for author in authors:
        if author.tag != "Author" or author.get("ValidYN") == "N":
            continue
        if len(names) == MAX_AUTHORS:
            break
        for part in author:
            if part.tag == "LastName":
                if name := text_of(part):
                    names.append(name)
                break
            if part.tag == "CollectiveName":
                if name := text_of(part).rstrip(". "):
                    names.append(name)
                    groups.append(name)
                break
    return names, groups


def valid(locations: Iterable[etree._Element]) -> Iterator[etree._Element]:
    """Yield the ``ELocationID`` elements that PubMed does not mark as wrong."""
    return (item for item in locations if item.get("ValidYN") != "N")


def ids_of(items: Iterable[etree._Element], locations: Iterable[etree._Element], pmid: str) -> Ids:
    """Return the identifiers of the ``ArticleId`` elements, else those of the valid ``ELocationID`` elements."""
    ids: dict[str, str | None] = {"pmid": pmid}
    for item in items:
        kind = item.get("IdType")
        if kind == "doi" and "doi" not in ids:
            if doi := normalise_doi(text_of(item)):
                ids["doi"] = doi
        elif kind == "pmc" and "pmcid" not in ids and (pmcid := normalise_pmcid(text_of(item))):
            ids["pmcid"] = pmcid
    for item in valid(locations):
        kind = item.get("EIdType")
        if kind == "doi" and "doi" not in ids:
            if doi := normalise_doi(text_of(item)):
                ids["doi"] = doi
        elif kind == "pii" and "arxiv" not in ids and (text := text_of(item))[:6].lower() == "arxiv:":
            ids["arxiv"] = normalise_arxiv(text)
    if "arxiv" not in ids and (ids.get("doi") or "").startswith("10.48550/"):
        ids["arxiv"] = normalise_arxiv(ids["doi"] or "")
    return Ids.made(ids) if ids else NO_IDS


def year_of(date: etree._Element) -> int | None:
    """Return the year of a date, or the first year of a ``MedlineDate`` ("1998 Dec-1999 Jan")."""
    for part in date:
        if part.tag in ("Year", "MedlineDate"):
            found = _YEAR.search(part.text or "")
            return int(found[1]) if found else None
    return None


def language_of(codes: Iterable[etree._Element]) -> str | None:
    """Return the first language that is known."""
    return next((code for item in codes if (code := language_code(item.text or ""))), None)
