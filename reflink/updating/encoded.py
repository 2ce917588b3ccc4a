"""A source record in the form in which the state stores it, so that another process can prepare it."""

from __future__ import annotations

from typing import NamedTuple

from reflink.catalog.filters import Filters
from reflink.entities import Work
from reflink.sources.source import SourceRecord
from reflink.updating.layout import ref_of


class Encoded(NamedTuple):
    """A source record. ``json``: the work's, empty if withdrawn. ``plain``: a work that may be published as it is."""

    ref: bytes
    version: int
    json: bytes
    work_id: bytes
    identifiers: tuple[bytes, ...]
    partial: bool
    plain: bool


def encode(source: str, record: SourceRecord, filters: Filters) -> Encoded:
    """Return the record for the state."""
    ref, work = ref_of(source, record.key), record.work
    if work is None:
        return Encoded(ref, record.version, b"", b"", (), False, False)
    plain = not record.partial and filters.reason(work) is None
    return Encoded(ref, record.version, work.to_json(), id_of(work), identifiers(work), record.partial, plain)


def id_of(work: Work) -> bytes:
    """Return the work's id as part of a row."""
    return work.id.encode(errors="surrogatepass")


def identifiers(work: Work) -> tuple[bytes, ...]:
    """Return the identifiers by which records are connected, ``kind:value``."""
    return tuple(key.encode(errors="surrogatepass") for key in work.ids.keys())  # noqa: SIM118 - a method of Ids
