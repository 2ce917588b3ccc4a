"""Read the paper's own description from ``teiHeader``, or from a ``biblFull`` of HAL."""

from __future__ import annotations

from typing import Any, Final

from lxml import etree

from reflink.entities import Ids
from reflink.formats.tei.bibl import MAX_TITLE, Bibl, fields, identifiers, read
from reflink.formats.tei.names import XML_LANG, tags, text_of
from reflink.identifiers import normalise_issn
from reflink.sources.values import language

_DESCRIPTION: Final = tags("sourceDesc")
_BIBL: Final = tags("biblStruct")
_STATEMENT: Final = tags("titleStmt")
_TITLE: Final = tags("title")
_ABSTRACT: Final = tags("abstract")
_NOTES: Final = tags("note")
_LANGUAGE: Final = tags("language")
_PUBLICATION: Final = tags("publicationStmt")
_IDENTIFIER: Final = tags("idno")
_PUBLISHER: Final = tags("publisher")
_MAX_ABSTRACT: Final = 100_000


def header(element: etree._Element | None, document: etree._Element) -> tuple[dict[str, Any], str | None]:
    """Return the fields of `reflink.entities.Paper`, and the name of the paper if it has no identifier.

    ``element``: the header; None if the document has none.
    """
    if element is None:
        return {}, None
    source = next((bibl for each in element.iter(*_DESCRIPTION) for bibl in each.iter(*_BIBL)), None)
    stated = Bibl() if source is None else read(source)
    found = fields(stated)
    statement = next(element.iter(*_STATEMENT), None)
    title = _first(statement, _TITLE) or found.get("title")
    people = [person for level in ("a", "", "m") for person in stated.people.get(level, ())]
    journals = [text for level, _, text in stated.titles if level == "j" and text and text != found.get("venue")]
    ids = identifiers(stated)
    publication = next(element.iter(*_PUBLICATION), None)
    own = list(stated.own_ids)
    if publication is not None:
        own += [text for each in publication.iter(*_IDENTIFIER) if each.get("type") == "halId" and (text := text_of(each))]
    paper: dict[str, Any] = {
        "ids": Ids.made(ids) if ids else None,
        "title": title,
        "authors": tuple(last for last, _, _ in people),
        "given_names": tuple(given for _, given, _ in people) if any(given for _, given, _ in people) else (),
        "collectives": tuple(last for last, _, group in people if group),
        "venue": found.get("venue"),
        "venue_abbreviations": tuple(dict.fromkeys(journals)),
        "issns": tuple(dict.fromkeys(issn for each in stated.issns if (issn := normalise_issn(each)))),
        "publisher": found.get("publisher") or _first(publication, _PUBLISHER),
        "year": found.get("year"),
        "volume": found.get("volume"),
        "issue": found.get("issue"),
        "fpage": found.get("first_page"),
        "lpage": found.get("last_page"),
        "abstract": _first(element, _ABSTRACT, _MAX_ABSTRACT),
        "language": _language(element, document),
        "article_type": _article_type(element, stated),
    }
    return {name: value for name, value in paper.items() if value not in (None, ())}, next(iter(own), None)


def _first(element: etree._Element | None, tag: tuple[str, ...], most: int = MAX_TITLE) -> str | None:
    """Return the first text of an element with this tag."""
    if element is None:
        return None
    return next((text[:most] for each in element.iter(*tag) if (text := text_of(each))), None)


def _language(header: etree._Element, document: etree._Element) -> str | None:
    """Return the code of the language: of the text, else of the header."""
    stated = [each.get("ident") for each in header.iter(*_LANGUAGE)]
    stated += [document.get(XML_LANG), header.get(XML_LANG)]
    return next((code for each in stated if each and (code := language(each.split("-")[0]))), None)


def _article_type(header: etree._Element, stated: Bibl) -> str | None:
    kinds = (text_of(each) for each in header.iter(*_NOTES) if each.get("type") == "content-type")
    return next(filter(None, kinds), None) or stated.kind
