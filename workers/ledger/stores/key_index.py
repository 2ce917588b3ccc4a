"""Blocking keys of an outcome in the store: those of its reference, and of the works that it names or must not cite.

A work that a link names has the keys of all its ids and identifiers, so that a later work with one of them is found.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final, NamedTuple

import orjson

from reflink.blocking.keys import hashed, reference_keys, work_key
from reflink.entities import Reference
from reflink.errors import BadRecord
from schemas import LinkEvent


class Indexed(NamedTuple):
    """Hashed keys and catalog offset of an outcome."""

    keys: frozenset[bytes]
    catalog_offset: int


#: Events with more bytes are not cached, because thousands of them would fill the memory.
_REMEMBERED: Final = 16_384


def indexed(value: bytes) -> Indexed:
    """Return keys and offset of a stored link event; no keys if it cannot be read, because it cannot be re-evaluated."""
    return _remembered(value) if len(value) <= _REMEMBERED else _read(value)


def _read(value: bytes) -> Indexed:
    try:
        try:
            fields = orjson.loads(value)
        except orjson.JSONDecodeError:  # it refuses numbers of hundreds of digits, which pydantic accepts
            fields = json.loads(value)
        reference = Reference.from_dict(fields["reference"])
        link = fields["link"]
        named = (
            link.get("cited"),
            (link.get("related") or {}).get("work"),
            *fields.get("aliases", ()),
            *fields.get("forbidden", ()),
        )
        return Indexed(hashed_keys(reference, *named), int(fields["catalog_offset"]))
    except (BadRecord, KeyError, TypeError, ValueError, AttributeError):
        return Indexed(frozenset(), 0)


_remembered = lru_cache(maxsize=4096)(_read)


def keys_of(value: bytes) -> frozenset[bytes]:
    """Return the hashed keys of a stored link event."""
    return indexed(value).keys


def event_keys(event: LinkEvent) -> frozenset[bytes]:
    """Return the hashed keys of a link event: those that ``keys_of`` returns for its stored form."""
    related = event.link.related
    named = None if related is None else related.work
    return hashed_keys(event.reference, event.link.cited, named, *event.aliases, *event.forbidden)


def hashed_keys(reference: Reference, *works: str | None) -> frozenset[bytes]:
    """Return the hashed keys of a reference, and of the ids of works that it names or must not cite."""
    return frozenset(map(hashed, (*reference_keys(reference), *(work_key(each) for each in works if each is not None))))


def catalog_offset_of(value: bytes) -> int:
    """Return the catalog offset of a stored link event, in most cases without validating the event. Raises BadRecord."""
    try:
        offset = orjson.loads(value)["catalog_offset"]
    except (ValueError, KeyError, TypeError):
        offset = None
    return offset if isinstance(offset, int) else LinkEvent.from_json(value).catalog_offset
