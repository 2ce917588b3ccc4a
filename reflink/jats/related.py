"""Read an article's relations to other articles: corrected, retracted, commented on, preprint, ….

A relation needs an identifier. Relations in sub-articles (peer reviews) and references are not the article's own and are
ignored. The meaning of the types follows the JATS tag libraries and PMC's style. Partial retractions and addenda count as
corrections, as in NLM's practice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lxml import etree

from reflink.entities import Ids, Related, Relation
from reflink.identifiers import NORMALISERS, extract
from reflink.jats.links import ID_TYPES
from reflink.jats.rawtext import text_of

_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_TAGS: Final = ("related-article", "related-object")
#: Kinds of identifiers by ``ext-link-type`` and similar attributes of a link to a work.
_LINK_TYPES: Final = {**ID_TYPES, "pubmed": "pmid", "pmc-id": "pmcid"}
#: Elements whose relations are not the article's own.
_FOREIGN: Final = ("ref", "ref-list", "sub-article", "response")
#: Maximum number of characters of a text or address that are read.
_MAX: Final = 2_000

_WORDS: Final[tuple[tuple[Relation, str], ...]] = (
    ("corrects", "corrected-article addended-article partially-retracted-article is-correction-of"),
    ("corrected-by", "correction-forward correction corrigendum erratum addendum addendum-forward corrected-by"),
    ("retracts", "retracted-article withdrawn-article removed-article is-retraction-of"),
    ("retracted-by", "retraction-forward retraction withdrawal withdrawal-forward retracted-by"),
    ("concerns", "object-of-concern concerned-article"),
    ("concern-by", "concern-forward expression-of-concern expression-of-concern-forward concern"),
    ("preprint-of", "published-article published-version version-of-record vor journal-article is-preprint-of"),
    ("has-preprint", "preprint preprint-article has-preprint"),
    ("version-of", "updated-article republished-article reprinted-article translated-article original-article "
                   "is-version-of"),
    ("has-version", "update update-forward republication reprint translation alternate-language alternate-version "
                    "concurrent-pub concurrent-publication reviewed-preprint version has-version"),
    ("comments-on", "commentary-article commented-article comment-on reply-to response-to is-comment-on"),
    ("commented-by", "commentary comment letter letter-reply reply response press-release has-comment"),
    ("reviews", "peer-reviewed-article reviewed-article peer-reviewed-material is-review-of"),
    ("reviewed-by", "peer-review peer-review-report reviewer-report referee-report editor-report decision-letter "
                    "editor-evaluation review has-review"),
)  # fmt: skip
_KINDS: Final[dict[str, Relation]] = {word: kind for kind, words in _WORDS for word in words.split()}
#: Types that name a notice. The other article is the notice, unless this article's type has one of the prefixes: then this
#: article is the notice, and the relation is the one given here.
_NOTICES: Final[dict[str, tuple[tuple[str, ...], Relation]]] = {
    **dict.fromkeys(("correction", "corrigendum", "erratum", "addendum"), (("corr", "err", "add"), "corrects")),
    **dict.fromkeys(("retraction", "withdrawal"), (("retract", "withdraw"), "retracts")),
    "expression-of-concern": (("expression",), "concerns"),
    "letter": (("reply",), "comments-on"),
}


def related(article: etree._Element, head: etree._Element, article_type: str | None, own: Ids) -> tuple[Related, ...]:
    """Return the distinct relations of ``article`` in order, without those to itself.

    ``head`` is its ``<front>``, ``own`` its identifiers.
    """
    found: dict[tuple[Relation, tuple[str, ...]], Related] = {}
    itself: frozenset[str] | None = None
    for kind, ids, stated in _stated(article, head, (article_type or "").lower()):
        keys = ids.keys()
        itself = frozenset(own.keys()) if itself is None else itself
        if keys and itself.isdisjoint(keys):
            found.setdefault((kind, keys), Related(kind=kind, ids=ids, stated=stated))
    return tuple(found.values())


def _stated(article: etree._Element, head: etree._Element, article_type: str) -> Iterator[tuple[Relation, Ids, str | None]]:
    for item in _items(article, head):
        if item.tag == "pub-history":
            yield from _history(item)
        elif item.tag == "article-id":
            yield "has-version", _declared(item.get("pub-id-type"), text_of(item)), "version"
        elif item.tag == "sub-article":
            yield "has-version", _of_translation(item), "translation"
        elif item.tag == "related-article":
            stated = item.get("related-article-type")
            yield _kind(stated, article_type) or "companion", _ids(item), stated
        else:
            stated = item.get("link-type") or item.get("related-object-type") or item.get("document-type")
            kind = _kind(stated, article_type)
            if kind or (stated and "article" in stated.lower()):  # objects of other types are data, books, trials
                yield kind or "companion", _ids(item), stated


def _items(article: etree._Element, head: etree._Element) -> Iterator[etree._Element]:
    for item in head.iter("article-id", "pub-history", *_TAGS):
        if item.tag != "article-id" or (
            item.get("specific-use") == "version" and (parent := item.getparent()) is not None and parent.tag == "article-meta"
        ):
            yield item
    for part in article:
        tag = part.tag
        if tag == "back":
            for child in part:
                if child.tag != "ref-list":
                    yield from _own(child)
        elif tag == "sub-article":
            if part.get("article-type") == "translation":
                yield part
        elif tag != "front" and tag != "response":
            yield from _own(part)


def _own(part: etree._Element) -> Iterator[etree._Element]:
    return (item for item in part.iter(*_TAGS) if next(item.iterancestors(*_FOREIGN), None) is None)


def _kind(stated: str | None, article_type: str) -> Relation | None:
    word = (stated or "").strip().lower().replace(" ", "-").replace("_", "-")
    if word == "partial-retraction":
        return "corrects" if "retract" in article_type else "corrected-by"
    if word in _NOTICES and article_type.startswith(_NOTICES[word][0]):
        return _NOTICES[word][1]
    return _KINDS.get(word)


def _ids(item: etree._Element) -> Ids:
    """Return the identifiers of a relation from its link and its elements, else from its text.

    A number without a label in the text is a page, whatever the declared type of the link.
    """
    ids: dict[str, str] = {}
    _add(ids, _declared(item.get("ext-link-type"), item.get(_HREF)))
    for which in ("document", "object"):
        _add(ids, _declared(item.get(f"{which}-id-type"), item.get(f"{which}-id")))
    if len(item):
        for part in item.iter("article-id", "pub-id", "object-id", "ext-link", "uri", "self-uri"):
            declared = part.get("pub-id-type") or part.get("ext-link-type")
            text = text_of(part) if part.tag.endswith("-id") else ""
            _add(ids, _declared(declared, text or part.get(_HREF)))
    if not ids:
        _add(ids, extract(text_of(item)[:_MAX]))
    return Ids(**ids)


def _declared(kind: str | None, value: str | None) -> Ids:
    """Return the identifier of the declared kind, else the identifiers found in the value, such as an address."""
    value = (value or "").strip()[:_MAX]
    name = _LINK_TYPES.get((kind or "").strip().lower())
    if name and (known := NORMALISERS[name](value)):
        return Ids(**{name: known})
    return extract(value)


def _add(ids: dict[str, str], more: Ids) -> None:
    for kind, value in more:
        if value:
            ids.setdefault(kind, value)


def _history(history: etree._Element) -> Iterator[tuple[Relation, Ids, str | None]]:
    """Yield the preprint, reviewed preprint and reports of the ``<event>`` elements of the history."""
    for event in history.iterchildren("event"):
        date = next(event.iterchildren("date", "pub-date"), None)
        of_event = event.get("event-type") or (date.get("date-type") if date is not None else None)
        for item in event.iter("self-uri", "ext-link", "uri", "article-id"):
            stated = item.get("content-type") or of_event
            if kind := _kind(stated, ""):
                declared = item.get("pub-id-type") or item.get("ext-link-type")
                yield kind, _declared(declared, text_of(item) if item.tag == "article-id" else item.get(_HREF)), stated


def _of_translation(part: etree._Element) -> Ids:
    """Return the DOI of a translation within the article, if it has one."""
    for item in part.iterfind("front-stub/article-id"):
        if (item.get("pub-id-type") or "").lower() == "doi":
            return _declared("doi", text_of(item))
    return Ids()
