"""Read the entries of a bibliography in a publisher's XML, as its table describes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lxml import etree

from reflink.bibliography.citation import Citation, described
from reflink.bibliography.references import Entry
from reflink.entities import Ids
from reflink.errors import TooLarge
from reflink.formats.publishers.markup import MISSING, SILENT, Markup, Paths, elements, found, text, text_of, texts
from reflink.formats.publishers.people import listed, people
from reflink.formats.records import names, year_in
from reflink.identifiers import NO_IDS, NORMALISERS
from reflink.limits import Limits
from reflink.sources.pages import first_and_last
from reflink.stripping import separate

#: Fields whose value is the first text at their paths.
_TEXTS: Final = (
    "title", "chapter_title", "translated_title", "venue", "publisher", "volume", "issue", "first_page", "last_page",
)  # fmt: skip
#: Fields of which one work has one element: an element with several holds several works.
_ONCE: Final = ("title", "venue", "first_page")
#: Maximum number of elements that are read of an entry's works, and of the addresses of a work.
_MAX_MANY: Final = 1000
#: The kind of a work by the element that describes it.
_KINDS: Final = {
    "issue": "journal", "edited-book": "chapter", "book": "book", "e-host": "web",
    "BibArticle": "journal", "BibChapter": "chapter", "BibBook": "book", "BibIssue": "issue",
    "journal-ref": "journal", "book-ref": "book", "conf-ref": "confproc", "misc-ref": "other",
    "journalcit": "journal", "jnlref": "journal", "bookref": "book", "otherref": "other",
    "jcite": "journal", "bcite": "book", "eprint": "eprint", "art": "journal",
}  # fmt: skip


def entries(root: etree._Element, markup: Markup, name: str, limits: Limits) -> list[Entry]:
    """Return the entries with at least one work, in document order. Raises TooLarge beyond ``limits.references``."""
    read: list[Entry] = []
    count = 0
    for element in elements(root, markup.entries):
        found = elements(element, markup.works) or [element]
        count += len(found)
        if count > limits.references:
            raise TooLarge(f"{name}: more than {limits.references} references")
        described_works = set(found)
        if works := [work for each in found if (work := _work(each, _behind(each, markup, described_works), markup))]:
            read.append(Entry(text(element, markup.ids), text(element, markup.labels), works))
    return read


def _behind(element: etree._Element, markup: Markup, works: set[etree._Element]) -> etree._Element | None:
    """Return the printed text behind a work, unless it belongs to several works before it."""
    behind, before = element.getnext(), element.getprevious()
    return behind if behind is not None and behind.tag in markup.follows and before not in works else None


def _work(element: etree._Element, behind: etree._Element | None, markup: Markup) -> Citation | None:
    stated = _stated(element, markup)
    ids = identifiers((element,) if behind is None else (element, behind), markup.citation)
    written = text(element, markup.printed) or (text_of(behind) if behind is not None else "")
    return described(written or text_of(element, SILENT | markup.silent, separate=markup.separate), stated, ids)


def _stated(element: etree._Element, markup: Markup) -> Citation:
    """Return the fields of a work; of an element that holds several works only its kind, since nothing tells them apart."""
    paths = markup.citation
    kind = _kind(element, markup.kinds)
    if any(_repeated(element, paths.get(name, ())) for name in _ONCE):
        return {"kind": kind}
    fields: Citation = {"kind": kind}
    for name in _TEXTS:
        if name in paths and (value := text(element, paths[name])) and value not in MISSING:
            fields[name] = value
    if "issue" in fields:
        fields["issue"] = str(fields["issue"]).strip("()[] ")
    if "title" in fields and (subtitle := text(element, paths.get("subtitle", ()))):
        fields["title"] = f"{fields['title']}: {subtitle}"
    read_pages(element, paths, fields)
    fields["year"] = next((year for each in texts(element, paths.get("year", ())) if (year := year_in(each))), None)
    authors = list(people(element, paths))
    fields.update(names(authors or listed(text(element, paths.get("author_list", ())) or "")))
    fields["editors"] = tuple(last for last, _, _ in people(element, {"authors": paths.get("editors", ())}))
    return fields


def _repeated(element: etree._Element, paths: Paths) -> bool:
    """Return whether the first path that leads to anything leads to several elements of different text."""
    for path in paths:
        if several := found(element, path):
            return len({text_of(each) for each in several}) > 1
    return False


def read_pages(element: etree._Element, paths: Any, fields: dict[str, Any]) -> None:
    """Complete the pages from a range of pages, or from the article number."""
    if "first_page" not in fields and (value := text(element, paths.get("pages", ()))) and value not in MISSING:
        first, last = first_and_last(value)
        fields["first_page"], fields["last_page"] = first, fields.get("last_page") or last
    if not fields.get("first_page") and (value := text(element, paths.get("article_number", ()))) and value not in MISSING:
        fields["first_page"] = value


def _kind(element: etree._Element, paths: Paths) -> str | None:
    for path in paths:
        for each in found(element, path):
            if isinstance(each, str):
                if each.strip():
                    return each.strip()
            elif each.tag in _KINDS:
                return _KINDS[each.tag]
    return None


def identifiers(parts: tuple[etree._Element, ...], paths: Any) -> Ids:
    """Return the identifiers that elements and addresses in these parts state."""
    ids: dict[str, str] = {}
    for kind, normalise in NORMALISERS.items():
        for value in texts(parts[0], paths.get(kind, ())):
            if known := normalise(value[:_MAX_MANY]):
                ids.setdefault(kind, known)
                break
    for value in _first((value for part in parts for value in texts(part, paths.get("address", ()))), _MAX_MANY):
        for kind, known in separate(value[:_MAX_MANY])[0].items():
            ids.setdefault(kind, known)
    return Ids.made({**ids}) if ids else NO_IDS


def _first(values: Any, count: int) -> Iterator[str]:
    for _, value in zip(range(count), values, strict=False):
        yield value
