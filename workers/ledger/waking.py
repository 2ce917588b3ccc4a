"""Waking: the references that a change of the catalog concerns, found by key and asked for again. Pure functions.

Each partition goes through the changes in order and remembers how far it is, within a change of many references too. What
was judged at a later offset than the change already knew it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

from reflink.errors import BadRecord
from schemas import LinkEvent
from workers.ledger.asking import ask, withdraw
from workers.ledger.indexing import hashed_keys
from workers.ledger.likely import likely
from workers.ledger.view import WOKEN, Cursor, LedgerView
from workers.ledger.worktable import Change
from workers.stage import Output

#: Changes and references looked at in one chore; some 50 ms.
MOST_CHANGES: Final = 250
MOST_REFERENCES: Final = 500
_PAGE: Final = 200
#: References compared with a work at a time.
_CHUNK: Final = 10


def wake(partition: int, view: LedgerView, most: int, floor: float = 0.0) -> Output | None:
    """One step on through the changes, with about ``most`` messages at most; None when the partition has seen all there is.

    ``floor``: the least probability of what is asked for; see likely.py.
    """
    output = Output()
    row = view.stores[partition].get("progress", WOKEN)
    begun = cursor = Cursor.read(row)
    if cursor.offset >= view.works.offset:
        return None
    changes = view.works.changes(cursor.offset, MOST_CHANGES)
    looked = 0
    for change in changes:
        if change.offset != cursor.offset:
            cursor = Cursor(change.offset)
        concerned = _concerned(partition, change, cursor, view)
        while True:
            room = min(_CHUNK, most - len(output.messages), MOST_REFERENCES - looked)
            if room < 1:
                return _moved(partition, begun, cursor, output)
            if not (chunk := list(islice(concerned, room))):
                break
            looked += len(chunk)
            _wake_some(partition, [reference for _, reference in chunk], change, view, output, floor)
            cursor = chunk[-1][0]
        cursor = Cursor(change.offset + 1)
    if len(changes) < MOST_CHANGES:
        cursor = Cursor(max(cursor.offset, view.works.offset))
    return _moved(partition, begun, cursor, output)


def _moved(partition: int, begun: Cursor, cursor: Cursor, output: Output) -> Output:
    if cursor != begun:
        output.writes[partition, "progress", WOKEN] = cursor.written()
    return output


def _concerned(partition: int, change: Change, cursor: Cursor, view: LedgerView) -> Iterator[tuple[Cursor, str]]:
    """The references with a key of the change, from the cursor on, and where the cursor is behind each."""
    store = view.stores[partition]
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


def _wake_some(
    partition: int, references: Sequence[str], change: Change, view: LedgerView, output: Output, floor: float
) -> None:
    links = []
    for reference in references:
        with suppress(BadRecord):  # a row that only a newer version of this worker can read: that one will ask
            link = view.link(partition, reference, output)
            if link is not None and link.catalog_offset <= change.offset:
                links.append(link)
    if not links:
        return
    for link, is_likely in zip(links, likely(links, change, view.works.get(change.work), floor), strict=True):
        if is_likely:
            with suppress(BadRecord):  # the same of its paper's state
                _wake_one(partition, link, change, view, output)


def _wake_one(partition: int, link: LinkEvent, change: Change, view: LedgerView, output: Output) -> None:
    enough = change.offset + 1
    # No later than needed, as the linker must encode what comes before; and once for all changes there are.
    last = view.works.changed_since(hashed_keys(link.reference, link.link.cited, *link.forbidden), enough)
    offset = enough if last is None else last + 1
    judged = link.curated is None or link.curated.action == "forbidden"
    if judged and link.link.cited in change.gone and not view.works.alive(link.link.cited or ""):
        withdraw(partition, link, change.offset + 1, output)
        ask(partition, link, offset, view, output, why="withdrawal", woken=change.arrived, enough=enough)
        return
    ask(partition, link, offset, view, output, why="change", woken=change.arrived, enough=enough)
