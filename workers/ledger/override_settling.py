"""Settling of an override: the published outcome of its reference is made to comply."""

from __future__ import annotations

from workers.ledger.override_rules import curated, follows_pin
from workers.ledger.reevaluation import republish, request
from workers.ledger.transaction import LedgerTransaction


def settle_override(reference: str, ledger: LedgerTransaction) -> None:
    """Make the published outcome of a reference comply with its current override, or with the removal of its override."""
    override = ledger.override(reference)
    link = ledger.link(reference)
    if link is None:
        return
    if override is not None and override.nothing:
        republish(link, override, ledger)
        return
    if override is not None and override.pinned is not None:
        if not follows_pin(link, override):
            request(link, ledger.catalog.offset, ledger, cause="override")
        return
    if link.curated == curated(override) and link.forbidden == (() if override is None else override.forbidden):
        return
    if override is not None:
        republish(link, override, ledger)
    request(link, ledger.catalog.offset, ledger, cause="override")
