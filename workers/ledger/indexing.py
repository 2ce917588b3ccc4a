"""By which keys a published outcome is found when the catalog changes: those of its reference, and the work that it cites."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final, NamedTuple

import orjson

from reflink.entities import Reference
from reflink.errors import BadRecord
from reflink.keys import hashed, reference_keys, work_key


class Indexed(NamedTuple):
    """The hashed keys of an outcome, and the catalog offset it was judged at."""

    keys: frozenset[bytes]
    catalog_offset: int


#: Larger events are not remembered, lest thousands of them fill the memory.
_REMEMBERED: Final = 16_384


def indexed(value: bytes) -> Indexed:
    """Of a link event as stored; of one that cannot be read no keys, as nobody can judge it again."""
    return _remembered(value) if len(value) <= _REMEMBERED else _read(value)


def _read(value: bytes) -> Indexed:
    try:
        try:
            fields = orjson.loads(value)
        except orjson.JSONDecodeError:  # it refuses numbers of hundreds of digits, which pydantic takes
            fields = json.loads(value)
        reference = Reference.from_dict(fields["reference"])
        named = (fields["link"].get("cited"), *fields.get("forbidden", ()))
        return Indexed(hashed_keys(reference, *named), int(fields["catalog_offset"]))
    except (BadRecord, KeyError, TypeError, ValueError, AttributeError):
        return Indexed(frozenset(), 0)


_remembered = lru_cache(maxsize=4096)(_read)


def keys_of(value: bytes) -> frozenset[bytes]:
    """The hashed keys of a link event as stored."""
    return indexed(value).keys


def hashed_keys(reference: Reference, *works: str | None) -> frozenset[bytes]:
    """The hashed keys of a reference, and of works by id that its outcome depends on: those it cites or must not cite."""
    return frozenset(map(hashed, (*reference_keys(reference), *(work_key(each) for each in works if each is not None))))
