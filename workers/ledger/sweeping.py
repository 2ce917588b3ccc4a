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
#: References that may be looked at for each that may be asked: a sweep that finds nothing to ask must not take a core.
_LOOKS: Final = 100


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


class Step(NamedTuple):
    """What a step of the sweep yields, and how many references it looked at."""

    output: Output
    looked: int

    @property
    def cost(self) -> int:
        """In references that may be asked."""
        return max(sum(self.output.observed.asked.values()), -(-self.looked // _LOOKS))


def sweep(partition: int, view: LedgerView, most: int, now: int, every_ms: int) -> Step | None:
    """One step of the sweep, asking for at most ``most`` references; None when none is under way or due."""
    store = view.stores[partition]
    state = Sweep.read(store.get("progress", SWEEP))
    if state.done:
        if now - state.began < every_ms or view.works.offset <= state.aim:
            return None
        state = Sweep(view.works.offset, now, "", done=False)
    output, looked = Output(), 0
    rows = store.rows("links", state.after)
    for _ in range(min(_MOST, most * _LOOKS)):
        if len(output.messages) >= most:
            break
        row = next(rows, None)
        if row is None:
            state = state._replace(done=True)
            break
        looked += 1
        state = state._replace(after=row[0])
        with suppress(BadRecord):  # a row that only a newer version of this worker can read: that one will ask
            if _judged_at(row[1]) < state.aim:
                ask(partition, LinkEvent.from_json(row[1]), state.aim, view, output, why="sweep", enough=state.aim)
    output.writes[partition, "progress", SWEEP] = state.written()
    return Step(output, looked)


def _judged_at(value: bytes) -> int:
    """The catalog offset of a link event as stored; most need not be read further. Raises BadRecord."""
    try:
        offset = orjson.loads(value)["catalog_offset"]
    except (ValueError, KeyError, TypeError):
        offset = None
    return offset if isinstance(offset, int) else LinkEvent.from_json(value).catalog_offset
