"""What every event carries, whatever it is about."""

from __future__ import annotations

from typing import Final, Self

import orjson

from reflink.entities import Entity
from reflink.errors import BadRecord

#: The newest contract this code reads and the one it writes.
SCHEMA_VERSION: Final = 1


class Event(Entity):
    """Base of all events.

    ``schema_version`` has no default, so that it is always written. ``from_json`` refuses an event newer than this code.
    """

    schema_version: int

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Reads and validates. Raises BadRecord: the first offending field, or a version newer than SCHEMA_VERSION."""
        try:
            event = super().from_json(data)
        except BadRecord:
            # A newer contract may well be invalid by this one: say that, not which field.
            refuse_newer(cls.__name__, data)
            raise
        if event.schema_version > SCHEMA_VERSION:
            refuse_newer(cls.__name__, data)
        return event


def refuse_newer(what: str, data: bytes | str) -> None:
    """Raises BadRecord when ``data`` says that it is of a newer contract than this code reads; anything else passes."""
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
    """Base of the events that descend from one version of one paper.

    ``paper_version`` is monotone per paper (header ``reflink-version``, else the record's timestamp). ``arrived`` is that
    record's timestamp in milliseconds since 1970; ``live`` is false for events replayed or judged again. ``woken``: the
    timestamp, in milliseconds too, of the catalog event that asked for this judgement; 0 when none did.
    """

    citing: str
    paper_version: int
    arrived: int
    live: bool = True
    woken: int = 0


class JudgedEvent(PaperEvent):
    """Base of the events that carry judgements: the encoder's name, and a digest of all else that decides (reflink.policy)."""

    model: str | None = None
    policy: str | None = None
