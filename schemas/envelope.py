"""The fields that all events share, and the check of their version."""

from __future__ import annotations

from typing import Final, Self

import orjson

from reflink.entities import Entity
from reflink.errors import BadRecord

#: The contract version that this code writes, and the newest that it reads.
SCHEMA_VERSION: Final = 1


class Event(Entity):
    """Base of all events.

    ``schema_version`` has no default, so it is always written. ``from_json`` refuses an event newer than this code.
    """

    schema_version: int

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Parse and validate an event.

        Raises BadRecord, which names the first invalid field, or the version if it is newer than SCHEMA_VERSION.
        """
        try:
            event = super().from_json(data)
        except BadRecord:
            # An event of a newer contract may be invalid under this one: report the version rather than the field.
            refuse_newer(cls.__name__, data)
            raise
        if event.schema_version > SCHEMA_VERSION:
            refuse_newer(cls.__name__, data)
        return event


def refuse_newer(what: str, data: bytes | str) -> None:
    """Raise BadRecord if the ``schema_version`` in ``data`` is newer than SCHEMA_VERSION. Ignore all other faults."""
    try:
        fields = orjson.loads(data)
    except orjson.JSONDecodeError:
        return
    version = fields.get("schema_version") if isinstance(fields, dict) else None
    if isinstance(version, int | float) and version > SCHEMA_VERSION:
        raise BadRecord(
            f"{what}: schema_version {version} is newer than {SCHEMA_VERSION}, the newest this worker reads: "
            "upgrade the worker, then replay the dead letter"
        )


class PaperEvent(Event):
    """Base of the events derived from one version of one paper.

    ``paper_version`` increases with each version of a paper (header ``reflink-version``, else the timestamp of the paper's
    record). ``arrived`` is that timestamp in milliseconds since 1970. ``live`` is false for replayed or re-evaluated
    references. ``woken`` is the timestamp, in the same unit, of the catalog event that caused the re-evaluation; 0 if none did.
    """

    citing: str
    paper_version: int
    arrived: int
    live: bool = True
    woken: int = 0


class JudgedEvent(PaperEvent):
    """Base of the events with results of the linking stages.

    ``model`` is the encoder's name, ``policy`` a digest of everything else that affects the decision (reflink.linking.policy).
    ``absent`` is the share of works absent from the catalog that the probabilities assume; ``policy`` covers it.
    """

    model: str | None = None
    policy: str | None = None
    absent: float = 0.5
