"""Work due for single references: settling an override, and re-evaluating outcomes that a restore found out of date."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Final

from reflink.errors import BadRecord
from workers.ledger.override_rules import curated, decided
from workers.ledger.reevaluation import republish, request
from workers.ledger.transaction import LedgerTransaction
from workers.ledger.view import LedgerView
from workers.stage import Output

_MAX_DUE: Final = 200


def settle_override(reference: str, ledger: LedgerTransaction) -> None:
    """Make the published outcome of a reference comply with its current override, or with the removal of its override."""
    override = ledger.override(reference)
    link = ledger.link(reference)
    if link is None:
        return
    if decided(override):
        republish(link, override, ledger)
        return
    if link.curated == curated(override) and link.forbidden == (() if override is None else override.forbidden):
        return
    if override is not None:
        republish(link, override, ledger)
    request(link, ledger.works.offset, ledger, cause="override")


def request_due(partition: int, view: LedgerView, limit: int) -> Output | None:
    """Request the re-evaluation of at most ``limit`` references in the table ``due``. Return None if there is none."""
    ledger = LedgerTransaction(partition, view, Output())
    for reference, offset in islice(ledger.store.rows("due"), min(limit, _MAX_DUE)):
        with suppress(BadRecord):  # only a newer version of this worker can read the row; it will request the re-evaluation
            link = ledger.link(reference)
            if link is not None and link.catalog_offset <= int(offset):
                request(link, view.works.offset, ledger, cause="late", sufficient=int(offset) + 1)
        ledger.put("due", reference, None)
    return ledger.output if ledger.output.writes else None
