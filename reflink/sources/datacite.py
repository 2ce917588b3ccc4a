"""DataCite: the public data file and monthly files (JSON lines, also in a tar), and pages of the REST interface."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar, Final

from reflink.entities import Ids, Related, Relation, Work
from reflink.errors import BadRecord
from reflink.sources import values
from reflink.sources.json_source import JsonSource, is_json
from reflink.sources.source import SourceRecord
from reflink.sources.types import UNCITED, datacite_type
from reflink.subtitles import joined
from reflink.workids import work_id

_RELATIONS: Final[dict[str, Relation]] = {
    "IsVersionOf": "version-of",
    "HasVersion": "has-version",
    "IsNewVersionOf": "version-of",
    "IsPreviousVersionOf": "has-version",
    "IsIdenticalTo": "version-of",
    "IsVariantFormOf": "version-of",
    "IsOriginalFormOf": "has-version",
    "IsTranslationOf": "version-of",
    "HasTranslation": "has-version",
    "Obsoletes": "version-of",
    "IsObsoletedBy": "has-version",
    "Reviews": "reviews",
    "IsReviewedBy": "reviewed-by",
}
_IDS: Final = {"DOI": "doi", "PMID": "pmid", "PMCID": "pmcid", "arXiv": "arxiv"}
#: Standard values for missing ones: "(:unav)", "(:tba)".
_MISSING: Final = re.compile(r"(?i)\(?:(?:unac|unal|unap|unas|unav|unkn|none|null|tba|etal)\)?")
_OTHER_FILES: Final = frozenset(("manifest.json", "status.json"))


class DataCite(JsonSource):
    """DataCite's texts. Key: the DOI. Version: ``updated``, in milliseconds."""

    name: ClassVar[str] = "datacite"
    about: ClassVar[str] = (
        "DataCite: texts of the public data file or monthly files (tar or JSON lines), pages of the REST interface"
    )

    def is_file(self, name: str) -> bool:
        """Whether a file of this name holds records."""
        return is_json(name) and name.lower() not in _OTHER_FILES

    def records(self, value: dict[str, Any], version: int) -> Iterable[SourceRecord]:
        """Return the state of a DOI. Raises BadRecord without a DOI."""
        return (record(value, version),)


def record(value: dict[str, Any], version: int = 0) -> SourceRecord:
    """Return the state of a DataCite DOI; of one that is no text, or not findable, that it is no work.

    ``version``: for a record without ``updated``. Raises BadRecord without a DOI.
    """
    attributes = values.mapping(value.get("attributes")) or value
    key = values.doi_key(attributes.get("doi") or value.get("id"))
    if key is None:
        raise BadRecord("no DOI")
    updated = values.milliseconds(attributes.get("updated"))
    version = version if updated is None else updated
    types = values.mapping(attributes.get("types"))
    kind = datacite_type(types.get("resourceTypeGeneral"), types.get("resourceType"), types.get("ris"))
    if kind is None or kind in UNCITED or attributes.get("state") in ("draft", "registered"):
        return SourceRecord(key, version, None)
    return SourceRecord(key, version, _work(attributes, key, kind))


def _work(value: dict[str, Any], doi: str, kind: str) -> Work:
    ids = _ids(value, doi)
    title, translated = _titles(value)
    names, groups = _authors(value.get("creators"))
    container = _container(value)
    first = values.short(container.get("firstPage"))
    last = values.short(container.get("lastPage")) if first else None
    issn = container.get("identifier") if container.get("identifierType") == "ISSN" else None
    year = values.year(value.get("publicationYear"))
    if year is None:
        dates = values.mappings(value.get("dates"))
        year = next(
            (found for each in dates if each.get("dateType") == "Issued" and (found := values.year(each.get("date")))), None
        )
    return Work.made({
        "id": work_id(ids, f"datacite:{doi}"),
        "ids": ids,
        "title": title,
        "translated_titles": translated,
        "authors": names,
        "collectives": groups,
        "venue": _text(container.get("title")),
        "issns": values.issns(issn),
        "year": year,
        "volume": values.short(container.get("volume")),
        "issue": values.short(container.get("issue")),
        "fpage": first,
        "lpage": last if last != first else None,
        "type": kind,
        "language": values.language(value.get("language")),
        "related": _related(value, ids),
    })  # fmt: skip


def _ids(value: dict[str, Any], doi: str) -> Ids:
    """Return the DOI with the PubMed and arXiv ids among the other identifiers."""
    found: dict[str, Any] = {"doi": doi}
    for each in (*values.mappings(value.get("identifiers")), *values.mappings(value.get("alternateIdentifiers"))):
        sort = each.get("identifierType") or each.get("alternateIdentifierType")
        if type(sort) is str and sort in _IDS and sort != "DOI":
            found.setdefault(_IDS[sort], each.get("identifier") or each.get("alternateIdentifier"))
    return values.ids(**found)


def _titles(value: dict[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """Return the title with its subtitle, and translated and alternative titles."""
    own: list[str] = []
    subtitles: list[str] = []
    others: list[str] = []
    for each in values.mappings(value.get("titles")):
        if title := _text(each.get("title")):
            sort = each.get("titleType")
            (subtitles if sort == "Subtitle" else others if sort else own).append(title)
    own, others = (own[:1], own[1:] + others) if own else (others[:1], others[1:])
    return joined((*own, *subtitles)) or None, tuple(dict.fromkeys(each for each in others if each not in own))


def _authors(creators: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return last names and names of groups in order, and the groups."""
    names: list[str] = []
    groups: list[str] = []
    for each in values.mappings(creators):
        whole = _text(each.get("name"))
        whole = whole and whole[: values.MAX_SHORT]
        if whole and each.get("nameType") == "Organizational":
            names.append(whole)
            groups.append(whole)
            continue
        own, group = values.people([(values.short(each.get("familyName")), whole)])
        names += own
        groups += group
    return tuple(names), tuple(groups)


def _container(value: dict[str, Any]) -> dict[str, Any]:
    """Return title, volume, issue, pages and ISSN of the journal or book; since version 4.4 it may be a related item."""
    container = values.mapping(value.get("container"))
    if container.get("title"):
        return container
    for item in values.mappings(value.get("relatedItems")):
        if item.get("relationType") == "IsPublishedIn":
            own = values.mapping(item.get("relatedItemIdentifier"))
            title = next(values.mappings(item.get("titles")), {}).get("title")
            return {**item, "title": title, "identifier": own.get("relatedItemIdentifier"), "identifierType":
                    own.get("relatedItemIdentifierType")}  # fmt: skip
    return container


def _related(value: dict[str, Any], own: Ids) -> tuple[Related, ...]:
    found: dict[tuple[Relation, tuple[str, ...]], Related] = {}
    itself = frozenset(own.keys())
    for each in values.mappings(value.get("relatedIdentifiers")):
        word, sort = each.get("relationType"), each.get("relatedIdentifierType")
        if type(word) is str and type(sort) is str and word in _RELATIONS and sort in _IDS:
            ids = values.ids(**{_IDS[sort]: each.get("relatedIdentifier")})
            keys = ids.keys()
            if keys and itself.isdisjoint(keys):
                kind = _RELATIONS[word]
                found.setdefault((kind, keys), Related.made({"kind": kind, "ids": ids, "stated": word}))
    return tuple(found.values())[: values.MAX_RELATED]


def _text(value: Any) -> str | None:
    found = values.text(value)
    return None if found is None or _MISSING.fullmatch(found) else found
