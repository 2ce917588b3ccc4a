"""Topics ``references`` and ``retries``: one reference of one paper, to be linked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reflink.entities import Reference
from schemas.envelope import PaperEvent

#: What ``catalog_offset`` is, in decimal: for who has not read the event yet.
OFFSET_HEADER: Final = "reflink-catalog-offset"


class ReferenceEvent(PaperEvent):
    """Key: citing id. ``catalog_offset``, in ``retries`` alone, is the least catalog version it must be judged at.

    ``forbidden``: ids of works that a curator forbids as its target.
    """

    reference: Reference
    catalog_offset: int = 0
    forbidden: tuple[str, ...] = ()

    def headers(self) -> tuple[tuple[str, bytes], ...]:
        """Those that it is sent with to ``retries``."""
        return ((OFFSET_HEADER, b"%d" % self.catalog_offset),)


def least_offset(headers: Sequence[tuple[str, bytes]]) -> int:
    """The catalog offset that the header asks for; 0 where there is none that can be read. Of several the last counts."""
    said = next((value for name, value in reversed(headers) if name == OFFSET_HEADER), b"")
    return int(said) if said.isdigit() and len(said) < 20 else 0
