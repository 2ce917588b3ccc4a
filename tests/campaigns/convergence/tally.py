"""Statistics over all histories of a run: links that appeared, moved and vanished, and errors that only the sweep corrected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from schemas import LinkEvent

if TYPE_CHECKING:
    from tests.campaigns.convergence.comparison import Difference
    from tests.campaigns.convergence.pipeline import Pipeline


class Tally:
    """Counts over histories."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        #: Whether a link moved to another work, or was taken back, in the last history.
        self.last_moved = False

    def add(
        self,
        pipeline: Pipeline,
        fresh: Mapping[str, LinkEvent],
        before: Sequence[Difference] | None,
        after: Sequence[Difference],
    ) -> None:
        """Add a history at its end. ``before``: differences before the sweep; None if there may have been an earlier sweep."""
        counts, moves = self.counts, _moves(pipeline)
        counts["histories"] += 1
        counts["references at the end"] += len(fresh)
        counts["links at the end"] += sum(link.link.cited is not None for link in fresh.values())
        counts["curated at the end"] += sum(link.curated is not None for link in fresh.values())
        counts.update(moves)
        self.last_moved = bool(moves["links that moved"] + moves["links taken back"])
        counts["histories in which a link moved or was taken back"] += self.last_moved
        counts["differences after the sweep"] += len(after)
        if before is not None:
            counts["histories without an earlier sweep"] += 1
            counts["their references"] += len(fresh)
            counts["of these wrong before the sweep"] += len(before)
            counts["of these in the target"] += sum(each.in_target for each in before)
            counts["their outcomes that changed"] += moves["outcomes that changed"]

    def report(self) -> dict[str, Any]:
        """Return the counts, and the share of changes that needed no sweep."""
        counts = dict(self.counts)
        changed, wrong = counts.get("their outcomes that changed", 0), counts.get("of these wrong before the sweep", 0)
        # The base is all changed outcomes: those published without a sweep, and those that still had to change.
        share = round(1 - wrong / (changed + wrong), 5) if changed + wrong else None
        return {**counts, "share of changes that came without a sweep": share}


def _moves(pipeline: Pipeline) -> Counter[str]:
    """Count the changes from each record of a reference in ``links`` to the next, compacted records included."""
    counts: Counter[str] = Counter()
    before: dict[bytes | None, str | None] = {}
    for key, value in pipeline.published:
        cited = None if value is None else LinkEvent.from_json(value).link.cited
        known = before.get(key)
        counts["records of links"] += 1
        counts["outcomes that changed"] += value is not None and key in before
        counts["links that appeared"] += known is None and cited is not None
        counts["links that moved"] += known is not None and cited is not None and cited != known
        counts["links taken back"] += known is not None and cited is None
        counts["tombstones"] += value is None
        before[key] = cited
    return counts


#: The tallies of this process: with the catalog's own indexes, and with a search engine.
TALLY, SEARCHED = Tally(), Tally()
