"""Topics ``references`` and ``retries``: one reference of one paper, to be linked."""

from __future__ import annotations

from reflink.entities import Reference
from schemas.envelope import PaperEvent


class ReferenceEvent(PaperEvent):
    """Key: citing id. ``catalog_offset``, in ``retries`` alone, is the least catalog version it must be judged at.

    ``forbidden``: ids of works that a curator forbids as its target.
    """

    reference: Reference
    catalog_offset: int = 0
    forbidden: tuple[str, ...] = ()
