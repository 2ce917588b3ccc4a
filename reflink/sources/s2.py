"""Semantic Scholar: the dataset ``papers`` of the Academic Graph and its diffs, and answers of the REST interface."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from reflink.entities import Work
from reflink.errors import BadRecord
from reflink.sources import values
from reflink.sources.json_source import JsonSource, is_json
from reflink.sources.pages import first_and_last
from reflink.sources.source import SourceRecord
from reflink.sources.types import work_type
from reflink.workids import work_id


class SemanticScholar(JsonSource):
    """Semantic Scholar's papers. Key: the corpus id. Version: ``updated`` of older releases, else the time of the file."""

    name: ClassVar[str] = "s2"
    about: ClassVar[str] = "Semantic Scholar: files of the dataset papers and its diffs, answers of the REST interface"

    def is_file(self, name: str) -> bool:
        """Whether a file of this name holds records; those of a release have arbitrary names that end in .gz."""
        return is_json(name) or name.endswith(".gz")

    def records(self, value: dict[str, Any], version: int) -> Iterable[SourceRecord]:
        """Return the state of a paper. Raises BadRecord without a corpus id."""
        return (record(value, version),)


def record(value: dict[str, Any], version: int = 0) -> SourceRecord:
    """Return the state of a paper, or of a deleted one, of which the diffs have only the corpus id.

    ``version``: for a record without ``updated``. Raises BadRecord without a corpus id, and for records of other datasets.
    """
    value = values.mapping(value.get("citedPaper")) or values.mapping(value.get("citingPaper")) or value
    other = values.mapping(_either(value, "externalids", "externalIds"))
    number = _either(value, "corpusid", "corpusId")
    number = values.version(other.get("CorpusId") if number is None else number)
    if number is None:
        raise BadRecord("no corpus id")
    updated = values.milliseconds(value.get("updated"))
    version = version if updated is None else updated
    if "title" in value or other:
        return SourceRecord(str(number), version, _work(value, other, number))
    if len(value) > 1:
        raise BadRecord("not a record of the dataset papers")
    return SourceRecord(str(number), version, None)


def _work(value: dict[str, Any], other: dict[str, Any], number: int) -> Work:
    fields = work_fields(value, other)
    return Work.made({"id": work_id(fields["ids"], f"s2:{number}"), **fields})


def work_fields(value: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `reflink.entities.Work`, without its id. ``other``: the identifiers of the paper."""
    ids = values.ids(other.get("DOI"), other.get("PubMed"), other.get("PubMedCentral"), other.get("ArXiv"))
    journal = values.mapping(value.get("journal"))
    place = values.mapping(value.get("publicationVenue"))
    first, last = first_and_last(values.short(journal.get("pages")) or "")
    names, groups = values.people((None, values.short(each.get("name"))) for each in values.mappings(value.get("authors")))
    venues = [*values.texts(journal.get("name")), *values.texts(value.get("venue")), *values.texts(place.get("name")),
              *values.texts(place.get("alternate_names"))]  # fmt: skip
    venue, *abbreviations = dict.fromkeys(venues) if venues else (None,)
    kinds = [
        kind
        for each in values.listed(_either(value, "publicationtypes", "publicationTypes"))
        if (kind := work_type("s2", each))
    ]
    # A paper of a conference often is a journal article as well.
    kind = next((kind for kind in kinds if kind != "journal-article"), kinds[0] if kinds else None)
    date = values.year(_either(value, "publicationdate", "publicationDate"))
    return {
        "ids": ids,
        "title": values.text(value.get("title")),
        "authors": names,
        "collectives": groups,
        "venue": venue,
        "venue_abbreviations": tuple(each for each in abbreviations if each is not None),
        "issns": values.issns(place.get("issn")),
        "year": values.year(value.get("year")) or date,
        "volume": values.short(journal.get("volume")),
        "fpage": first,
        "lpage": last,
        "type": kind,
    }


def _either(value: dict[str, Any], dataset: str, interface: str) -> Any:
    """Return the field under its name in the datasets or in the REST interface."""
    found = value.get(dataset)
    return value.get(interface) if found is None else found
