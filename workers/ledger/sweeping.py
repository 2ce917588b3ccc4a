"""The sweep: slowly, behind everything else, judges again what keys may have missed. Pure functions.

A sweep has an aim, the catalog offset when it began: what was judged before that is asked for again, in order of reference.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

import orjson

from reflink.errors import BadRecord
from schemas import LinkEvent
from workers.ledger.asking import ask
from workers.ledger.view import SWEEP, LedgerView
from workers.stage import Output

#: References looked at in one chore.
_MOST: Final = 500


class Sweep(NamedTuple):
    """How far a partition's sweep is. ``began``: milliseconds since 1970; ``done``: nothing is left of it."""

    aim: int = 0
    began: int = 0
    after: str = ""
    done: bool = True

    @classmethod
    def read(cls, value: bytes | None) -> Sweep:
        """From its row."""
        return cls() if value is None else cls(*orjson.loads(value))

    def written(self) -> bytes:
        """As its row."""
        return orjson.dumps(list(self))


def sweep(partition: int, view: LedgerView, most: int, now: int, every_ms: int) -> Output | None:
    """One step of the sweep, asking for at most ``most`` references; None when none is under way or due."""
    store = view.stores[partition]
    state = Sweep.read(store.get("progress", SWEEP))
    if state.done:
        if now - state.began < every_ms or view.works.offset <= state.aim:
            return None
        state = Sweep(view.works.offset, now, "", done=False)
    output = Output()
    rows = store.rows("links", state.after)
    for _ in range(_MOST):
        if len(output.messages) >= most:
            break
        row = next(rows, None)
        if row is None:
            state = state._replace(done=True)
            break
        state = state._replace(after=row[0])
        with suppress(BadRecord):  # a row that only a newer version of this worker can read: that one will ask
            link = LinkEvent.from_json(row[1])
            if link.catalog_offset < state.aim:
                ask(partition, link, state.aim, view, output, why="sweep", enough=state.aim)
    output.writes[partition, "progress", SWEEP] = state.written()
    return output
