"""Requests for the re-evaluation of published outcomes: events in ``retries``; and outcomes that no worker has to decide."""

from __future__ import annotations

import json

from reflink.entities import Link
from schemas import SCHEMA_VERSION, LinkEvent, OverrideEvent, ReferenceEvent
from workers.ledger.override_rules import curated, effective, follows_pin
from workers.ledger.papers import version_of
from workers.ledger.transaction import LedgerTransaction
from workers.records import Message


def request(
    link: LinkEvent, offset: int, ledger: LedgerTransaction, *, cause: str, arrived: int = 0, sufficient: int | None = None
) -> bool:
    """Request the re-evaluation of a reference at catalog ``offset`` or later. Return whether there is any new message.

    There is no request in three cases:
    1. A curator decided that the reference cites nothing.
    2. The paper has a newer version: the outcome for that version is on its way.
    3. An identical request at offset ``sufficient`` or later was already made.

    A reference that a curator linked to a work is requested too: the linker returns the work's canonical id and status.

    ``cause`` is for the metrics. ``arrived``: when the causing change arrived, in ms since 1970; 0 without one.
    """
    reference = link.reference.id
    # An outcome below the offset of the current one would be late: the linker may have been ahead of the log of changes.
    offset = max(offset, link.catalog_offset)
    override = ledger.override(reference)
    if override is not None and (override.nothing or override.pinned is not None):
        published = republish(link, override, ledger)
        if override.nothing:
            return published
    paper = ledger.paper(link.citing)
    version = version_of(link, paper)
    if paper is not None and version < paper.state.paper_version:
        return False
    forbidden = () if override is None else override.forbidden
    pinned = None if override is None else override.pinned
    subject = (version, list(forbidden), pinned)
    if sufficient is not None and ledger.requested_offset(reference, subject) >= sufficient:
        return False
    event = ReferenceEvent(
        schema_version=SCHEMA_VERSION,
        citing=link.citing,
        paper_version=version,
        arrived=link.arrived,
        live=False,
        woken=arrived,
        reference=link.reference,
        catalog_offset=offset,
        forbidden=forbidden,
        pinned=pinned,
    )
    message = Message("retries", link.citing.encode(), event.to_json(), event.headers())
    if not ledger.fits(message, reference):
        return False
    ledger.output.messages.append(message)
    ledger.put("requested", reference, json.dumps([offset, *subject]).encode())
    ledger.output.observed.requested[cause] += 1
    return True


def republish(link: LinkEvent, override: OverrideEvent | None, ledger: LedgerTransaction) -> bool:
    """Publish the link as changed by the override, if it differs from the current one. Return whether it was published."""
    if follows_pin(link, override):
        return False
    changed, curation = effective(link.link, link.aliases, override), curated(override)
    if (changed.cited, changed.unresolved, changed.status, curation) == (
        link.link.cited,
        link.link.unresolved,
        link.link.status,
        link.curated,
    ):
        return False
    identity = {} if changed is link.link else {"aliases": (), "shared": False}
    return ledger.publish_as(link.model_copy(update={"link": changed, "curated": curation, **identity}), "overridden")


def withdraw(link: LinkEvent, offset: int, ledger: LedgerTransaction) -> None:
    """Replace a link to a removed work by the outcome ``withdrawn``, as of this catalog offset."""
    withdrawn = Link(reference=link.reference.id, citing=link.citing, cited=None, unresolved="withdrawn")
    offset = max(offset, link.catalog_offset)
    changed = {"link": withdrawn, "catalog_offset": offset, "aliases": (), "shared": False}
    ledger.publish_as(link.model_copy(update=changed), "withdrawn")
