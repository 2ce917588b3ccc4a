"""The article's own description: identifiers, title, authors, journal, date, pages, abstract."""

from __future__ import annotations

from typing import Any, Final

from lxml import etree

from reflink.entities import Ids
from reflink.identifiers import NORMALISERS
from reflink.jats.citation import ID_TYPES, YEAR
from reflink.jats.rawtext import text_of

_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"
_SURNAMES: Final = (
    "name/surname", "name-alternatives/name/surname", "name-alternatives/string-name/surname", "string-name/surname",
)  # fmt: skip


def front(article: etree._Element) -> dict[str, Any]:
    """Fields of `reflink.entities.Paper` by name; those that are missing are absent."""
    found: dict[str, Any] = {
        "article_type": article.get("article-type"),
        "language": (article.get(_LANG) or "").lower() or None,
    }
    meta = article.find("front/article-meta")
    if meta is not None:
        found["ids"] = _ids(meta)
        found["title"] = _title(meta)
        found["authors"] = _authors(meta)
        found["year"] = _year(meta)
        found["volume"] = _text(meta, "volume")
        found["issue"] = _text(meta, "issue")
        found["fpage"] = _text(meta, "fpage") or _text(meta, "elocation-id")
        found["abstract"] = _abstract(meta)
    found["venue"] = _venue(article)
    return {name: value for name, value in found.items() if value not in (None, ())}


def publisher_id(article: etree._Element) -> str | None:
    """The publisher's own id of the article, for want of a better one."""
    for item in article.iterfind("front/article-meta/article-id"):
        if item.get("pub-id-type") == "publisher-id" and (text := text_of(item)):
            return text
    return None


def _text(meta: etree._Element, path: str) -> str | None:
    item = meta.find(path)
    return text_of(item) or None if item is not None else None


def _title(meta: etree._Element) -> str | None:
    title = meta.find("title-group/article-title")
    if title is None:
        return None
    etree.strip_elements(title, "xref", "fn", with_tail=False)  # footnote marks
    return text_of(title) or None


def _ids(meta: etree._Element) -> Ids:
    ids: dict[str, str] = {}
    for item in meta.iterfind("article-id"):
        kind = ID_TYPES.get((item.get("pub-id-type") or "").lower())
        if kind and kind not in ids and (value := NORMALISERS[kind](text_of(item))):
            ids[kind] = value
    return Ids(**ids)


def _authors(meta: etree._Element) -> tuple[str, ...]:
    """Last names, and names of groups, in order."""
    names: list[str] = []
    for contrib in meta.iterfind("contrib-group/contrib"):
        if contrib.get("contrib-type", "author") != "author":
            continue
        surname = next((found for path in _SURNAMES if (found := contrib.find(path)) is not None), None)
        if surname is not None:
            names.append(text_of(surname))
        elif (group := contrib.find(".//collab")) is not None:
            etree.strip_elements(group, "contrib-group", "xref", "fn", with_tail=False)  # its members
            names.append(text_of(group))
    return tuple(filter(None, names))


def _venue(article: etree._Element) -> str | None:
    journal = article.find("front/journal-meta")
    if journal is None:
        return None
    paths = ("journal-title-group/journal-title", "journal-title", "journal-title-group/abbrev-journal-title",
             "abbrev-journal-title", "journal-id")  # fmt: skip
    return next((text for path in paths if (text := _text(journal, path))), None)


def _year(meta: etree._Element) -> int | None:
    """The earliest year of publication that the article states."""
    years = [
        int(found[1])
        for date in meta.iterfind("pub-date")
        if (text := date.findtext("year") or date.get("iso-8601-date") or "") and (found := YEAR.search(text))
    ]
    return min(years, default=None)


def _abstract(meta: etree._Element) -> str | None:
    abstracts = list(meta.iterfind("abstract"))
    plain = [item for item in abstracts if item.get("abstract-type") is None] or abstracts
    return text_of(plain[0]) or None if plain else None
