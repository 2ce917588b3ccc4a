"""Reader of PubMed's reference lists: citations as mere text, with the works of the catalog and the records of PubMed.

The files are ``works.jsonl.gz`` (PubMed's records: ``id``, ``pmid``, ``doi``, ``pmcid``, ``title``, ``authors``, ``venue``,
``venue_abbreviation``, ``year``, ``volume``, ``pages``) and ``references_dev.jsonl.gz`` (``citing``, ``n``, ``raw``;
``ids``: pmid or doi of the cited work). A query is a reference with an id. It is present if a work has that id. A link of
another query is false if the linked work has an id of the same kind, since these differ; else it cannot be decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reflink.entities import Ids, Reference, Work
from reflink.evaluation.records import Listing, Query, lines
from reflink.identifiers import normalise_doi, normalise_pmid
from reflink.stripping import strip

_MERGED = ("title", "authors", "venue", "venue_abbreviations", "year", "volume", "fpage")


@dataclass(frozen=True, slots=True)
class Cited:
    """A reference as mere text, without identifiers, and the identifiers of the work that it cites."""

    reference: Reference
    ids: Ids


def read_works(folder: Path) -> Iterator[Work]:
    """Yield PubMed's records. Raises BadRecord."""
    for _, data in lines(folder / "works.jsonl.gz"):
        yield Work.from_dict(
            {
                **{name: data[name] for name in ("id", "title", "authors", "venue", "year", "volume") if data.get(name)},
                "ids": {kind: data[kind] for kind in ("pmid", "doi", "pmcid") if data.get(kind)},
                "venue_abbreviations": (data["venue_abbreviation"],) if data.get("venue_abbreviation") else (),
                "fpage": (data.get("pages") or "").partition("-")[0] or None,
            }
        )


def read_references(folder: Path) -> Iterator[Cited]:
    """Yield the references that have an id. Raises BadRecord."""
    for _, data in lines(folder / "references_dev.jsonl.gz"):
        given: Mapping[str, Any] = data.get("ids") or {}
        ids = Ids(doi=normalise_doi(given.get("doi") or ""), pmid=normalise_pmid(given.get("pmid") or ""))
        if ids.keys():
            name = f"{data['citing']}#{data['n']}"
            yield Cited(Reference(id=name, citing=data["citing"], position=1, raw_text=strip(data["raw"])), ids)


def merged(listings: Iterable[Listing], records: Iterable[Work]) -> list[Listing]:
    """Return the listings with PubMed's records added; a record that shares a pmid or doi with a work completes that work."""
    found: dict[str, Listing] = {}
    bearer: dict[str, str] = {}
    for listing in listings:
        found[listing.work.id] = listing
        for key in _keys(listing.work.ids):
            bearer.setdefault(key, listing.work.id)
    for record in records:
        known = next((bearer[key] for key in _keys(record.ids) if key in bearer), None)
        if known is None:
            found[record.id] = Listing(record, record.id)
        else:
            work = found[known].work
            fields = {name: getattr(record, name) for name in _MERGED if not getattr(work, name)}
            ids = Ids(**{**record.ids.to_dict(), **work.ids.to_dict()})
            found[known] = Listing(work.model_copy(update={**fields, "ids": ids}), found[known].group)
        for key in _keys(record.ids):
            bearer.setdefault(key, known or record.id)
    return list(found.values())


def queries(cited: Iterable[Cited], works: Iterable[Work]) -> list[Query]:
    """Return the references whose work is in the catalog."""
    bearer = bearers(works)
    found = ((each, next((bearer[key] for key in _keys(each.ids) if key in bearer), None)) for each in cited)
    return [Query(each.reference, truth, "medline") for each, truth in found if truth is not None]


def bearers(works: Iterable[Work]) -> dict[str, str]:
    """Return the first work with each pmid and doi."""
    found: dict[str, str] = {}
    for work in works:
        for key in _keys(work.ids):
            found.setdefault(key, work.id)
    return found


def is_false(ids: Ids, work: Work) -> bool:
    """Return whether a link to the work is false: both have an id of the same kind, and none is equal."""
    both = [(a, b) for kind in ("pmid", "doi") if (a := getattr(ids, kind)) and (b := getattr(work.ids, kind))]
    return bool(both) and all(a != b for a, b in both)


def _keys(ids: Ids) -> Sequence[str]:
    return [key for key in ids.keys() if not key.startswith("pmcid:")]  # noqa: SIM118
