"""Books and chapters in BITS, or in the book DTD of NLM before it: their metadata in the elements of an article."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Final

from lxml import etree

from reflink.jats.vocabulary import CITATIONS
from reflink.markup.tree import local

#: Root elements. DocBook has a book too, and MARCXML a collection.
ROOTS: Final = ("book", "book-part-wrapper", "collection", "book-part")
_META: Final = ("book-meta", "book-part-meta", "collection-meta")
_INSIDE: Final = frozenset((*_META, "book-body", "book-part"))
_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"
_IDS: Final = frozenset(("book-id", "book-part-id", "collection-id"))
_TITLES: Final = frozenset(("title-group", "book-title-group"))
_RENAMED: Final = {"title": "article-title", "book-title": "article-title", "book-volume-number": "volume"}
_COPIED: Final = frozenset(
    ("contrib-group", "contrib", "pub-date", "volume", "book-volume-number", "issue", "fpage", "lpage", "page-range",
     "elocation-id", "abstract", "related-article", "related-object", "pub-history")
)  # fmt: skip
#: Identifiers of NCBI's Bookshelf, which some chapters declare as PMCIDs.
_SHELF: Final = "NBK"


def is_book(element: etree._Element) -> bool:
    """Return whether the element is a book, a chapter or a collection."""
    name = local(element)
    if name == "book-part-wrapper":
        return True
    return name in ROOTS and any(local(child) in _INSIDE for child in element)


def paper(top: etree._Element) -> tuple[etree._Element, etree._Element | None]:
    """Return the metadata of the book or chapter in ``top``, and of the book around a chapter."""
    if top.tag == "book-part":
        return chapter(top), container(top)
    if top.tag == "book-part-wrapper":
        part = next((child for child in top if child.find("book-part-meta") is not None), None)
        if part is None:
            part = top.find("book-part")
        if part is not None:
            return chapter(part), container(top)
    series = top.find("collection-meta") if top.tag != "collection" else None
    return _article(top, _first(top, "book-meta", "collection-meta"), [] if series is None else [series]), None


def chapter(part: etree._Element) -> etree._Element:
    """Return the metadata of a part of a book."""
    return _article(part, part.find("book-part-meta"), ())


def container(top: etree._Element) -> etree._Element:
    """Return the metadata that chapters take from their book: its title as their venue, its publisher and date."""
    meta = _first(top, "book-meta", "collection-meta")
    article = _article(top, meta, () if meta is None else (meta,))
    for item in article.iter("title-group"):
        item.clear()
    return article


def hide_citations_of_itself(top: etree._Element) -> bool:
    """Rename the citations in the metadata of a book and its parts, which are not references; return whether there are any."""
    own = [item for meta in top.iter(*_META) for item in meta.iter(*CITATIONS)]
    for item in own:
        item.tag = "named-content"
    return bool(own)


def _first(top: etree._Element, *names: str) -> etree._Element | None:
    return next((found for name in names if (found := top.find(name)) is not None), None)


def _article(element: etree._Element, meta: etree._Element | None, venues: Iterable[etree._Element]) -> etree._Element:
    """Return an article with the fields of ``meta``. ``venues``: metadata of its journal's place, the best first."""
    article = etree.Element("article")
    kind = element.get("book-part-type") or element.get("book-type") or element.tag
    article.set("article-type", str(kind))
    if language := element.get(_LANG):
        article.set(_LANG, language)
    head = etree.SubElement(article, "front")
    journal, own = etree.SubElement(head, "journal-meta"), etree.SubElement(head, "article-meta")
    for venue in venues:
        for group in venue:
            if group.tag in _TITLES:
                journal.extend(_titles(group, "journal-title"))
            elif group.tag in ("issn", "issn-l"):
                journal.append(deepcopy(group))
            elif group.tag == "collection-name":
                journal.append(_renamed(group, "journal-title"))
    if meta is None:
        return article
    for item in meta:
        if item.tag in _IDS:
            own.append(_id(item))
        elif item.tag in _TITLES:
            group = deepcopy(item)
            for title in group:
                if title.tag in _RENAMED:  # a name may have an undeclared prefix, which cannot be set
                    title.tag = _RENAMED[title.tag]
            group.tag = "title-group"
            own.append(group)
        elif item.tag == "collection-name":
            etree.SubElement(own, "title-group").append(_renamed(item, "article-title"))
        elif item.tag == "publisher":
            journal.append(deepcopy(item))
        elif item.tag in _COPIED:
            own.append(_renamed(item, _RENAMED.get(item.tag, item.tag)))
    return article


def _titles(group: etree._Element, name: str) -> list[etree._Element]:
    return [_renamed(item, name) for item in group if item.tag in ("title", "book-title")]


def _renamed(item: etree._Element, name: str) -> etree._Element:
    copy = deepcopy(item)
    copy.tag, copy.tail = name, None
    return copy


def _id(item: etree._Element) -> etree._Element:
    found = etree.Element("article-id")
    declared = next((item.get(f"{kind}-id-type") for kind in ("book-part", "book", "collection", "pub")
                     if item.get(f"{kind}-id-type")), None)  # fmt: skip
    found.text = "".join(map(str, item.itertext()))
    found.set("pub-id-type", "publisher-id" if found.text.strip().startswith(_SHELF) else declared or "other")
    return found
