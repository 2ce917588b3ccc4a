"""Read an article's own metadata: identifiers, title, authors, journal, date, pages, abstract, relations.

One pass over the children of each part reads it. The tree is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from lxml import etree

from reflink.entities import Ids
from reflink.identifiers import NO_IDS, NORMALISERS, normalise_arxiv, normalise_doi, normalise_issn
from reflink.jats.contributors import contributors
from reflink.jats.links import ID_TYPES
from reflink.jats.rawtext import text_of
from reflink.jats.related import related
from reflink.subtitles import joined

#: A year of publication in a text.
YEAR: Final = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"
#: Values of ``pub-id-type`` for the publisher's own id, best first. SciELO uses "other" to number the articles of an issue.
_OWN_IDS: Final = ("publisher-id", "manuscript", "publisher-manuscript", "pii", "sici", "art-access-id", "other")
_COUNT: Final = re.compile(r"\d{1,6}")
#: Elements whose first occurrence with text is used unchanged.
_PLAIN: Final = frozenset(("volume", "issue", "fpage", "lpage", "elocation-id", "page-range"))
_PAGE_BREAK: Final = re.compile(r"\s*(?:[–—,;+]|(?<=[\divxlcIVXLC])[-‐‑])\s*")  # not the hyphen of "S-3"
#: Date types that are not dates of this publication, but of the manuscript, its processing or another article.
_UNPUBLISHED: Final = frozenset(
    ("nihms-submitted", "received", "rev-recd", "rev-request", "accepted", "submitted", "preprint", "hwp-received",
     "hwp-created", "retracted", "corrected")
)  # fmt: skip
#: Elements of a title that hold notes.
_NOTES: Final = ("fn", "author-notes", "fn-group")
_NOTE_LINKS: Final = frozenset((None, "fn", "author-notes", "table-fn", "aff", "corresp"))
_WORD: Final = re.compile(r"[^\W\d_]{4}")
_STARS: Final = frozenset("*∗⁎")
_DAGGERS: Final = frozenset("†‡§¶")
_MARKS: Final = " ," + "".join((*_STARS, *_DAGGERS))
_ABBREVIATIONS: Final = frozenset(("nlm-ta", "iso-abbrev"))


def front(article: etree._Element) -> dict[str, Any]:
    """Return the fields of `reflink.entities.Paper` by name, without missing ones."""
    language = (article.get(_LANG) or "").strip().lower() or None
    kind = article.get("article-type")
    found: dict[str, Any] = {"article_type": kind, "language": language}
    head = next(article.iterchildren("front"), None)
    if head is None:
        return {name: value for name, value in found.items() if value}
    for part in head:
        if part.tag == "article-meta":
            _read_meta(part, language, found)
        elif part.tag == "journal-meta":
            _read_journal(part, found)
    titles = {(found.get("title") or "").casefold(): "", "": ""}
    for text in (*found.get("translated_titles", ()), *_titles_of_translations(article)):
        titles.setdefault(text.casefold(), text)
    found["translated_titles"] = tuple(filter(None, titles.values()))
    found["related"] = related(article, head, kind, found.get("ids", NO_IDS))
    return {name: value for name, value in found.items() if value}


def publisher_id(article: etree._Element) -> str | None:
    """Return the publisher's own id of the article, for articles without another identifier."""
    meta = article.find("front/article-meta")
    return _publisher_id(list(meta.iterchildren("article-id"))) if meta is not None else None


def _read_meta(meta: etree._Element, language: str | None, found: dict[str, Any]) -> None:
    plain: dict[str, str] = {}
    ids: list[etree._Element] = []
    people: list[etree._Element] = []
    abstracts: list[etree._Element] = []
    years: list[int] = []
    other_years: list[int] = []
    for item in meta:
        tag = item.tag
        if tag in _PLAIN:
            if tag not in plain and (text := text_of(item)):
                plain[tag] = text
        elif tag == "article-id":
            ids.append(item)
        elif tag == "contrib-group" or tag == "contrib":
            people.append(item)
        elif tag == "pub-date":
            if year := _year(item):
                kinds = (item.get("pub-type") or "").lower(), (item.get("date-type") or "").lower()
                (years if _UNPUBLISHED.isdisjoint(kinds) else other_years).append(year)
        elif tag == "abstract":
            abstracts.append(item)
        elif tag == "title-group" and "title" not in found:
            _read_titles(item, found)
    number = plain.get("elocation-id", "")
    known = _ids(ids, number)
    if number.startswith("10.") or number[:6].lower() == "arxiv:":
        number = ""  # an identifier, not an article number
    pages = _PAGE_BREAK.split(plain.get("page-range", ""))
    found["ids"] = known
    found["publisher_id"] = _publisher_id(ids)
    found["authors"], found["given_names"], found["collectives"] = contributors(people, language)
    found["year"] = min(years or other_years, default=None)
    found["volume"], found["issue"] = plain.get("volume"), plain.get("issue")
    found["fpage"] = plain.get("fpage") or number or pages[0]
    found["lpage"] = plain.get("lpage") or (pages[-1] if len(pages) > 1 else None)
    found["abstract"] = _abstract(abstracts)


def _ids(items: list[etree._Element], number: str) -> Ids:
    """Return the article's identifiers. The DOI of one version is used only if there is no DOI for all versions."""
    ids: dict[str, str] = {}
    spare: str | None = None
    for item in items:
        declared = (item.get("pub-id-type") or "").lower()
        kind = ID_TYPES.get(declared)
        if kind is None:
            if spare is None and declared in ("", "other", "publisher-id") and (text := text_of(item)).startswith("10."):
                spare = normalise_doi(text)
        elif kind not in ids and (value := NORMALISERS[kind](text_of(item))):
            if kind == "doi" and item.get("specific-use") == "version":
                spare = spare or value
            else:
                ids[kind] = value
    if "doi" not in ids and (doi := spare or (normalise_doi(number) if number.startswith("10.") else None)):
        ids["doi"] = doi
    if "arxiv" not in ids:
        preprint = number if number[:6].lower() == "arxiv:" else ids.get("doi", "")
        if (preprint is number or preprint.startswith("10.48550/")) and (arxiv := normalise_arxiv(preprint)):
            ids["arxiv"] = arxiv
    return Ids(**ids) if ids else NO_IDS


def _publisher_id(items: list[etree._Element]) -> str | None:
    best: tuple[int, str] | None = None
    for item in items:
        declared = (item.get("pub-id-type") or "other").lower()
        if declared in _OWN_IDS and (best is None or _OWN_IDS.index(declared) < best[0]):
            text, rank = text_of(item), _OWN_IDS.index(declared)
            if not text or item.get("specific-use") == "previous-pid" or (rank and text.startswith("10.")):
                continue
            if rank < _OWN_IDS.index("art-access-id") or not _COUNT.fullmatch(text):
                best = rank, text
    return best[1] if best else None


def _read_titles(group: etree._Element, found: dict[str, Any]) -> None:
    """Read title and subtitle as one line, "Title: subtitle", the form of citations; read translated titles likewise."""
    titles: list[str] = []
    subtitles: list[str] = []
    translated: list[list[str]] = []
    for item in group:
        tag = item.tag
        if tag == "article-title":
            titles.append(_title(item))
        elif tag == "subtitle":
            subtitles.append(_title(item))
        elif tag == "trans-title":
            translated.append([_title(item)])
        elif tag == "trans-subtitle" and translated:
            translated[-1].append(_title(item))
        elif tag == "trans-title-group":
            translated.append([_title(part) for part in item if part.tag in ("trans-title", "trans-subtitle")])
    own = [title for title in titles if title]
    found["title"] = joined([*own[:1], *subtitles]) or None
    found["translated_titles"] = (*own[1:], *map(joined, translated))


def _title(item: etree._Element) -> str:
    """Return the text of a title without the marks and texts of notes."""
    if len(item) and next(item.iter("xref", *_NOTES), None) is not None:
        item = deepcopy(item)
        for link in list(item.iter("xref")):
            if link.get("ref-type") not in _NOTE_LINKS and _WORD.search("".join(map(str, link.itertext()))):
                link.tag = "italic"  # the link encloses words of the title
        etree.strip_elements(item, "xref", *_NOTES, with_tail=False)
    text = text_of(item)
    return text if text[-1:].isalnum() else _unmarked(text)


def _unmarked(text: str) -> str:
    """Remove the mark of a note, a star or dagger, from the end of a title; keep the star of "A*", which is part of a name."""
    bare = text.rstrip(_MARKS)
    marks = text[len(bare) :]
    if not _DAGGERS.isdisjoint(marks):
        return bare
    noted = marks[:1] == " " or not bare[-1:].isalnum() or (bare[-3:].isalnum() and len(bare) > 2)
    return bare if noted and not _STARS.isdisjoint(marks) else text


def _titles_of_translations(article: etree._Element) -> Iterator[str]:
    for part in article.iterchildren("sub-article"):
        if part.get("article-type") == "translation":
            group = part.find("front-stub/title-group")
            if group is not None:
                found: dict[str, Any] = {}
                _read_titles(group, found)
                yield found["title"] or ""


def _read_journal(journal: etree._Element, found: dict[str, Any]) -> None:
    titles: list[str] = []
    abbreviations: list[str] = []
    stated: list[str] = []  # from <abbrev-journal-title>: preferred to other abbreviations if there is no title
    codes: list[str] = []
    issns: list[str] = []
    publisher: str | None = None
    for outer in journal:
        for item in outer if outer.tag == "journal-title-group" else (outer,):
            tag = item.tag
            if tag == "journal-title":
                titles.append(text_of(item))
            elif tag == "journal-id":
                kind = (item.get("journal-id-type") or "").lower()
                if kind == "issn":
                    issns.append(text_of(item))
                elif kind in _ABBREVIATIONS:
                    abbreviations.append(text_of(item))
                else:
                    codes.append(text_of(item))
            elif tag == "abbrev-journal-title":
                text = text_of(item)
                abbreviations.append(text)
                stated.append(text)
            elif tag == "issn" or tag == "issn-l":
                issns.append(text_of(item))
            elif tag == "publisher" and publisher is None:
                publisher = next((text for name in item.iterchildren("publisher-name") if (text := text_of(name))), None)
    found["venue"] = next(filter(None, (*titles, *stated, *abbreviations, *codes)), None)
    found["venue_abbreviations"] = tuple(filter(None, dict.fromkeys(abbreviations)))
    found["issns"] = tuple(dict.fromkeys(issn for text in issns if (issn := normalise_issn(text))))
    found["publisher"] = publisher


def _year(date: etree._Element) -> int | None:
    """Return the year of one date. `_read_meta` uses the earliest publication date of the article."""
    text = ""
    for item in date:
        if item.tag == "year":
            text = text_of(item)
            break
        if item.tag == "string-date":
            text = text_of(item)
    match = YEAR.search(text or date.get("iso-8601-date") or "")
    return int(match[1]) if match else None


def _abstract(abstracts: list[etree._Element]) -> str | None:
    plain = [item for item in abstracts if item.get("abstract-type") is None] or abstracts
    return text_of(plain[0]) or None if plain else None
