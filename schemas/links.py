"""Topics ``links`` and ``manifests``: the outputs of the ledger.

``links`` is compacted by reference id and partitioned by citing id. The newest record of a key is the current outcome of that
reference. A null value means that a revision or withdrawal of the paper removed the reference.

``manifests`` is the ledger's own state, compacted by citing id: the newest version of each paper that the ledger has processed.
With it the ledger can rebuild its store from topics alone, and recognise a late outcome of an older version.
"""

from __future__ import annotations

from typing import Final, Literal

from reflink.entities import Entity, Link, Reference
from schemas.envelope import Event, JudgedEvent

#: Header of every non-null record: whether the outcome is a link, so that readers can filter records without parsing them.
OUTCOME_HEADER: Final = "reflink-outcome"
#: Key of the PropagationState in each partition of ``manifests``. No id of a paper begins with "#".
PROPAGATION_KEY: Final = "#propagation"


class Curated(Entity):
    """The override that applies to a link. ``at`` is its time in milliseconds since 1970, ``by`` its author."""

    action: Literal["pinned", "nothing", "forbidden"]
    reason: str
    by: str | None = None
    at: int


class LinkEvent(JudgedEvent):
    """The current outcome of one reference, with the reference itself.

    ``catalog_offset`` is the catalog version that the outcome was decided against, ``judged`` the time of the decision in
    milliseconds since 1970. ``forbidden``: works that a curator excluded from the candidates. ``curated`` is present while an
    override applies to the reference. ``aliases`` and ``shared`` are those of the outcome (schemas/outcomes.py).
    """

    catalog_offset: int
    judged: int
    link: Link
    reference: Reference
    curated: Curated | None = None
    forbidden: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    shared: bool = False


class PropagationState(Event):
    """How far the ledger has propagated the changes of the catalog in a partition of ``links``. Key: PROPAGATION_KEY.

    All changes below ``offset`` are done. Of the change at ``offset``, the first ``key`` keys are done, and of the next key the
    references up to ``after``.
    """

    offset: int
    key: int = 0
    after: str = ""


class PaperState(Event):
    """The newest version of a paper that the ledger has processed, and the ids of its references.

    ``kept``: positions in ``references``, from 0, of the references whose outcome was published for an older version and is
    valid for this one too. ``offered``: whether the ledger maintains the paper's entry in the catalog.
    """

    citing: str
    paper_version: int
    references: tuple[str, ...]
    withdrawn: bool = False
    kept: tuple[int, ...] = ()
    offered: bool = False
