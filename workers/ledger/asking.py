"""Asking for a reference to be judged again: its event in ``retries``, made from its published outcome."""

from __future__ import annotations

import json
import logging

from reflink.entities import Link
from schemas import SCHEMA_VERSION, LinkEvent, OverrideEvent, ReferenceEvent
from schemas.links import OUTCOME_HEADER
from workers.ledger.overriding import curated, decided, effective
from workers.ledger.view import LedgerView, version_of
from workers.stage import Message, Output
from workers.topics import TOPICS

log = logging.getLogger(__name__)


def ask(
    partition: int,
    link: LinkEvent,
    offset: int,
    view: LedgerView,
    output: Output,
    *,
    why: str,
    woken: int = 0,
    enough: int | None = None,
) -> bool:
    """Sends the reference to be judged at catalog ``offset`` or later. Returns whether that made any message.

    Of what a curator has decided nothing is asked: it is published anew where the catalog has changed it. Nor of a reference
    whose paper has a newer version: the outcome for that one is on its way. Nor where the very same was asked for at offset
    ``enough`` or later. ``why``: for the metrics.
    """
    reference = link.reference.id
    # An answer from before the present outcome would be late: the linker may have been ahead of the works here.
    offset = max(offset, link.catalog_offset)
    override = view.override(partition, reference, output)
    if decided(override):
        return republish(partition, link, override, view, output)
    state = view.state(partition, link.citing, output)
    version = version_of(link, state)
    if state is not None and version < state.paper_version:
        return False
    forbidden = () if override is None else override.forbidden
    if enough is not None and view.asked_at(partition, reference, version, forbidden, output) >= enough:
        return False
    event = ReferenceEvent(
        schema_version=SCHEMA_VERSION,
        citing=link.citing,
        paper_version=version,
        arrived=link.arrived,
        live=False,
        woken=woken,
        reference=link.reference,
        catalog_offset=offset,
        forbidden=forbidden,
    )
    message = Message("retries", link.citing.encode(), event.to_json(), event.headers())
    if not _fits(message, reference, output):
        return False
    output.messages.append(message)
    output.writes[partition, "asked", reference] = json.dumps([offset, version, forbidden]).encode()
    output.observed.asked[why] += 1
    return True


def republish(partition: int, link: LinkEvent, override: OverrideEvent | None, view: LedgerView, output: Output) -> bool:
    """Publishes what the override makes of the link, where that is something else."""
    made = effective(link.link, override, view.works)
    said = curated(override)
    if (made.cited, made.unresolved, made.status, said) == (
        link.link.cited,
        link.link.unresolved,
        link.link.status,
        link.curated,
    ):
        return False
    return _publish_as(partition, link.model_copy(update={"link": made, "curated": said}), "overridden", output)


def withdraw(partition: int, link: LinkEvent, offset: int, output: Output) -> None:
    """Takes back a link to a work that is gone, as of this catalog offset."""
    gone = Link(reference=link.reference.id, citing=link.citing, cited=None, unresolved="withdrawn")
    offset = max(offset, link.catalog_offset)
    _publish_as(partition, link.model_copy(update={"link": gone, "catalog_offset": offset}), "withdrawn", output)


def publish(partition: int, link: LinkEvent, output: Output) -> None:
    """The current outcome of a reference, to ``links`` and to the store."""
    _put(partition, link, _message(link), output)


def _publish_as(partition: int, link: LinkEvent, decision: str, output: Output) -> bool:
    """The same for what no record brought, so that nobody could dead-letter it, were it too large. Whether it was not."""
    message = _message(link)
    if not _fits(message, link.reference.id, output):
        return False
    _put(partition, link, message, output)
    output.observed.decisions[decision] += 1
    return True


def _put(partition: int, link: LinkEvent, message: Message, output: Output) -> None:
    output.messages.append(message)
    output.writes[partition, "links", link.reference.id] = message.value


def _message(link: LinkEvent) -> Message:
    kind = b"linked" if link.link.cited is not None else b"unresolved"
    return Message(
        "links", link.reference.id.encode(), link.to_json(), ((OUTCOME_HEADER, kind),), partition_key=link.citing.encode()
    )


def _fits(message: Message, reference: str, output: Output) -> bool:
    """Whether the topic takes the message; what it does not take is passed over with a word in the log."""
    if message.size() <= TOPICS[message.topic].max_message_bytes:
        return True
    log.error("too large to be told", extra={"reference": reference, "topic": message.topic, "bytes": message.size()})
    output.observed.decisions["too-large"] += 1
    return False
