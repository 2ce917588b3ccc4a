"""Closed and open worlds: which works are in the catalog, and which queries then have a target there.

Closed: all works. Open: whole groups of works are taken out by a hash of their name, so that a share of the queries cites
nothing in the catalog; any link of theirs is false.
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

#: Tenths of the groups present in the worlds beside the protocol's half. In this order each is what is left of the last.
SHARES: Final = (8, 2)


def is_removed(group: str, present: int | None = None) -> bool:
    """Whether the open world lacks a group, by its sha1: odd; or, for ``present`` tenths to stay, not below modulo 10."""
    digest = hashlib.sha1(group.encode(), usedforsecurity=False).hexdigest()
    if present is None:
        return int(digest[-1], 16) % 2 == 1
    return int(digest, 16) % 10 >= present


@dataclass(frozen=True, slots=True)
class Setting:
    """A world under a name. ``present``: tenths of the groups that an open one keeps, None for the protocol's half."""

    name: str
    world: World
    present: int | None = None


def settings_of(worlds: Collection[World], present: int | None = None, *, shares: bool = False) -> list[Setting]:
    """The worlds to measure, the closed one first, then the open one, and with ``shares`` ``open_80`` and ``open_20``."""
    found = [Setting("closed", "closed")] if "closed" in worlds else []
    if "open" in worlds:
        found.append(Setting("open", "open", present))
    if shares:
        found += [Setting(f"open_{10 * tenths}", "open", tenths) for tenths in SHARES]
    return found


@dataclass(frozen=True)
class Groups:
    """Which works are the same: ``of`` maps a work's id to its group, ``members`` a group to its ids."""

    of: Mapping[str, str]
    members: Mapping[str, Sequence[str]] = field(repr=False)

    @classmethod
    def read(cls, listings: Iterable[Listing]) -> Groups:
        """The groups of a catalog."""
        of: dict[str, str] = {}
        members: dict[str, list[str]] = defaultdict(list)
        for listing in listings:
            of[listing.work.id] = listing.group
            members[listing.group].append(listing.work.id)
        return cls(of, dict(members))

    def same(self, work_id: str) -> Sequence[str]:
        """All ids of the work, itself included."""
        return self.members.get(self.of.get(work_id, work_id), (work_id,))

    def removed(self, present: int | None = None) -> frozenset[str]:
        """Ids of the works that the open world lacks."""
        return frozenset(id_ for group, ids in self.members.items() if is_removed(group, present) for id_ in ids)

    def lacking(self, setting: Setting) -> frozenset[str]:
        """Ids of the works that a world lacks."""
        return frozenset() if setting.world == "closed" else self.removed(setting.present)

    def is_absent(self, truth: str, world: World, present: int | None = None) -> bool:
        """Whether a query with this truth has no target in that world."""
        return world == "open" and is_removed(self.of.get(truth, truth), present)


def hidden(reference: Reference) -> Reference:
    """The same reference as if nothing in it were tagged: the citation as written, without identifiers, and nothing else."""
    return Reference(id=reference.id, citing=reference.citing, position=reference.position, raw_text=reference.raw_query)
