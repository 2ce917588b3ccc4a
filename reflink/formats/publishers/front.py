"""Read an article's own fields in a publisher's XML, as its table describes it."""

from __future__ import annotations

from typing import Any, Final

from lxml import etree

from reflink.formats.publishers.citations import identifiers, read_pages
from reflink.formats.publishers.markup import MISSING, SILENT, Markup, elements, text, text_of, texts
from reflink.formats.publishers.people import people
from reflink.formats.records import year_in
from reflink.identifiers import normalise_issn
from reflink.sources.languages import language_code

_TEXTS: Final = (
    "title", "venue", "publisher", "volume", "issue", "first_page", "last_page", "article_type", "publisher_id",
)  # fmt: skip
_PAGES: Final = {"first_page": "fpage", "last_page": "lpage"}
#: Maximum number of other titles, and of names of the journal.
_MAX_TEXTS: Final = 100


def front(root: etree._Element, markup: Markup) -> dict[str, Any]:
    """Return the fields of `reflink.entities.Paper`, without ``id`` and ``references``."""
    paths = markup.own
    fields: dict[str, Any] = {
        name: value for name in _TEXTS if (value := text(root, paths.get(name, ()))) and value not in MISSING
    }
    if abstracts := [each for path in paths.get("abstract", ()) for each in elements(root, path)]:
        fields["abstract"] = text_of(abstracts[0], SILENT | markup.titles)
    read_pages(root, paths, fields)
    fields = {_PAGES.get(name, name): value for name, value in fields.items()}
    if "title" in fields and (subtitle := text(root, paths.get("subtitle", ()))):
        fields["title"] = f"{fields['title']}: {subtitle}"
    titles = tuple(
        dict.fromkeys(each for each in texts(root, paths.get("translated_titles", ())) if each != fields.get("title"))
    )
    names = tuple(dict.fromkeys(each for each in texts(root, paths.get("abbreviations", ())) if each != fields.get("venue")))
    authors = list(people(root, paths))
    ids = identifiers((root,), paths)
    fields |= {
        "translated_titles": titles[:_MAX_TEXTS],
        "venue_abbreviations": names[:_MAX_TEXTS],
        "authors": tuple(last for last, _, _ in authors),
        "given_names": tuple(given for _, given, _ in authors) if any(given for _, given, _ in authors) else (),
        "collectives": tuple(last for last, _, group in authors if group),
        "issns": tuple(dict.fromkeys(filter(None, map(normalise_issn, texts(root, paths.get("issns", ())))))),
        "year": next((year for each in texts(root, paths.get("year", ())) if (year := year_in(each))), None),
        "language": next((code for each in texts(root, paths.get("language", ())) if (code := language_code(each))), None),
        "ids": ids if ids.keys() else None,
    }
    return {name: value for name, value in fields.items() if value not in (None, (), "")}
