"""Change propagation: requests the re-evaluation of references that share a blocking key with a changed work. Pure functions.

Invariants:
1. Each partition processes the log of changes in order. Its cursor (view.py) can also stand within a change of many references.
2. Cursor and requests belong to one output, so a step that is not committed is repeated.
3. An outcome with a higher catalog offset than the change already includes the change, so it is skipped.

Cost: a step reads at most 250 changes and 500 references, about 50 ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

from reflink.blocking.keys import hashed, work_key
from reflink.errors import BadRecord
from schemas import LinkEvent
from workers.ledger.change_filter import likely
from workers.ledger.reevaluation import request, withdraw
from workers.ledger.stores.change_log import Change
from workers.ledger.stores.key_index import event_keys
from workers.ledger.transaction import LedgerTransaction
from workers.ledger.view import Cursor, LedgerView
from workers.stage import Output

#: Limits of one background task: changes and references read.
MAX_CHANGES: Final = 250
MAX_REFERENCES: Final = 500
_PAGE: Final = 200
#: References compared with a work at a time.
_CHUNK: Final = 10


def propagate(partition: int, view: LedgerView, limit: int, min_probability: float = 0.0) -> Output | None:
    """Process the next changes in a partition, with about ``limit`` messages at most. Return None if no change is left.

    ``min_probability``: the minimum probability for a re-evaluation; see change_filter.py.
    """
    ledger = LedgerTransaction(partition, view, Output())
    begun = cursor = ledger.cursor()
    if cursor.offset >= view.catalog.offset:
        return None
    changes = view.catalog.changes(cursor.offset, MAX_CHANGES)
    read = 0
    for change in changes:
        if change.offset != cursor.offset:
            cursor = Cursor(change.offset)
        concerned = _concerned(change, cursor, ledger)
        while True:
            room = min(_CHUNK, limit - len(ledger.output.messages), MAX_REFERENCES - read)
            if room < 1:
                return _advanced(begun, cursor, ledger)
            if not (chunk := list(islice(concerned, room))):
                break
            read += len(chunk)
            _request_likely([reference for _, reference in chunk], change, min_probability, ledger)
            cursor = chunk[-1][0]
        cursor = Cursor(change.offset + 1)
    if len(changes) < MAX_CHANGES:
        cursor = Cursor(max(cursor.offset, view.catalog.offset))
    return _advanced(begun, cursor, ledger)


def _advanced(begun: Cursor, cursor: Cursor, ledger: LedgerTransaction) -> Output:
    if cursor != begun:
        ledger.advance(cursor)
    return ledger.output


def _concerned(change: Change, cursor: Cursor, ledger: LedgerTransaction) -> Iterator[tuple[Cursor, str]]:
    """Yield the references that have a key of the change, from the cursor on, each with the cursor that follows it."""
    store = ledger.store
    seen: set[str] = set()
    borne = set(store.borne(change.keys[cursor.key :]))
    for number in range(cursor.key, len(change.keys)):
        after = cursor.after if number == cursor.key else ""
        while change.keys[number] in borne and (page := store.references(change.keys[number], after, _PAGE)):
            for reference in page:
                if reference not in seen:
                    seen.add(reference)
                    yield Cursor(change.offset, number, reference), reference
            after = page[-1]
            if len(page) < _PAGE:
                break


def _request_likely(references: Sequence[str], change: Change, min_probability: float, ledger: LedgerTransaction) -> None:
    links = []
    for reference in references:
        with suppress(BadRecord):  # only a newer version of this worker can read the row; it will request the re-evaluation
            link = ledger.link(reference)
            if link is not None and link.catalog_offset <= change.offset:
                links.append(link)
    if not links:
        return
    for link, is_likely in zip(links, likely(links, change, change.state(), min_probability), strict=True):
        if is_likely:
            with suppress(BadRecord):  # likewise for the state of its paper
                _request(link, change, ledger)


def _request(link: LinkEvent, change: Change, ledger: LedgerTransaction) -> None:
    sufficient = change.offset + 1
    # The lowest sufficient offset, as the linker must encode all works below it; one request covers all changes so far.
    last = ledger.catalog.changed_since(event_keys(link), sufficient)
    offset = sufficient if last is None else last + 1
    by_worker = link.curated is None or link.curated.action == "forbidden"
    cause = "change"
    if by_worker and _left(link, change, ledger):
        withdraw(link, change.offset + 1, ledger)
        cause = "withdrawal"
    request(link, offset, ledger, cause=cause, arrived=change.arrived, sufficient=sufficient)


def _left(link: LinkEvent, change: Change, ledger: LedgerTransaction) -> bool:
    """Return whether the change removed the cited id from the catalog. A later change of the same id decides for itself."""
    if not change.removed or link.link.cited != change.work or link.shared:
        return False
    return ledger.catalog.changed_since([hashed(work_key(change.work))], change.offset + 1) is None
