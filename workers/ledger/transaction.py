"""The ledger's reads and writes of one partition within a batch or a background task.

Invariant: a read sees all earlier writes of the same batch or task. Nothing takes effect before the output is committed: then
the messages are in the topics, and the stage writes the rows to the stores.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Literal

from schemas import LinkEvent, OverrideEvent
from schemas.links import OUTCOME_HEADER, PROPAGATION_KEY
from workers.kafka.topics import TOPICS
from workers.ledger.papers import KnownPaper
from workers.ledger.stores.outcome_store import Table
from workers.ledger.view import Cursor, LedgerView, Row
from workers.records import Message
from workers.stage import Output

log = logging.getLogger(__name__)


class LedgerTransaction:
    """One partition of a view, with the writes in ``output``."""

    def __init__(self, partition: int, view: LedgerView, output: Output) -> None:
        self.partition, self.output = partition, output
        self.catalog, self.store = view.catalog, view.stores[partition]
        self._view = view

    # Reads

    def get(self, table: Table | Literal["requested"], key: str) -> bytes | None:
        """Return the current value of a row."""
        return self._view.get((self.partition, table, key), self.output)

    def link(self, reference: str) -> LinkEvent | None:
        """Return the current outcome of a reference. Raises BadRecord."""
        data = self.get("links", reference)
        return None if data is None else LinkEvent.from_json(data)

    def paper(self, citing: str) -> KnownPaper | None:
        """Return the newest known version of a paper. Raises BadRecord."""
        return self._view.paper(self.partition, citing, self.output)

    def override(self, reference: str) -> OverrideEvent | None:
        """Return the override of the reference. Raises BadRecord."""
        data = self.get("overrides", reference)
        return None if data is None else OverrideEvent.from_json(data)

    def cursor(self) -> Cursor:
        """Return the progress of change propagation as of the last commit."""
        return Cursor.read(self.store.get("manifests", PROPAGATION_KEY))

    def requested_offset(self, reference: str, subject: Sequence[object]) -> int:
        """Return the minimum catalog offset of the last identical request for the reference; -1 if none is remembered."""
        row = self.get("requested", reference)
        if row is None:
            return -1
        offset, *requested = json.loads(row)  # not orjson: a version may be of any size
        return int(offset) if requested == list(subject) else -1

    # Writes

    def put(self, table: Table | Literal["requested"], key: str, value: bytes | None) -> None:
        """Write a row; None deletes it."""
        row: Row = (self.partition, table, key)
        self.output.writes[row] = value

    def publish(self, link: LinkEvent) -> None:
        """Write the current outcome of a reference to ``links`` and to the store."""
        self._publish(link, _message(link))

    def publish_as(self, link: LinkEvent, decision: str) -> bool:
        """Publish an outcome that no record caused. Return False if it is too large, as there is no record to dead-letter."""
        message = _message(link)
        if not self.fits(message, link.reference.id):
            return False
        self._publish(link, message)
        self.count(decision)
        return True

    def store_link(self, link: LinkEvent) -> None:
        """Write an outcome to the store only."""
        self.put("links", link.reference.id, link.to_json())

    def remove(self, reference: str, citing: str) -> bool:
        """Publish a tombstone for the outcome of a reference. Return whether there was an outcome."""
        if self.get("links", reference) is None:
            return False
        self.output.messages.append(Message("links", reference.encode(), None, partition_key=citing.encode()))
        self.put("links", reference, None)
        return True

    def put_paper(self, paper: KnownPaper) -> None:
        """Write the paper's state to ``manifests`` and to the store."""
        value, citing = paper.state.to_json(), paper.state.citing
        self.output.messages.append(Message("manifests", citing.encode(), value))
        self.put("manifests", citing, value)
        self._view.papers.put((self.partition, "manifests", citing), value, paper)

    def advance(self, cursor: Cursor) -> None:
        """Write the progress of change propagation to ``manifests`` and to the store."""
        message = Message("manifests", PROPAGATION_KEY.encode(), cursor.written(), partition=self.partition)
        self.output.messages.append(message)
        self.put("manifests", PROPAGATION_KEY, message.value)

    def count(self, decision: str) -> None:
        """Count a decision, for the metrics."""
        self.output.observed.decisions[decision] += 1

    def fits(self, message: Message, reference: str) -> bool:
        """Return whether the topic accepts a message of this size; if not, log and count it."""
        if message.size() <= TOPICS[message.topic].max_message_bytes:
            return True
        log.error("event too large", extra={"reference": reference, "topic": message.topic, "bytes": message.size()})
        self.count("too-large")
        return False

    def _publish(self, link: LinkEvent, message: Message) -> None:
        self.output.messages.append(message)
        self.put("links", link.reference.id, message.value)


def _message(link: LinkEvent) -> Message:
    kind = b"linked" if link.link.cited is not None else b"unresolved"
    return Message(
        "links", link.reference.id.encode(), link.to_json(), ((OUTCOME_HEADER, kind),), partition_key=link.citing.encode()
    )
