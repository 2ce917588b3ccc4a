"""Crossref's XML: deposits (``doi_batch``), and answers to queries (unixref, unixsd, OAI records), of schemas 4 and 5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from lxml import etree

from reflink.bibliography import papers
from reflink.bibliography.references import Entry
from reflink.formats.content import Content
from reflink.formats.crossref.citations import citation
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.records import Part, Person, check, names, several, year_in
from reflink.identifiers import normalise_issn
from reflink.markup.names import plain_names
from reflink.markup.tree import read_tree
from reflink.sources import values
from reflink.subtitles import joined

#: Roots that only Crossref's XML has, and roots whose content must be looked at.
_ROOTS: Final = frozenset(("doi_batch", "crossref_result", "doi_records", "doi_record", "citation_list"))
_WRAPPERS: Final = frozenset(("crossref", "record", "OAI-PMH", "GetRecord", "ListRecords"))
_NAMESPACES: Final = ("http://www.crossref.org/", "https://www.crossref.org/")
_INSIDE: Final = (b"<crossref", b"<doi_record")
#: Elements that describe one work, and may have a list of citations.
_WORKS: Final = frozenset(
    ("journal_article", "conference_paper", "content_item", "book_metadata", "book_series_metadata", "book_set_metadata",
     "dissertation", "report-paper_metadata", "report-paper_series_metadata", "standard_metadata", "posted_content",
     "peer_review", "dataset", "proceedings_metadata", "proceedings_series_metadata")
)  # fmt: skip
#: Elements of a citation, and their names in the JSON of works.
_FIELDS: Final = {
    "doi": "DOI", "journal_title": "journal-title", "article_title": "article-title", "volume_title": "volume-title",
    "series_title": "series-title", "author": "author", "cYear": "year", "volume": "volume", "issue": "issue",
    "first_page": "first-page", "elocation_id": "elocation-id", "unstructured_citation": "unstructured",
}  # fmt: skip
#: Maximum number of names and numbers of a journal.
_MAX_MANY: Final = 100
_DATES: Final = ("publication_date", "posted_date", "approval_date", "review_date")


class Deposits(Format):
    """The works of Crossref's XML, one paper each, also those without citations."""

    name: ClassVar[str] = "crossref-xml"
    about: ClassVar[str] = "Crossref's XML: deposits, and answers to queries (unixref, unixsd)"
    endings: ClassVar[tuple[str, ...]] = (".xml",)

    def recognises(self, content: Content) -> bool:
        """Return whether the root element is one of Crossref's, or a record around one."""
        if content.root is None:
            return False
        name, space = content.root
        if name in _ROOTS:
            return not space or space.startswith(_NAMESPACES)
        return name in _WRAPPERS and any(each in content.data[: 1 << 16] for each in _INSIDE)

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the works."""
        root, warnings = read_tree(content.data, content.name, options.limits)
        plain_names(root)
        return several(content, _parts(root, content, tuple(warnings), options), options)


def _parts(root: etree._Element, content: Content, warnings: tuple[str, ...], options: Options) -> Iterator[Part]:
    found = [each for each in root.iter(*_WORKS) if each.find("doi_data") is not None or each.find("citation_list") is not None]
    described = set(found)
    hosts: dict[etree._Element | None, dict[str, Any]] = {}
    for work in found:
        if not described.isdisjoint(work.iterancestors()):  # no work is a part of another one in these schemas
            continue
        around = work.getparent()
        if around not in hosts:
            hosts[around] = _host(around)
        fields = _fields(work, hosts[around])
        doi = fields["ids"].doi if "ids" in fields else None
        entries = [entry for each in work.iterchildren("citation_list") for entry in _listed(each, content.name, options)]
        yield fields, doi or papers.own_name(etree.tostring(work), None), entries, warnings
    for bare in root.iter("citation_list"):
        if described.isdisjoint(bare.iterancestors("*")) and bare.getparent() not in described:
            ids = values.ids(bare.get("doi"))
            own = papers.own_name(etree.tostring(bare), content.source if bare is root else None)
            yield ({"ids": ids} if ids.keys() else {}), own, _listed(bare, content.name, options), warnings


def _listed(citations: etree._Element, name: str, options: Options) -> list[Entry]:
    check(len(citations), name, options)
    found: list[Entry] = []
    for element in citations.iterchildren("citation"):
        fields: dict[str, Any] = {}
        for part in element:
            if stated := _FIELDS.get(part.tag):
                fields.setdefault(stated, _text(part))
            if part.tag == "doi" and part.get("provider") == "crossref":
                fields["doi-asserted-by"] = "crossref"
        if (cited := citation(fields)) is not None:
            found.append(Entry(element.get("key"), None, [cited]))
    return found


def _host(around: etree._Element | None) -> dict[str, Any]:
    """Return the fields of the issue, journal, book or conference that the children of an element describe.

    It is read once for all works in it.
    """
    parts = [each for each in around if each.tag.endswith(("_metadata", "_issue"))] if around is not None else []
    paths = ("full_title", "proceedings_title", "titles/title", "abbrev_title")
    return {
        "venues": [text for part in parts for path in paths for each in part.iterfind(path) if (text := _text(each))][
            :_MAX_MANY
        ],
        "abbreviations": [_text(each) for part in parts for each in part.iterfind("abbrev_title")][:_MAX_MANY],
        "issns": [_text(each) for part in parts for each in part.iterfind(".//issn")][:_MAX_MANY],
        "publisher": _of(parts, "publisher/publisher_name"),
        "volume": _of(parts, "journal_volume/volume", "volume"),
        "issue": _of(parts, "issue"),
        "year": next((year for part in parts if (year := _year(part))), None),
        "language": next((language for part in parts if (language := part.get("language"))), None),
    }


def _fields(work: etree._Element, host: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `reflink.entities.Paper`: of the work, and of the journal, book or conference around it."""
    titles = [_title(each) for each in work.iterfind("titles")]
    others = [_text(each) for each in work.iterfind("titles/original_language_title")]
    authors = names(_people(work))
    groups = authors.get("collectives", ())
    venues = [text for text in host["venues"] if text not in titles[:1]]
    issns = [*(_text(each) for each in work.iterfind(".//issn")), *host["issns"]]
    numbers = (
        each for each in work.iterfind("publisher_item/item_number") if "article" in (each.get("item_number_type") or "")
    )
    fields: dict[str, Any] = {
        "title": next(filter(None, titles), None),
        "translated_titles": tuple(dict.fromkeys(filter(None, [*titles[1:], *others]))),
        "authors": (*authors.get("last_names", ()), *groups),
        "given_names": (*authors["given_names"], *("" for _ in groups)) if "given_names" in authors else (),
        "collectives": groups,
        "venue": next(iter(venues), None),
        "venue_abbreviations": tuple(dict.fromkeys(each for each in host["abbreviations"] if each not in venues[:1])),
        "issns": tuple(dict.fromkeys(filter(None, map(normalise_issn, issns)))),
        "publisher": _of([work], "publisher/publisher_name") or host["publisher"],
        "year": _year(work) or host["year"],
        "volume": _of([work], "volume") or host["volume"],
        "issue": _of([work], "issue") or host["issue"],
        "fpage": _of([work], "pages/first_page") or next(map(_text, numbers), None),
        "lpage": _of([work], "pages/last_page"),
        "language": values.language(work.get("language") or host["language"]),
        "article_type": work.tag.removesuffix("_metadata").replace("_", "-"),
    }  # fmt: skip
    ids = values.ids(_of([work], "doi_data/doi"))
    if ids.keys():
        fields["ids"] = ids
    return {name: value for name, value in fields.items() if value not in (None, "", ())}


def _people(work: etree._Element) -> Iterator[Person]:
    for each in work.iterfind("contributors/*"):
        if each.get("contributor_role") != "author":
            continue
        if each.tag == "organization" and (name := _text(each)):
            yield name, "", True
        elif each.tag == "person_name" and (last := _of([each], "surname")):
            yield last, _of([each], "given_name") or "", False


def _title(titles: etree._Element) -> str:
    return joined(_text(each) for each in titles if each.tag in ("title", "subtitle"))


def _year(work: etree._Element) -> int | None:
    """Return the year of print, else the first one."""
    dates = [each for each in work if each.tag in _DATES]
    dates.sort(key=lambda date: date.get("media_type") == "online")
    return next((year for date in dates for each in date.iterchildren("year") if (year := year_in(_text(each)))), None)


def _of(parts: list[etree._Element], *paths: str) -> str | None:
    """Return the first text at one of the paths from one of these elements."""
    return next((text for part in parts for path in paths for each in part.iterfind(path) if (text := _text(each))), None)


def _text(element: etree._Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())
