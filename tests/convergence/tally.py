"""What all histories of a run showed together: whether links came, moved and vanished, and what only the sweep put right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from schemas import LinkEvent

if TYPE_CHECKING:
    from tests.convergence.comparison import Difference
    from tests.convergence.pipeline import Pipeline


class Tally:
    """Sums over histories."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        #: Whether a link moved to another work, or was taken back, in the last history.
        self.last_moved = False

    def take(
        self,
        pipeline: Pipeline,
        fresh: Mapping[str, LinkEvent],
        before: Sequence[Difference] | None,
        after: Sequence[Difference],
    ) -> None:
        """One history at its end. ``before``: what differed before the sweep; None where one had helped already."""
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

    def told(self) -> dict[str, Any]:
        """For people and programs."""
        counts = dict(self.counts)
        changed, wrong = counts.get("their outcomes that changed", 0), counts.get("of these wrong before the sweep", 0)
        # Of all outcomes that were published anew, one after the other, and of those that still had to be.
        share = round(1 - wrong / (changed + wrong), 5) if changed + wrong else None
        return {**counts, "share of changes that came without a sweep": share}


def _moves(pipeline: Pipeline) -> Counter[str]:
    """From one record of a reference in ``links`` to the next; of what compaction left."""
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


#: Of this process.
TALLY = Tally()
