"""Topics ``references`` and ``retries``: one reference of one paper, to be linked."""

from __future__ import annotations

from reflink.entities import Reference
from schemas.envelope import PaperEvent


class ReferenceEvent(PaperEvent):
    """Key: citing id. ``catalog_offset``, in ``retries`` alone, is the least catalog version it must be judged at."""

    reference: Reference
    catalog_offset: int = 0
