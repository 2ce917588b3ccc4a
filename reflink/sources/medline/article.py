"""Read one article of PubMed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from lxml import etree

from reflink.entities import Ids, Work
from reflink.identifiers import normalise_issn
from reflink.sources.medline.fields import (
    Parts,
    first,
    ids_of,
    language_of,
    parts_of,
    people,
    text_of,
    title_of,
    valid,
    year_of,
)
from reflink.sources.medline.pages import full_last_page, page_range
from reflink.sources.medline.relations import related, status
from reflink.sources.titles import split_status
from reflink.workids import work_id

#: Types of publications that are not journal articles, in Crossref's terms.
_TYPES: Final = {
    "Preprint": "posted-content", "Dataset": "dataset", "Academic Dissertation": "dissertation", "Technical Report": "report",
}  # fmt: skip
#: Maximum number of titles of a work.
_MAX_TITLES: Final = 20
#: A publisher's item id that is an article number ("e1021", "107659", "jeb242"), not the number of a manuscript.
_ARTICLE_NUMBER: Final = re.compile(r"[A-Za-z]{0,4}\d{1,9}", re.ASCII)


def article(element: etree._Element, citation: etree._Element, pmid: str) -> Work:
    """Return the work of a ``PubmedArticle``, its ``MedlineCitation`` and PMID. Raises BadRecord if it has no ``Article``."""
    about = parts_of(citation)
    body = parts_of(first(citation, "Article"))
    ids = ids_of(_article_ids(element), body.get("ELocationID", ()), pmid)
    found: dict[str, Any] = {"id": work_id(ids, None), "ids": ids}
    types = [text_of(item) for group in body.get("PublicationTypeList", ()) for item in group]
    marked = read_titles(body, found, notice="Retraction of Publication" in types)
    authors, collectives = people(author for group in body.get("AuthorList", ()) for author in group)
    if authors:
        found["authors"], found["collectives"] = tuple(authors), tuple(collectives)
    _read_journal(body, about, found)
    _read_pages(body, found)
    found["type"] = next((_TYPES[kind] for kind in types if kind in _TYPES), "journal-article")
    if language := language_of(body.get("Language", ())):
        found["language"] = language
    _read_relations(about, types, marked, ids, found)
    return Work.made(found)


def _article_ids(element: etree._Element) -> Iterator[etree._Element]:
    """Yield the identifiers of the article itself, not those of its references."""
    for data in element.iterchildren("PubmedData"):
        for part in data:
            if part.tag == "ArticleIdList":
                yield from part


def read_titles(body: Parts, found: dict[str, Any], *, notice: bool = False) -> str | None:
    """Read title and vernacular title, and return the status that the title states, except that of a notice about another."""
    titles: dict[str, str] = {}
    marked: str | None = None
    for item in (*body.get("ArticleTitle", ()), *body.get("VernacularTitle", ()))[:_MAX_TITLES]:
        if title := title_of(item):
            if not notice:
                title, status_ = split_status(title)
                marked = marked or status_
            titles.setdefault(title.casefold(), title)
    if titles:
        found["title"], *translated = titles.values()
        if translated:
            found["translated_titles"] = tuple(translated)
    return marked


def _read_journal(body: Parts, about: Parts, found: dict[str, Any]) -> None:
    """Read the journal's names and ISSNs, volume, issue, and the years of print and of the publication online."""
    names: dict[str, None] = {}
    short: dict[str, None] = {}
    issns: dict[str, None] = {}
    year: int | None = None
    for journal in body.get("Journal", ()):
        for item in journal:
            tag = item.tag
            if tag == "Title":
                names[text_of(item)] = None
            elif tag == "ISOAbbreviation":
                short[text_of(item)] = None
            elif tag == "ISSN":
                issns[item.text or ""] = None
            elif tag == "JournalIssue":
                for part in item:
                    tag = part.tag
                    if tag == "PubDate":
                        year = year_of(part)
                    elif (tag == "Volume" or tag == "Issue") and (text := text_of(part)):
                        found[tag.lower()] = text
    for info in about.get("MedlineJournalInfo", ()):
        for item in info:
            if item.tag == "MedlineTA":
                short[text_of(item)] = None
            elif item.tag == "ISSNLinking":
                issns[item.text or ""] = None
    if venues := [name for name in (*names, *short) if name]:
        found["venue"], *rest = venues
        if rest:
            found["venue_abbreviations"] = tuple({name.replace(".", ""): name for name in reversed(rest)}.values())[::-1]
    if valid := [issn for text in issns if (issn := normalise_issn(text))]:
        found["issns"] = tuple(dict.fromkeys(valid))
    online = next((number for date in body.get("ArticleDate", ()) if (number := year_of(date))), None)
    if year or online:
        found["year"] = year or online
        if online and year and online != year:
            found["online_year"] = online


def _read_pages(body: Parts, found: dict[str, Any]) -> None:
    """Read first and last page, or the article number in the publisher's item id."""
    start = end = None
    for pagination in body.get("Pagination", ()):
        texts = {part.tag: text_of(part) for part in pagination}
        if texts.get("MedlinePgn"):
            start, end = page_range(texts["MedlinePgn"])
        elif start := texts.get("StartPage"):
            last = texts.get("EndPage")
            end = full_last_page(start, last) if last else None
    if start is None:
        numbers = (text_of(item) for item in valid(body.get("ELocationID", ())) if item.get("EIdType") == "pii")
        start = next(filter(_ARTICLE_NUMBER.fullmatch, numbers), None)
    if start:
        found["fpage"] = start
        if end and end != start:
            found["lpage"] = end


def _read_relations(about: Parts, types: list[str], marked: str | None, ids: Ids, found: dict[str, Any]) -> None:
    relations = [
        each
        for corrections in about.get("CommentsCorrectionsList", ())
        for each in related(corrections, ids, found["type"] == "posted-content")
    ]
    if relations:
        found["related"] = tuple(dict.fromkeys(relations))
    if state := status((each.kind for each in relations), types) or marked:
        found["status"] = state
