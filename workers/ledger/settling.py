"""What is due for single references: an override that has come, and judgements found to be old when a store was restored."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Final

from reflink.errors import BadRecord
from schemas import OverrideEvent
from workers.ledger.asking import ask, republish
from workers.ledger.overriding import curated, decided
from workers.ledger.view import LedgerView
from workers.stage import Output

_MOST: Final = 200


def settle_override(partition: int, reference: str, override: OverrideEvent | None, view: LedgerView, output: Output) -> None:
    """Makes the published outcome of a reference comply with its override, or with there being none any more."""
    link = view.link(partition, reference, output)
    if link is None:
        return
    if decided(override):
        republish(partition, link, override, view, output)
        return
    if link.curated == curated(override) and link.forbidden == (() if override is None else override.forbidden):
        return
    if override is not None:
        republish(partition, link, override, view, output)
    ask(partition, link, view.works.offset, view, output, why="override")


def ask_due(partition: int, view: LedgerView, most: int) -> Output | None:
    """Asks for references that were found to be judged before a change that concerns them; None when there is none."""
    output = Output()
    for reference, offset in islice(view.stores[partition].rows("due"), min(most, _MOST)):
        with suppress(BadRecord):  # a row that only a newer version of this worker can read: that one will ask
            link = view.link(partition, reference, output)
            if link is not None and link.catalog_offset <= int(offset):
                ask(partition, link, view.works.offset, view, output, why="late", enough=int(offset) + 1)
        output.writes[partition, "due", reference] = None
    return output if output.writes else None
