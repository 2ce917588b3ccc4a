"""Topics ``references`` and ``retries``: one reference of one paper, to be linked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reflink.entities import Reference
from schemas.envelope import PaperEvent

#: Header: ``catalog_offset`` as a decimal integer, so that a reader need not parse the event.
OFFSET_HEADER: Final = "reflink-catalog-offset"


class ReferenceEvent(PaperEvent):
    """A reference to link. Key: citing id.

    ``catalog_offset``, set only in ``retries``, is the oldest catalog version that the reference may be evaluated against.
    ``forbidden``: ids of works that a curator excluded from its candidates. ``pinned``: id of the work to which a curator links
    the reference; the linker decides nothing then, and returns the canonical id and the status of the work.
    """

    reference: Reference
    catalog_offset: int = 0
    forbidden: tuple[str, ...] = ()
    pinned: str | None = None

    def headers(self) -> tuple[tuple[str, bytes], ...]:
        """Return the headers of its record in ``retries``."""
        return ((OFFSET_HEADER, b"%d" % self.catalog_offset),)


def required_offset(headers: Sequence[tuple[str, bytes]]) -> int:
    """Return the required catalog offset from the last such header; 0 if the header is absent or invalid."""
    offset = next((value for name, value in reversed(headers) if name == OFFSET_HEADER), b"")
    return int(offset) if offset.isdigit() and len(offset) < 20 else 0
