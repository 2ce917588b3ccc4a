"""Topic ``absence``: what the ledgers have seen of the works absent from the catalog, and the shares in use. Compacted.

Key ``tally-<partition>``: a TallyEvent of the ledger that owns this partition of ``outcomes``. Key ``shares``: the SharesEvent
of the ledger that owns partition 0. A source is the registrant of the citing paper's DOI (reflink.linking.absence).
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import Field

from reflink.entities import Entity
from reflink.errors import BadRecord
from schemas.envelope import Event

SHARES_KEY: Final = b"shares"
_TALLY: Final = re.compile(rb"tally-([0-9]{1,6})")
Source = Annotated[str, Field(max_length=16)]
Weight = Annotated[float, Field(ge=0, le=1e9)]
Share = Annotated[float, Field(gt=0, lt=1)]


class SourceSeen(Entity):
    """References of a source by weight, and the expected weight of those whose work is absent.

    The empty name stands for all sources that are not counted apart.
    """

    source: Source
    weight: Weight
    absent: Weight


class TallyEvent(Event):
    """What a ledger has seen in its partition, by source. Older references weigh less."""

    seen: tuple[SourceSeen, ...]


class SourceShare(Entity):
    """The share of absent works of a source."""

    source: Source
    absent: Share


class SharesEvent(Event):
    """The shares of absent works in use: of some sources, and ``overall`` of all others."""

    overall: Share
    sources: tuple[SourceShare, ...]


def tally_key(partition: int) -> bytes:
    """Return the key of the tally of a partition of ``outcomes``."""
    return b"tally-%d" % partition


def read_absence(key: bytes | None, value: bytes) -> tuple[int, TallyEvent] | SharesEvent:
    """Parse an event; a tally comes with its partition. Raises BadRecord."""
    if key == SHARES_KEY:
        return SharesEvent.from_json(value)
    if match := _TALLY.fullmatch(key or b""):
        return int(match[1]), TallyEvent.from_json(value)
    raise BadRecord(f"absence event: the key {key!r} is neither shares nor tally-<partition>")
