"""Rows of works and references: the record with the keys by which Spark joins them. Pure functions, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import orjson

from reflink.blocking.locators import reference_places, work_places
from reflink.catalog.mapped import keys_of
from reflink.catalog.reading import work_from
from reflink.entities import Paper, Reference, Work
from reflink.errors import BadRecord

_BOM: Final = b"\xef\xbb\xbf"


class WorkRow(NamedTuple):
    """A work: its JSON, the id and identifiers that it bears (``kind:value``), and its locators."""

    id: str
    record: bytes
    bears: list[str]
    places: list[str]


class ReferenceRow(NamedTuple):
    """A reference: its JSON, identifiers and locators, and the id of the citing paper unless it is one of the identifiers."""

    id: str
    record: bytes
    cites: list[str]
    places: list[str]
    citing: list[str]


def work_row(work: Work) -> WorkRow:
    """Return the row of a work."""
    return WorkRow(work.id, work.to_json(), list(keys_of(work)), list(work_places(work)))


def work_of(line: bytes) -> Work:
    """Return the work of a line, read as `reflink catalog build` reads it. Raises BadRecord."""
    return work_from(_json(line))


def reference_row(reference: Reference) -> ReferenceRow:
    """Return the row of a reference."""
    cites = list(dict.fromkeys((*reference.ids.keys(), *reference.ids_weak.keys())))
    citing = [] if reference.citing in cites else [reference.citing]
    return ReferenceRow(reference.id, reference.to_json(), cites, list(reference_places(reference)), citing)


def references_of(line: bytes) -> Iterator[Reference]:
    """Yield the references of a line of ``reflink parse --json``, which is a paper, or the reference that the line is.

    Raises BadRecord.
    """
    record = _json(line)
    if isinstance(record, dict) and "citing" in record:
        yield Reference.from_dict(record)
    else:
        yield from Paper.from_dict(record).references


def _json(line: bytes) -> Any:
    try:
        return orjson.loads(line.removeprefix(_BOM))
    except orjson.JSONDecodeError as error:
        raise BadRecord(f"not JSON: {error.msg} at column {error.colno}") from None
