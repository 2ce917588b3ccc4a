"""The filter that selects the records of ``links`` to replay, and their conversion to references."""

from __future__ import annotations

from collections.abc import Mapping

from reflink.errors import BadRecord
from schemas import SCHEMA_VERSION, LinkEvent, OverrideEvent, ReferenceEvent
from workers.records import Received
from workers.replay.latest_offsets import Newest
from workers.replay.selection import Selection


class RecordFilter:
    """Selects records of ``links`` that match, are the newest of their reference and are not settled by a curator.

    It needs two passes: ``count`` for every record, then ``take``.
    """

    def __init__(
        self, selection: Selection, now: int, newest: Newest, overrides: Mapping[str, OverrideEvent] | None = None
    ) -> None:
        self._selection, self._matches, self._newest = selection, selection.as_of(now), newest
        self._overrides = overrides or {}

    def count(self, record: Received) -> None:
        """Register a record in the first pass. Every record must be counted before the first call of ``take``."""
        self._newest.put(record.key, record.offset, counted=isinstance(self._read(record), LinkEvent))

    def take(self, record: Received) -> LinkEvent | str | None:
        """Return the link to replay, None if the selection excludes it, or the reason why it is passed over.

        The reasons are ``superseded``, ``unreadable`` and ``pinned``. A superseded record is not parsed, so only its key was
        compared with the selection.
        """
        if not self._selection.may_include(record.key) or record.value is None:
            return None
        return "superseded" if self._newest.superseded(record.key, record.offset) else self._read(record)

    def _read(self, record: Received) -> LinkEvent | str | None:
        if not self._selection.may_include(record.key) or record.value is None:
            return None
        try:
            event = LinkEvent.from_json(record.value)
        except BadRecord:
            return "unreadable"
        if not self._matches(event):
            return None
        override = self._overrides.get(event.link.reference)
        return "pinned" if override is not None and not override.forbidden else event


def again(event: LinkEvent, catalog_offset: int, overrides: Mapping[str, OverrideEvent]) -> ReferenceEvent:
    """Return the event that makes a linker re-evaluate the reference of a link at ``catalog_offset`` or a later version."""
    override = overrides.get(event.link.reference)
    return ReferenceEvent(
        schema_version=SCHEMA_VERSION,
        citing=event.link.citing,
        paper_version=event.paper_version,
        arrived=event.arrived,
        live=False,
        reference=event.reference,
        catalog_offset=catalog_offset,
        forbidden=override.forbidden if override is not None else (),
    )
