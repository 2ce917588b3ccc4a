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
from reflink.formats.records import Part, Person, names, several, year_in
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
        return several(content, _parts(root, content, tuple(warnings)), options)


def _parts(root: etree._Element, content: Content, warnings: tuple[str, ...]) -> Iterator[Part]:
    found = [each for each in root.iter(*_WORKS) if each.find("doi_data") is not None or each.find("citation_list") is not None]
    described = set(found)
    for work in found:
        fields = _fields(work)
        doi = fields["ids"].doi if "ids" in fields else None
        yield fields, doi or papers.own_name(etree.tostring(work), None), _entries(work), warnings
    for bare in root.iter("citation_list"):
        if bare.getparent() not in described:
            ids = values.ids(bare.get("doi"))
            own = papers.own_name(etree.tostring(bare), content.source if bare is root else None)
            yield ({"ids": ids} if ids.keys() else {}), own, _listed(bare), warnings


def _entries(work: etree._Element) -> list[Entry]:
    return [entry for each in work.iterchildren("citation_list") for entry in _listed(each)]


def _listed(citations: etree._Element) -> list[Entry]:
    found: list[Entry] = []
    for element in citations.iterchildren("citation"):
        fields: dict[str, Any] = {}
        for part in element:
            if name := _FIELDS.get(part.tag):
                fields.setdefault(name, _text(part))
            if part.tag == "doi" and part.get("provider") == "crossref":
                fields["doi-asserted-by"] = "crossref"
        if (cited := citation(fields)) is not None:
            found.append(Entry(element.get("key"), None, [cited]))
    return found


def _fields(work: etree._Element) -> dict[str, Any]:
    """Return the fields of `reflink.entities.Paper`: of the work, and of the journal, book or conference around it."""
    titles = [_title(each) for each in work.iterfind("titles")]
    others = [_text(each) for each in work.iterfind("titles/original_language_title")]
    authors = names(_people(work))
    hosts = _hosts(work)
    venues = [text for host in hosts for text in _venues(host) if text not in titles]
    abbreviations = [_text(each) for host in hosts for each in host.iterfind("abbrev_title")]
    issns = [normalise_issn(_text(each)) for host in (work, *hosts) for each in host.iterfind(".//issn")]
    publisher = [_text(each) for host in (work, *hosts) for each in host.iterfind("publisher/publisher_name")]
    article_number = [
        _text(each) for each in work.iterfind("publisher_item/item_number") if "article" in (each.get("item_number_type") or "")
    ]
    people = [*authors.get("last_names", ()), *authors.get("collectives", ())]
    fields: dict[str, Any] = {
        "title": next(filter(None, titles), None),
        "translated_titles": tuple(dict.fromkeys([*filter(None, titles[1:]), *filter(None, others)])),
        "authors": tuple(people),
        "given_names": (*authors["given_names"], *("" for _ in authors.get("collectives", ())))
        if "given_names" in authors else (),
        "collectives": authors.get("collectives", ()),
        "venue": next(iter(venues), None),
        "venue_abbreviations": tuple(dict.fromkeys(each for each in abbreviations if each and each not in venues[:1])),
        "issns": tuple(dict.fromkeys(filter(None, issns))),
        "publisher": next(iter(publisher), None),
        "year": _year(work) or next((year for host in hosts if (year := _year(host))), None),
        "volume": _of(work, hosts, "volume", "journal_volume/volume"),
        "issue": _of(work, hosts, "issue"),
        "fpage": _of(work, (), "pages/first_page") or next(iter(article_number), None),
        "lpage": _of(work, (), "pages/last_page"),
        "language": values.language(next(filter(None, (each.get("language") for each in (work, *hosts))), None)),
        "article_type": work.tag.removesuffix("_metadata").replace("_", "-"),
    }  # fmt: skip
    ids = values.ids(_of(work, (), "doi_data/doi"))
    if ids.keys():
        fields["ids"] = ids
    return {name: value for name, value in fields.items() if value not in (None, "", ())}


def _hosts(work: etree._Element) -> list[etree._Element]:
    """Return the descriptions of the issue, journal, book or conference of which a work is a part."""
    parent = work.getparent()
    if parent is None:
        return []
    return [each for each in parent if each is not work and each.tag.endswith(("_metadata", "_issue"))]


def _venues(host: etree._Element) -> Iterator[str]:
    for path in ("full_title", "proceedings_title", "titles/title", "abbrev_title"):
        yield from filter(None, map(_text, host.iterfind(path)))


def _people(work: etree._Element) -> Iterator[Person]:
    for each in work.iterfind("contributors/*"):
        if each.get("contributor_role") != "author":
            continue
        if each.tag == "organization" and (name := _text(each)):
            yield name, "", True
        elif each.tag == "person_name" and (last := _of(each, (), "surname")):
            yield last, _of(each, (), "given_name") or "", False


def _title(titles: etree._Element) -> str:
    return joined(_text(each) for each in titles if each.tag in ("title", "subtitle"))


def _year(work: etree._Element) -> int | None:
    """Return the year of print, else the first one."""
    dates = [each for each in work if each.tag in _DATES]
    dates.sort(key=lambda date: date.get("media_type") == "online")
    return next((year for date in dates for each in date.iterchildren("year") if (year := year_in(_text(each)))), None)


def _of(work: etree._Element, hosts: Any, *paths: str) -> str | None:
    """Return the first text at one of the paths, of the work, else of a description around it."""
    return next(
        (text for each in (work, *hosts) for path in paths for found in each.iterfind(path) if (text := _text(found))), None
    )


def _text(element: etree._Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())
