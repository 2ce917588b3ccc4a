"""A random sample of links, a person's verdict on each, and the accuracy that they show (papers 003 and 004, section 4).

A link's place in the draw is a hash of its reference and the seed: the same links give the same sample in any order, and a
larger size extends a sample. The file of verdicts has a JSON line for each, identifiers and no texts::

    {"reference": "doi:10.1/a#B2", "cited": "doi:10.1/b", "verdict": "right", "date": "2026-11-26"}
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from heapq import nsmallest
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from reflink.entities import Paper, Reference
from reflink.errors import BadRecord
from reflink.evaluation import verdict_files
from reflink.evaluation.proportions import jeffreys, wilson
from reflink.evaluation.records import lines, reference_of
from reflink.graph.rows import Row

#: Verdicts on a link and their meaning.
VERDICTS: Final[dict[str, str]] = {
    "right": "the reference cites the linked work",
    "wrong": "the reference cites another work",
    "unclear": "the records do not suffice to tell",
}
#: Confidence levels of the table, in the order of paper 003.
LEVELS: Final = (0.99, 0.95)


@dataclass(frozen=True, slots=True)
class LinkVerdict:
    """A person's verdict on one link. ``date``: ISO."""

    reference: str
    cited: str
    verdict: str
    date: str


def draw(rows: Iterable[Row], size: int, seed: int = 1) -> list[Row]:
    """Return ``size`` of the linked rows, drawn at random, or all if there are fewer."""
    return nsmallest(size, (row for row in rows if row.cited), key=lambda row: _place(row.reference, seed))


def draw_apart(rows: Iterable[Row], size: int, seed: int = 1) -> list[Row]:
    """Return ``size`` linked rows of different papers to different works, drawn at random: as in paper 004.

    Fewer if each other link is of a drawn paper or to a drawn work. ``rows``: those of a paper adjacent; all linked rows are
    held in memory.
    """
    papers = {paper: list(some) for paper, some in groupby((row for row in rows if row.cited), attrgetter("citing"))}
    found: dict[str, Row] = {}
    for paper in sorted(papers, key=lambda paper: _place(paper, seed)):
        if len(found) == size:
            break
        free = [row for row in papers[paper] if row.cited not in found]
        if free and (row := min(free, key=lambda row: _place(row.reference, seed))).cited:
            found[row.cited] = row
    return list(found.values())


def _place(name: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed} {name}".encode(), digest_size=16).digest()


def references_of(path: Path, ids: Iterable[str]) -> dict[str, Reference]:
    """Return the references with these ids from JSON lines, plain or gzip. Raises BadRecord with file and line.

    A line is a paper as ``reflink parse --json`` writes it, or a reference as in `reflink.evaluation.records`.
    """
    wanted, found = set(ids), dict[str, Reference]()
    for number, data in lines(path):
        try:
            found.update((each.id, each) for each in _references(data, wanted) if each.id in wanted)
        except BadRecord as error:
            raise BadRecord(f"{path.name}: line {number}: {error}") from None
    return found


def _references(data: dict[str, Any], wanted: set[str]) -> Iterator[Reference]:
    if "references" in data:
        yield from Paper.from_dict(data).references
    elif data.get("rid", data.get("id")) in wanted:
        yield reference_of(data)


def read(path: Path) -> list[LinkVerdict]:
    """Return the verdicts of a file in order, none if it does not exist. Raises BadRecord with file and line."""
    return verdict_files.parsed(path.read_bytes(), path.name, LinkVerdict, VERDICTS) if path.exists() else []


def write(path: Path, verdicts: Iterable[LinkVerdict]) -> None:
    """Replace the file atomically."""
    verdict_files.write(path, map(asdict, verdicts))


def accuracy(sample: Sequence[Row], verdicts: Iterable[LinkVerdict]) -> dict[str, Any]:
    """Return the accuracy of the sample's links that have a verdict, and its intervals by confidence level and method.

    ``accuracy``: right / (right + wrong). ``at_least``: the same if all unclear links were wrong. Of several
    verdicts on a link the last counts.
    """
    given = {(each.reference, each.cited): each.verdict for each in verdicts}
    counts = Counter(given.get((row.reference, row.cited or ""), "unread") for row in sample)
    right, decided = counts["right"], counts["right"] + counts["wrong"]
    read_ = decided + counts["unclear"]
    return {
        "links": len(sample),
        **{name: counts[name] for name in (*VERDICTS, "unread")},
        "accuracy": round(right / decided, 6) if decided else None,
        "at_least": round(right / read_, 6) if read_ else None,
        "intervals": [
            {"confidence": level, "method": name, "interval": of(right, decided, level), "at_least": of(right, read_, level)}
            for level in LEVELS
            for name, of in (("Wilson", wilson), ("Jeffreys", jeffreys))
        ],
    }
