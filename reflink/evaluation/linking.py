"""Links references as the library does, each by a verdict that was not trained on its citing paper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, TypeVar

from rich.progress import track

from reflink.entities import Link, Reference
from reflink.evaluation.judges import HeldOut
from reflink.linking.candidates import Candidates
from reflink.linking.linker import Linker
from reflink.linking.policy import Policy
from reflink.terminal import Terminal

_BATCH: Final = 256

T = TypeVar("T")


def tracked(items: Collection[T], what: str) -> Iterable[T]:
    """Return the items; iterating over them shows a progress bar on the terminal."""
    return track(items, description=what, console=Terminal(stderr=True), total=len(items))


def link_held_out(
    references: Sequence[Reference], source: Candidates, policy: Policy, judges: HeldOut, what: str
) -> list[Link]:
    """Return a link for each reference, in order, each by a judge that was not trained on the citing paper."""
    links: dict[int, Link] = {}
    by_judge: dict[Any, list[int]] = defaultdict(list)
    for row, reference in enumerate(references):
        by_judge[judges.of(reference.citing)].append(row)
    batches = [
        (judge, rows[start : start + _BATCH]) for judge, rows in by_judge.items() for start in range(0, len(rows), _BATCH)
    ]
    for judge, rows in tracked(batches, what):
        linker = Linker.over(source, policy, judge=judge)
        links.update(zip(rows, linker.link([references[row] for row in rows]), strict=True))
    return [links[row] for row in range(len(references))]
