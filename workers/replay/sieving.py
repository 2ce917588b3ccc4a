"""Which records of ``links`` a replay means, and what it makes of them."""

from __future__ import annotations

from collections.abc import Mapping

from reflink.errors import BadRecord
from schemas import SCHEMA_VERSION, LinkEvent, OverrideEvent, ReferenceEvent
from workers.replay.selecting import Selection
from workers.replay.superseding import Newest
from workers.stage import Received


class Sieve:
    """Tells which records of ``links`` are meant: the newest of their reference, selected, and not settled by a curator."""

    def __init__(
        self, selection: Selection, now: int, newest: Newest, overrides: Mapping[str, OverrideEvent] | None = None
    ) -> None:
        self._selection, self._meant, self._newest = selection, selection.as_of(now), newest
        self._overrides = overrides or {}

    def count(self, record: Received) -> None:
        """Takes a record into account; all are, before the first is asked for."""
        self._newest.put(record.key, record.offset, counted=isinstance(self._read(record), LinkEvent))

    def take(self, record: Received) -> LinkEvent | str | None:
        """The link if it is meant; else, where it would be meant otherwise, why it is not; None where it was not asked for."""
        if not self._selection.asks_for(record.key) or record.value is None:
            return None
        if self._newest.superseded(record.key, record.offset):
            return "superseded"
        return self._read(record)

    def _read(self, record: Received) -> LinkEvent | str | None:
        if not self._selection.asks_for(record.key) or record.value is None:
            return None
        try:
            event = LinkEvent.from_json(record.value)
        except BadRecord:
            return "unreadable"
        if not self._meant(event):
            return None
        override = self._overrides.get(event.link.reference)
        return "pinned" if override is not None and not override.forbidden else event


def again(event: LinkEvent, catalog_offset: int, overrides: Mapping[str, OverrideEvent]) -> ReferenceEvent:
    """The reference of a link, to be judged again at this version of the catalog or a later one."""
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
