"""Read one book, or a chapter of one, of PubMed: the titles of the NCBI Bookshelf."""

from __future__ import annotations

from typing import Any

from lxml import etree

from reflink.entities import Work
from reflink.sources.medline.article import read_titles
from reflink.sources.medline.fields import (
    Parts,
    first,
    ids_of,
    language_of,
    parts_of,
    people,
    text_of,
    without_full_stop,
    year_of,
)
from reflink.sources.medline.pages import page_range
from reflink.workids import work_id


def book(element: etree._Element, document: etree._Element, pmid: str) -> Work:
    """Return the work of a ``PubmedBookArticle``, its ``BookDocument`` and PMID. Raises BadRecord if it has no ``Book``.

    A document without a title of its own is the whole book; another one is a chapter, and the book is its venue.
    """
    body = parts_of(document)
    volume = parts_of(first(document, "Book"))
    lists = [*body.get("ArticleIdList", ())]
    for data in element.iterchildren("PubmedBookData"):
        lists += data.iterchildren("ArticleIdList")
    locations = (*body.get("ELocationID", ()), *volume.get("ELocationID", ()))
    ids = ids_of((item for each in lists for item in each), locations, pmid)
    found: dict[str, Any] = {"id": work_id(ids, None), "ids": ids}
    marked = read_titles(body, found)
    title = next((without_full_stop(text) for item in volume.get("BookTitle", ()) if (text := text_of(item))), None)
    whole = found.get("title") in (None, title)
    found["type"] = "book" if whole else "book-chapter"
    if title:
        found["title" if whole else "venue"] = title
    names, groups = _authors(body, "authors")
    if not names:
        names, groups = _authors(volume, "authors" if whole else "")
    if not names and whole:
        names, groups = _authors(volume, "editors")
    if names:
        found["authors"], found["collectives"] = tuple(names), tuple(groups)
    dates = [*volume.get("PubDate", ()), *body.get("ContributionDate", ())]
    if year := next((year for date in dates if (year := year_of(date))), None):
        found["year"] = year
    if number := next((text for item in volume.get("Volume", ()) if (text := text_of(item))), None):
        found["volume"] = number
    for pagination in body.get("Pagination", ()):
        for part in pagination.iterchildren("MedlinePgn"):
            pages = zip(("fpage", "lpage"), page_range(text_of(part)), strict=True)
            found |= {name: page for name, page in pages if page}
    if language := language_of(body.get("Language", ())):
        found["language"] = language
    if marked:
        found["status"] = marked
    return Work.made(found)


def _authors(parts: Parts, kind: str) -> tuple[list[str], list[str]]:
    """Return names and groups of the author lists of a kind; a list without a kind is of authors."""
    return people(
        author for group in parts.get("AuthorList", ()) if (group.get("Type") or "authors") == kind for author in group
    )
