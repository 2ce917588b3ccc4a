"""The records that are merged, the work that they make, and the identifiers that join unlike records."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import orjson

from reflink.entities import Ids, Work
from reflink.workids import work_id


@dataclass(frozen=True, slots=True)
class Member:
    """One record of a source: ``key`` is unique within ``source`` and has no white space.

    ``partial``: the record completes others, as a line of PMC-ids.csv, which has identifiers and no title. Alone it is not a
    work.
    """

    source: str
    key: str
    work: Work
    partial: bool = False

    @property
    def name(self) -> str:
        """The record's name in reports: ``source/key``."""
        return f"{self.source}/{self.key}"


@dataclass(frozen=True, slots=True)
class Merged:
    """A work, and the records that it was made of, in the order of the rules.

    ``aliases``: other identifiers (``doi:…``) of the work, for which its ``ids`` have no room; ``works`` has a work for each.
    ``provenance``: names of the records that each field came from, separated by spaces; empty if there is one record.
    """

    work: Work
    members: tuple[Member, ...]
    provenance: dict[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()

    def works(self) -> list[Work]:
        """Return the work, and under each alias a copy that a catalog joins with it, because they share the identifiers."""
        return [self.work, *(self.work.model_copy(update={"id": work_id(ids_named(alias), None)}) for alias in self.aliases)]


def ids_named(key: str) -> Ids:
    """Return the identifier with the name ``kind:value``."""
    kind, _, value = key.partition(":")
    return Ids.made({kind: value})


@dataclass(frozen=True, slots=True)
class Conflict:
    """An identifier of records that are not one work.

    ``kept``: the records of the work that keeps it; empty if no work does. ``lost``: the records of other works, which lose it.
    """

    identifier: str
    kept: tuple[str, ...]
    lost: tuple[str, ...]
    reason: str

    def to_json(self) -> bytes:
        """Return one line of JSON."""
        return orjson.dumps(asdict(self))
