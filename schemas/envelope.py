"""What every event carries, whatever it is about."""

from __future__ import annotations

from typing import Final, Self

from reflink.entities import Entity
from reflink.errors import BadRecord

#: The newest contract this code reads and the one it writes.
SCHEMA_VERSION: Final = 1


class Event(Entity):
    """Base of all events.

    ``schema_version`` has no default, so that it is always written. ``from_json`` refuses an event that is newer than this code.
    """

    schema_version: int

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Reads and validates. Raises BadRecord: the first offending field, or a version newer than SCHEMA_VERSION."""
        event = super().from_json(data)
        if event.schema_version > SCHEMA_VERSION:
            raise BadRecord(
                f"{cls.__name__}: schema_version {event.schema_version} is newer than {SCHEMA_VERSION}, the newest this "
                "worker reads: upgrade the worker, then replay the dead letter"
            )
        return event


class PaperEvent(Event):
    """Base of the events that descend from one version of one paper.

    ``paper_version`` is monotone per paper (header ``reflink-version``, else the record's timestamp). ``arrived`` is that
    record's timestamp in milliseconds since 1970; ``live`` is false for events replayed or judged again.
    """

    citing: str
    paper_version: int
    arrived: int
    live: bool = True
