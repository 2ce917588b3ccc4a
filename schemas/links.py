"""Topics ``links`` and ``manifests``: what the ledger says.

``links`` is compacted by reference id and partitioned by citing id: its newest record for a key is the current outcome of that
reference; a null value means that the reference is gone (its paper was revised or withdrawn).

``manifests`` is the ledger's own memory, compacted by citing id: the newest version it has seen of each paper. With it the
ledger's store can be rebuilt from topics alone, and an outcome of an older version that comes late is known to be late.
"""

from __future__ import annotations

from typing import Final, Literal

from reflink.entities import Link, Reference
from schemas.envelope import Event, PaperEvent

#: Header of every non-null record: whether it carries a link, so that readers can filter without parsing.
OUTCOME_HEADER: Final = "reflink-outcome"
OutcomeHeader = Literal["linked", "unresolved"]


class LinkEvent(PaperEvent):
    """The current outcome of one reference, with the reference itself.

    ``catalog_offset`` and ``judged`` (milliseconds) say what it was judged against and when.
    """

    catalog_offset: int
    judged: int
    link: Link
    reference: Reference


class PaperState(Event):
    """The newest version of a paper that the ledger has seen, and the ids of its references."""

    citing: str
    paper_version: int
    references: tuple[str, ...]
    withdrawn: bool = False
