"""Measure the joining of records of one article without identifiers (reflink.grouping, reflink.merging), beside splink.

    python -m benchmarks.merging [--set NAME …] [--data DIR] [--splink PYTHON] [--json FILE] [--errors N]

dblp_acm          4,910 records of database papers in two catalogs, with the mapping of one to the other
fuzzycat          232 labelled pairs of fatcat's records; only these pairs are compared
citations         7,959 citations with fields of works that several papers cite, as in Cora; the verdict was trained on
                  part of them
title_group       265,158 works; one article are those with one title_group. Its labels compare titles: letters and replies with
                  the title of their article count as the article, duplicates with a typing error in the title do not
title_group_ids   the same with identifiers, as in a catalog: works with two DOIs or two PMIDs are joined only if their places
                  agree
pubmed            the same works and PubMed's 50,788 records without identifiers; also one article: records with one PMID or DOI

Records are joined from a probability on (0.5, and 0.95 of `Rules`). ``precision``, ``recall`` and ``F1`` count pairs of joined
records; ``whole`` is the share of the truth's clusters that are found exactly. --splink names a Python with splink and pandas:
splink runs with the comparisons of its guide (default) and with comparisons and blocking keys for records of articles (tuned),
each at 0.95 and at the best of twelve thresholds, which is chosen by the labels. --errors prints N joined and N missed pairs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.merging import peer
from benchmarks.merging.joining import joined, judged
from benchmarks.merging.scores import Scores, scores, wrong
from benchmarks.merging.sets import SETS, Labelled
from reflink.entities import Work
from tests.data import find_shared_data

LEVELS: Final = (0.5, 0.95)


@dataclass(frozen=True, slots=True)
class Row:
    """One result. ``seconds``: of comparing and joining, without reading the records."""

    set: str
    method: str
    threshold: float
    scores: Scores
    seconds: float


def measured(labelled: Labelled, errors: int) -> Iterator[Row]:
    """Yield reflink's rows; print errors at the first level."""
    began = time.perf_counter()
    probabilities = judged(labelled)
    compared = time.perf_counter() - began
    for least in LEVELS:
        began = time.perf_counter()
        # fuzzycat's pairs are labelled one by one: joining them to clusters would decide pairs by others.
        found = (
            joined(labelled.works, probabilities, least)
            if labelled.known is None
            else [pair for pair in labelled.known if probabilities[pair] >= least]
        )
        yield Row(labelled.name, "reflink", least, scores(labelled, found), compared + time.perf_counter() - began)
        if errors and least == LEVELS[0]:
            for name, pairs in zip(("joined", "missed"), wrong(labelled, found), strict=True):
                print(f"{labelled.name}: {len(pairs)} pairs wrongly {name}")
                for a, b in pairs[:: max(1, len(pairs) // errors)][:errors]:
                    print(
                        f"  {probabilities.get((a, b), -1):.3f}\n    {_line(labelled.works[a])}\n    {_line(labelled.works[b])}"
                    )


def beside(labelled: Labelled, python: Path) -> Iterator[Row]:
    """Yield splink's rows."""
    for kind in ("default", "tuned"):
        probabilities, seconds = peer.run(python, labelled, kind)
        at = LEVELS[1]
        yield Row(labelled.name, f"splink {kind}", at, scores(labelled, peer.clusters(probabilities, at)), seconds)
        best, figures = peer.best(labelled, probabilities)
        yield Row(labelled.name, f"splink {kind}, best", best, figures, seconds)


def _line(work: Work) -> str:
    place = f"{work.year} {work.volume}:{work.fpage}"
    return f"{work.id} | {work.title} | {', '.join(work.authors[:4])} | {work.venue} {place} {work.type or ''}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    parser.add_argument("--set", action="append", choices=list(SETS), help="only this set; repeatable")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with works.jsonl.gz, pubmed/ and benchmarks/")
    parser.add_argument("--splink", type=Path, metavar="PYTHON", help="a Python with splink and pandas")
    parser.add_argument("--errors", type=int, default=0, metavar="N", help="print N errors of each kind")
    arguments = parser.parse_args(argv)
    data = arguments.data or find_shared_data()
    if data is None:
        print("no data: name the folder with works.jsonl.gz with --data, or REFLINK_SHARED_DATA", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name in arguments.set or SETS:
        labelled = SETS[name](data)
        rows += measured(labelled, arguments.errors)
        # Clusters of other pairs do not compare with the labelled pairs, and identifiers are no field of splink's.
        if arguments.splink and labelled.known is None and name != "title_group_ids":
            rows += beside(labelled, arguments.splink)
    table = Table("set", "method", "from", "pairs", "precision", "recall", "F1", "95%", "whole", "of", "s")
    for row in rows:
        figures = row.scores
        shares = (f"{100 * share:.2f}" for share in (figures.precision, figures.recall, figures.f1))
        low, high = figures.f1_interval
        whole = f"{100 * figures.whole / figures.clusters:.2f}"
        table.add_row(
            row.set, row.method, f"{row.threshold:g}", f"{figures.same:,}", *shares, f"{100 * low:.1f}-{100 * high:.1f}", whole,
            f"{figures.clusters:,}", f"{row.seconds:.1f}",
        )  # fmt: skip
    Console(width=160).print(table)
    harness.save(
        arguments.json,
        {
            "rows": [
                {**asdict(row), "precision": row.scores.precision, "recall": row.scores.recall, "f1": row.scores.f1}
                for row in rows
            ]
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
