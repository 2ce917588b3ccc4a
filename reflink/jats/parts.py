"""The parts of an article or book that are papers themselves: they have an identifier of their own."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

from lxml import etree

from reflink.identifiers import NO_IDS
from reflink.jats import books
from reflink.jats.front import front

_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"


@dataclass(frozen=True)
class Part:
    """``article``: metadata of the part, in the elements of an article. ``outer``: that of the article or book around it.

    ``translation``: the part is the article in another language.
    """

    element: etree._Element
    meta: etree._Element
    article: etree._Element
    outer: etree._Element
    translation: bool


def own_parts(top: etree._Element, main: etree._Element | None = None) -> list[Part]:
    """Return the parts with an identifier that no part before and not the paper has, in document order.

    ``top``: an article or book, its elements without namespace. ``main``: metadata of the paper; by default ``top``.
    """
    found = list(_parts(top))
    if not found:
        return []
    seen = set(_keys(top if main is None else main))
    own: list[Part] = []
    for part in found:
        keys = _keys(part.article)
        if keys and seen.isdisjoint(keys):
            seen.update(keys)
            own.append(part)
    return own


def _keys(article: etree._Element) -> tuple[str, ...]:
    keys: tuple[str, ...] = front(article).get("ids", NO_IDS).keys()
    return keys


def _parts(top: etree._Element) -> Iterator[Part]:
    if top.tag == "article":
        for item in top.iter("sub-article", "response"):
            stub = item.find("front-stub")
            meta = stub if stub is not None else item.find("front/article-meta")
            if meta is not None and meta.find("article-id") is not None:
                yield Part(item, meta, _as_article(item, meta), top, item.get("article-type") == "translation")
        return
    container: etree._Element | None = None
    for item in top.iter("book-part-meta"):
        part = item.getparent()
        if part is None or item.find("book-part-id") is None:
            continue
        if part.find("book-meta") is not None:
            yield Part(part, item, books.chapter(part), books.container(part), False)
        else:
            container = books.container(top) if container is None else container
            yield Part(part, item, books.chapter(part), container, False)


def _as_article(part: etree._Element, meta: etree._Element) -> etree._Element:
    """Return an article with the metadata of a part."""
    article = etree.Element("article")
    for name, value in (
        ("article-type", part.get("article-type") or part.get("response-type")),
        (_LANG, part.get(_LANG)),
    ):
        if value:
            article.set(name, value)
    own = deepcopy(meta)
    own.tag, own.tail = "article-meta", None
    etree.SubElement(article, "front").append(own)
    return article


def take_out(part: Part) -> bytes:
    """Return the XML of a part, and leave only its metadata, without abstracts, in the tree."""
    element, meta = part.element, part.meta
    source = etree.tostring(element, encoding="utf-8", with_tail=False)
    kept = meta.getparent() if meta.tag == "article-meta" else meta
    for child in list(element):
        if child is not kept:
            element.remove(child)
    element.text = None
    etree.strip_elements(element, "abstract", "trans-abstract", with_tail=False)
    return source
