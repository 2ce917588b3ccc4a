"""Topics ``links`` and ``manifests``: what the ledger says.

``links`` is compacted by reference id and partitioned by citing id: its newest record for a key is the current outcome of that
reference; a null value means that the reference is gone (its paper was revised or withdrawn).

``manifests`` is the ledger's own memory, compacted by citing id: the newest version it has seen of each paper. With it the
ledger's store can be rebuilt from topics alone, and an outcome of an older version that comes late is known to be late.
"""

from __future__ import annotations

from typing import Final, Literal

from reflink.entities import Entity, Link, Reference
from schemas.envelope import Event, JudgedEvent

#: Header of every non-null record: whether it carries a link, so that readers can filter without parsing.
OUTCOME_HEADER: Final = "reflink-outcome"
OutcomeHeader = Literal["linked", "unresolved"]


class Curated(Entity):
    """The override that a link stands under: whose, ``at`` what time (milliseconds), and why."""

    action: Literal["pinned", "nothing", "forbidden"]
    reason: str
    by: str | None = None
    at: int


class LinkEvent(JudgedEvent):
    """The current outcome of one reference, with the reference itself.

    ``catalog_offset`` and ``judged`` (milliseconds) say what it was judged against and when; ``forbidden``: works that were no
    candidates, as a curator forbids them. ``curated`` is there while an override holds for the reference.
    """

    catalog_offset: int
    judged: int
    link: Link
    reference: Reference
    curated: Curated | None = None
    forbidden: tuple[str, ...] = ()


class PaperState(Event):
    """The newest version of a paper that the ledger has seen, and the ids of its references.

    ``kept``: positions in ``references``, from 0, of those whose outcome was published for an older version and holds for this
    one too. ``offered``: whether the paper's entry in the catalog is the ledger's.
    """

    citing: str
    paper_version: int
    references: tuple[str, ...]
    withdrawn: bool = False
    kept: tuple[int, ...] = ()
    offered: bool = False
