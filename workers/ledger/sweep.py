"""Sweep: re-evaluates, slowly and behind all other work, the references that blocking keys may have missed. Pure functions.

The aim of a sweep is the catalog offset at its beginning. The sweep requests the re-evaluation of every outcome that was
decided at a lower offset, in order of reference id.

Invariant: no outcome of a reference that the last sweep has passed has an offset below ``floor``, except those for which it
sent a request. An outcome that was in flight at that time lowers the floor on arrival, so another sweep begins although the
catalog has not changed. Batches and background tasks both write the floor; neither runs while the other is in flight
(Stage.sequential).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

import orjson

from reflink.errors import BadRecord
from schemas import LinkEvent
from workers.ledger.reevaluation import request
from workers.ledger.stores.key_index import catalog_offset_of
from workers.ledger.transaction import LedgerTransaction
from workers.ledger.view import SWEEP, LedgerView
from workers.stage import Output

#: Limit of references read in one background task.
_MAX_READ: Final = 500
#: References that may be read per permitted request: a sweep that finds nothing to request must not occupy a core.
_READ_PER_REQUEST: Final = 100


class Sweep(NamedTuple):
    """Progress of a partition's sweep.

    ``began``: ms since 1970; ``after``: the last reference read; ``done``: it has ended; ``floor``: the aim, or the lowest
    catalog offset of an outcome that arrived since the beginning if that is lower.
    """

    aim: int = 0
    began: int = 0
    after: str = ""
    done: bool = True
    floor: int = 0

    @classmethod
    def read(cls, value: bytes | None) -> Sweep:
        """Parse its row."""
        return cls() if value is None else cls(*orjson.loads(value))

    def written(self) -> bytes:
        """Return its row."""
        return orjson.dumps(list(self))

    def after_arrival(self, catalog_offset: int) -> Sweep:
        """Return the progress after an outcome with this catalog offset arrived."""
        return self if catalog_offset >= self.floor else self._replace(floor=catalog_offset)


class Step(NamedTuple):
    """Output of one step of the sweep, and the number of references that it read."""

    output: Output
    read: int

    @property
    def cost(self) -> int:
        """Permits that the step costs: one per request, or one per ``_READ_PER_REQUEST`` references read if that is more."""
        return max(sum(self.output.observed.requested.values()), -(-self.read // _READ_PER_REQUEST))


def note_arrival(catalog_offset: int, ledger: LedgerTransaction) -> None:
    """Record that an outcome with this catalog offset was accepted: the sweep may have passed its reference already."""
    state = Sweep.read(ledger.get("progress", SWEEP))
    if (lowered := state.after_arrival(catalog_offset)) is not state:
        ledger.put("progress", SWEEP, lowered.written())


def sweep(partition: int, view: LedgerView, limit: int, now: int, every_ms: int) -> Step | None:
    """Do one step of the sweep with at most ``limit`` requests. Return None if no sweep is under way or due.

    ``now``: ms since 1970.
    """
    ledger = LedgerTransaction(partition, view, Output())
    state = Sweep.read(ledger.store.get("progress", SWEEP))
    if state.done:
        if now - state.began < every_ms or view.catalog.offset <= state.floor:
            return None
        state = Sweep(view.catalog.offset, now, "", done=False, floor=view.catalog.offset)
    read = 0
    rows = ledger.store.rows("links", state.after)
    for _ in range(min(_MAX_READ, limit * _READ_PER_REQUEST)):
        if len(ledger.output.messages) >= limit:
            break
        row = next(rows, None)
        if row is None:
            state = state._replace(done=True)
            break
        read += 1
        state = state._replace(after=row[0])
        with suppress(BadRecord):  # only a newer version of this worker can read the row; it will request the re-evaluation
            if catalog_offset_of(row[1]) < state.aim:
                request(LinkEvent.from_json(row[1]), state.aim, ledger, cause="sweep", sufficient=state.aim)
    ledger.put("progress", SWEEP, state.written())
    return Step(ledger.output, read)
