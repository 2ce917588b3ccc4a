"""Crossref: the public data file and Metadata Plus snapshots, and pages of the REST interface."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from reflink.entities import Ids, Related, Relation, Work
from reflink.errors import BadRecord
from reflink.names import divided
from reflink.sources import values
from reflink.sources.json_source import JsonSource
from reflink.sources.pages import first_and_last
from reflink.sources.source import SourceRecord
from reflink.sources.types import BOOKS, UNCITED, work_type
from reflink.subtitles import joined
from reflink.workids import work_id

#: Relations that are read. Reviews of a manuscript are no works, so those of a work are left out.
_RELATIONS: Final[dict[str, Relation]] = {
    "is-preprint-of": "preprint-of",
    "has-preprint": "has-preprint",
    "is-version-of": "version-of",
    "has-version": "has-version",
    "is-identical-to": "version-of",
    "is-same-as": "version-of",
    "is-manuscript-of": "version-of",
    "has-manuscript": "has-version",
    "is-translation-of": "version-of",
    "has-translation": "has-version",
    "is-variant-form-of": "version-of",
    "is-original-form-of": "has-version",
    "is-replaced-by": "has-version",
    "replaces": "version-of",
    "is-review-of": "reviews",
    "is-comment-on": "comments-on",
    "has-comment": "commented-by",
    "is-reply-to": "comments-on",
    "has-reply": "commented-by",
}
#: Type of an update, with hyphens: the relation of the notice to the work, and that of the work to the notice. A partial
#: retraction counts as a correction.
_UPDATES: Final[dict[str, tuple[Relation, Relation]]] = {
    **dict.fromkeys(
        ("correction", "corrigendum", "erratum", "addendum", "clarification", "partial-retraction"),
        ("corrects", "corrected-by"),
    ),
    **dict.fromkeys(("retraction", "withdrawal", "removal"), ("retracts", "retracted-by")),
    "expression-of-concern": ("concerns", "concern-by"),
    "new-version": ("version-of", "has-version"),
    "new-edition": ("version-of", "has-version"),
}
#: Dates of print, best first, of publication online, and others.
_PRINT: Final = ("published-print",)
_ONLINE: Final = ("published-online", "posted")
_OTHER: Final = ("issued", "published", "published-other", "approved", "accepted")
_NO_RELATIONS: Final[tuple[Related, ...]] = ()


class Crossref(JsonSource):
    """Crossref's works. Key: the DOI. Version: the time of indexing, in milliseconds."""

    name: ClassVar[str] = "crossref"
    about: ClassVar[str] = "Crossref: the public data file (tar or folder of JSON), JSON lines, pages of the REST interface"

    def records(self, value: dict[str, Any], version: int) -> Iterable[SourceRecord]:
        """Return the state of a work, and that its aliases are replaced by it. Raises BadRecord without a DOI."""
        own = record(value, version)
        if not value.get("aliases"):
            return (own,)
        others = {alias for each in values.texts(value["aliases"]) if (alias := values.doi_key(each)) and alias != own.key}
        return (own, *(SourceRecord(alias, own.version, None, replaced_by=own.key) for alias in sorted(others)))


def record(value: dict[str, Any], version: int = 0) -> SourceRecord:
    """Return the state of a Crossref work. ``version``: for a record without time stamps. Raises BadRecord without a DOI."""
    key = values.doi_key(value.get("DOI"))
    if key is None:
        raise BadRecord("no DOI")
    for stamp in ("indexed", "deposited"):
        stated = values.mapping(value.get(stamp))
        found = stated.get("timestamp")
        found = values.version(found.get("$numberLong") if type(found) is dict else found)
        if found is None:
            found = values.milliseconds(stated.get("date-time"))
        if found is not None:
            version = found
            break
    kind = work_type("crossref", value.get("type"))
    return SourceRecord(key, version, None if kind in UNCITED else work(value, key, kind))


def work(value: dict[str, Any], doi: str, kind: str | None) -> Work:
    """Return the work that a record describes. ``doi``: its key. ``kind``: its type, see `reflink.sources.types`."""
    ids = _ids(value, doi)
    title, translated = _titles(value)
    authors, groups = _authors(value.get("author"))
    if not authors and kind in BOOKS:
        authors, groups = _authors(value.get("editor"))
    venues = values.texts(value.get("container-title"))
    venue = max(venues, key=len) if kind == "journal-article" and venues else next(iter(venues), None)
    names = dict.fromkeys([*venues, *values.texts(value.get("short-container-title"))])
    names.pop(venue or "", None)
    issue = value.get("issue")
    in_issue = values.mapping(value.get("journal-issue"))
    printed = _year(value, _PRINT) or _year(in_issue, _PRINT)
    online = _year(value, _ONLINE)
    year = printed or _year(value, _OTHER) or online or _year(in_issue, _ONLINE)
    first, last = first_and_last(values.short(value.get("page")) or "")
    related, status = _related(value, ids)
    return Work.made({
        "id": work_id(ids, f"crossref:{doi}"),
        "ids": ids,
        "title": title,
        "translated_titles": translated,
        "authors": authors,
        "collectives": groups,
        "venue": venue,
        "venue_abbreviations": tuple(names),
        "issns": values.issns(value.get("ISSN")),
        "year": year,
        "online_year": online if online != year else None,
        "volume": values.short(value.get("volume")),
        "issue": values.short(issue if issue is not None else in_issue.get("issue")),
        "fpage": first or values.short(value.get("article-number")),
        "lpage": last,
        "type": kind,
        "language": values.language(value.get("language")),
        "related": related,
        "status": status,
    })  # fmt: skip


def _ids(value: dict[str, Any], doi: str) -> Ids:
    """Return the DOI and the labelled PubMed ids among the publisher's own ids."""
    pmid = pmcid = None
    for each in values.listed(value.get("alternative-id")):
        if type(each) is str and each[:2] in ("PM", "pm"):
            number = each[:40].lower()
            pmid = each if number.startswith("pmid") else pmid
            pmcid = each if number.startswith("pmc") else pmcid
    return values.ids(doi, pmid, pmcid)


def _titles(value: dict[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """Return the title with its subtitle, and the other titles: original ones, and further ones in the list of titles."""
    titles = values.texts(value.get("title"))
    others = [*titles[1:], *values.texts(value.get("original-title"))]
    if not titles:
        titles, others = others[:1], others[1:]
    if not titles:
        return None, ()
    title = titles[0]
    if value.get("subtitle"):
        lower = title.lower()
        title = joined((title, *(each for each in values.texts(value["subtitle"]) if each.lower() not in lower)))
    return title, tuple(dict.fromkeys(each for each in others if each.lower() not in (title.lower(), titles[0].lower())))


def _authors(people: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return last names and names of groups in order, and the groups."""
    names: list[str] = []
    groups: list[str] = []
    for person in values.listed(people):
        if type(person) is not dict:
            continue
        name = values.short(person.get("family"))
        if name is None:
            name = values.short(person.get("name"))
            if name is not None:
                groups.append(name)
            elif given := values.short(person.get("given")):
                name = divided(given)[0]
        if name:
            names.append(name)
    return tuple(names), tuple(groups)


def _year(value: dict[str, Any], kinds: Iterable[str]) -> int | None:
    for kind in kinds:
        date = value.get(kind)
        if type(date) is dict:
            parts = date.get("date-parts")
            while type(parts) is list and parts:  # [[2024, 3, 1]], in old records [2024, 3, 1]
                parts = parts[0]
            if (year := values.year(parts)) is not None:
                return year
    return None


def _related(value: dict[str, Any], own: Ids) -> tuple[tuple[Related, ...], str | None]:
    """Return the relations to other works, and the status that they or an update of the work by itself give."""
    relations, updates, updated = value.get("relation"), value.get("update-to"), value.get("updated-by")
    if not (relations or updates or updated):
        return _NO_RELATIONS, None
    found: dict[tuple[Relation, tuple[str, ...]], Related] = {}
    stated: list[Related] = []
    itself = frozenset(own.keys())

    def add(kind: Relation, ids: Ids, word: str) -> None:
        keys = ids.keys()
        if keys and itself.isdisjoint(keys):
            found.setdefault((kind, keys), Related.made({"kind": kind, "ids": ids, "stated": word}))
        elif keys:
            stated.append(Related.made({"kind": kind, "ids": ids}))

    for word, others in values.mapping(relations).items():
        kind = _RELATIONS.get(word)
        if kind is not None:
            for other in values.mappings(others):
                sort = other.get("id-type")
                if type(sort) is str and sort in ("doi", "pmid", "pmcid", "arxiv"):
                    add(kind, values.ids(**{sort: other.get("id")}), word)
    for notices, side in ((updates, 0), (updated, 1)):
        for update in values.mappings(notices):
            word = values.short(update.get("type")) or ""
            kinds = _UPDATES.get(word.lower().replace("_", "-"))
            if kinds is not None:
                ids = values.ids(update.get("DOI"))
                # A publisher that retracts an article in its own record states an update of the record by itself.
                add(kinds[1 if not itself.isdisjoint(ids.keys()) else side], ids, word)
    related = tuple(found.values())
    return related[-values.MAX_RELATED :], values.status((*related, *stated))  # the notices are last
