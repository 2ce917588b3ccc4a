"""Closed and open worlds: the works in the catalog, and the queries that have a target there.

Closed: all works. Open: whole groups of works are removed by a hash of their name, so that a share of the queries cites no
work of the catalog; every link of these queries is false.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from reflink.entities import Reference
from reflink.evaluation.records import Listing

World = Literal["closed", "open"]

#: Tenths of the groups present in the worlds other than the protocol's half. Each world is a subset of the one before it.
SHARES: Final = (8, 2)


def is_removed(group: str, present: int | None = None) -> bool:
    """Return whether the open world lacks a group.

    The open world lacks groups with an odd sha1 of their name, or, if ``present`` tenths are kept, with sha1 modulo 10 not
    below ``present``.
    """
    digest = hashlib.sha1(group.encode(), usedforsecurity=False).hexdigest()
    if present is None:
        return int(digest[-1], 16) % 2 == 1
    return int(digest, 16) % 10 >= present


@dataclass(frozen=True, slots=True)
class Setting:
    """A named world. ``present``: tenths of the groups that an open world keeps, None for the protocol's half."""

    name: str
    world: World
    present: int | None = None


def settings_of(worlds: Collection[World], present: int | None = None, *, shares: bool = False) -> list[Setting]:
    """Return the worlds to measure: closed, then open, and with ``shares`` also ``open_80`` and ``open_20``."""
    found = [Setting("closed", "closed")] if "closed" in worlds else []
    if "open" in worlds:
        found.append(Setting("open", "open", present))
    if shares:
        found += [Setting(f"open_{10 * tenths}", "open", tenths) for tenths in SHARES]
    return found


@dataclass(frozen=True)
class Groups:
    """Groups of ids of the same work: ``of`` maps a work's id to its group, ``members`` a group to its ids."""

    of: Mapping[str, str]
    members: Mapping[str, Sequence[str]] = field(repr=False)

    @classmethod
    def read(cls, listings: Iterable[Listing]) -> Groups:
        """Return the groups of a catalog."""
        of: dict[str, str] = {}
        members: dict[str, list[str]] = defaultdict(list)
        for listing in listings:
            of[listing.work.id] = listing.group
            members[listing.group].append(listing.work.id)
        return cls(of, dict(members))

    def same(self, work_id: str) -> Sequence[str]:
        """Return all ids of the work, including ``work_id``."""
        return self.members.get(self.of.get(work_id, work_id), (work_id,))

    def removed(self, present: int | None = None) -> frozenset[str]:
        """Return the ids of the works that the open world lacks."""
        return frozenset(id_ for group, ids in self.members.items() if is_removed(group, present) for id_ in ids)

    def lacking(self, setting: Setting) -> frozenset[str]:
        """Return the ids of the works that a world lacks."""
        return frozenset() if setting.world == "closed" else self.removed(setting.present)

    def is_absent(self, truth: str, world: World, present: int | None = None) -> bool:
        """Return whether a query with this truth has no target in that world."""
        return world == "open" and is_removed(self.of.get(truth, truth), present)


def hidden(reference: Reference) -> Reference:
    """Return the reference as if no field were tagged: only the citation as written, without identifiers."""
    return Reference(id=reference.id, citing=reference.citing, position=reference.position, raw_text=reference.raw_query)
