"""Measure the Siamese network of papers/001: its Table 5.6 on other data, and beside the trigrams and the verdict.

    python -m reflink.evaluation.rivals.siamese.training --catalog W --references R --out FOLDER
    python -m benchmarks.siamese --model FOLDER [--works W --references R] [--shares any,most] [--raw-only]
        [--json FILE]

The queries come from citing papers on which no network was trained. All systems choose among the same candidates: the works
that share an author with the citation, of its year or else of the three years before. In the closed world the figure is the
accuracy: queries whose best candidate is the target, of all queries; their target is in the catalog, but not always among the
candidates. In the open world the networks and the trigrams link from the score with the highest F1 on the validation papers,
the verdict from a probability of 0.5. Which candidates count is chosen by the accuracy on the validation papers, too. Times
are processor time of one thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.siamese.measuring import WithCandidates, accuracy, answers, best_threshold, open_row, reach, with_candidates
from benchmarks.siamese.systems import System, Trigrams, Verdict
from reflink.entities import Work
from reflink.evaluation.records import KINDS, Query, read_works
from reflink.evaluation.rivals.rule import year_of
from reflink.evaluation.rivals.siamese.candidates import SHARES, AuthorIndex, Share
from reflink.evaluation.rivals.siamese.pairs import is_in_first_half, part_of, read_known
from reflink.evaluation.rivals.siamese.rival import Siamese
from reflink.evaluation.rivals.siamese.texts import extracted_names
from reflink.evaluation.rivals.siamese.training import ABOUT, VERSIONS
from reflink.evaluation.worlds import Groups, World
from reflink.journals.building import learned
from reflink.verdict.judge import warm

#: Table 5.6 of the paper, in percent; "half" stands beside the network trained on hep-th.
PUBLISHED: Final = {"kept": 93.41, "removed": 94.97, "several": 93.16, "half": 94.09}
#: The probability from which the verdict links (`reflink.linking.policy.Policy`).
ACCEPT: Final = 0.5
_TIMED: Final = 200
_WORLDS: Final[tuple[World, ...]] = ("closed", "open")


class Parts:
    """The queries of the validation and of the test papers, with their candidates in both worlds under each rule."""

    def __init__(
        self, known: Sequence[Query], index: AuthorIndex, groups: Groups, shares: Sequence[Share], *, raw_only: bool
    ) -> None:
        self.groups, self.shares = groups, shares
        self._of: dict[tuple[str, World, Share], WithCandidates] = {}
        for part in ("validation", "test"):
            queries = [query for query in known if query.kind in KINDS and part_of(query.reference.citing) == part]
            for world in _WORLDS:
                for share in shares:
                    self._of[part, world, share] = with_candidates(queries, index, groups, world, share, raw_only=raw_only)

    def of(self, part: str, world: World, share: Share) -> WithCandidates:
        """Return the queries of a part in a world."""
        return self._of[part, world, share]

    def best_share(self, system: System) -> tuple[Share, dict[str, float]]:
        """Return the rule with the highest accuracy on the validation papers, and both accuracies."""
        found: dict[Share, float] = {}
        for share in self.shares:
            of = self.of("validation", "closed", share)
            found[share] = accuracy(of, answers(system, of), self.groups)["accuracy"]
        return max(found, key=lambda share: found[share]), {str(share): value for share, value in found.items()}


def measure_versions(networks: Mapping[str, Siamese], parts: Parts, works: Mapping[str, Work]) -> dict[str, Any]:
    """Return a row of Table 5.6 for each network; accuracies also on the targets in journals of the second half."""
    rows: dict[str, Any] = {}
    for name, network in networks.items():
        share, validation = parts.best_share(network)
        of = parts.of("test", "closed", share)
        second = of.chosen([
            row for row, query in enumerate(of.queries)
            if query.truth in works and not is_in_first_half(works[query.truth].venue)
        ])  # fmt: skip
        rows[name] = {
            "share": share, "validation": validation, **accuracy(of, answers(network, of), parts.groups),
            "second_half": accuracy(second, answers(network, second), parts.groups), "published": PUBLISHED[name],
        }  # fmt: skip
    return rows


def measure_systems(systems: Mapping[str, System], parts: Parts) -> dict[str, Any]:
    """Return accuracy, and figures of the open world, of each system on the candidates that suit it best in validation."""
    rows: dict[str, Any] = {}
    for name, system in systems.items():
        share, validation = parts.best_share(system)
        closed, validated, tested = (
            parts.of(*key, share) for key in (("test", "closed"), ("validation", "open"), ("test", "open"))
        )
        threshold = best_threshold(validated, answers(system, validated), parts.groups)
        found = answers(system, tested)
        rows[name] = {
            "share": share, "validation": validation, "closed": accuracy(closed, answers(system, closed), parts.groups),
            "open": open_row(tested, found, parts.groups, ACCEPT if name == "verdict" else threshold),
            "microseconds": microseconds(system, closed),
        }  # fmt: skip
    return rows


def microseconds(system: System, of: WithCandidates) -> float:
    """Return the time of choosing, for a reference, among candidates that were compared before; the search is not included."""
    rows = range(0, len(of.queries), max(1, len(of.queries) // _TIMED))
    part = of.chosen(rows)
    answers(system, part)
    began = time.process_time()
    answers(system, part)
    return round((time.process_time() - began) * 1e6 / len(part.queries), 1)


def search_microseconds(index: AuthorIndex, of: WithCandidates, share: Share) -> float:
    """Return the time of the search for a reference's candidates, with the extraction of its authors and year."""
    part = of.chosen(range(0, len(of.queries), max(1, len(of.queries) // _TIMED)))
    began = time.process_time()
    for each in part.references:
        index.candidates(extracted_names(each), year_of(each), share)
    return round((time.process_time() - began) * 1e6 / len(part.references), 1)


def work_microseconds(folder: Path, works: Mapping[str, Work], count: int = 2000) -> float:
    """Return the time of encoding a work's metadata."""
    network = Siamese.read(folder, works)
    began = time.process_time()
    network.encode_works(list(works)[:: max(1, len(works) // count)][:count])
    return round((time.process_time() - began) * 1e6 / count, 1)


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    harness.add_protocol(parser)
    parser.add_argument("--model", type=Path, required=True, metavar="FOLDER", help="of the training, with a folder a version")
    parser.add_argument("--shares", default=",".join(SHARES), help="rules of the candidates to try (default: %(default)s)")
    parser.add_argument("--raw-only", action="store_true", help="without tagged fields: authors and year come from the taggers")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    listings = list(read_works(args.works))
    works, groups = {listing.work.id: listing.work for listing in listings}, Groups.read(listings)
    folders = {name: args.model / name for name in VERSIONS if (args.model / name / ABOUT).exists()}
    if not folders:
        parser.error(f"no version of the network in {args.model}: expected {', '.join(VERSIONS)}")
    networks = {name: Siamese.read(folder, works) for name, folder in folders.items()}
    shares = [share for share in SHARES if share in args.shares.split(",")]
    index = AuthorIndex(works.values())
    parts = Parts(list(read_known(args.references)), index, groups, shares, raw_only=args.raw_only)
    warm()
    versions = measure_versions(networks, parts, works)
    best = max(versions, key=lambda name: max(versions[name]["validation"].values()))
    systems: dict[str, System] = {
        best: networks[best], "trigrams": Trigrams(works), "verdict": Verdict(works, learned(list(works.values()))),
    }  # fmt: skip
    figures = {
        "versions": versions, "systems": measure_systems(systems, parts),
        "reach": {
            f"{world}, {share}": reach(parts.of("test", world, share), groups) for world in _WORLDS for share in shares
        },
        "search_microseconds": {
            share: search_microseconds(index, parts.of("test", "closed", share), share) for share in shares
        },
        "work_microseconds": work_microseconds(folders[best], works), "raw_only": args.raw_only,
    }  # fmt: skip
    show(figures)
    harness.save(args.json, figures)
    return 0


def show(figures: Mapping[str, Any]) -> None:
    """Print the figures as Markdown tables."""
    console = Console(width=160)

    def percent(value: float) -> str:
        return f"{100 * value:.2f}"

    def within(row: Mapping[str, Any], name: str, interval: str) -> str:
        return f"{percent(row[name])} ({percent(row[interval][0])} to {percent(row[interval][1])})"

    table = Table("version", "accuracy, %", "second half of the journals", "paper", "candidates")
    for name, row in figures["versions"].items():
        second = row["second_half"]
        table.add_row(
            name, within(row, "accuracy", "interval"), f"{within(second, 'accuracy', 'interval')} of {second['queries']}",
            f"{row['published']}", row["share"],
        )  # fmt: skip
    console.print(table)
    table = Table("system", "closed: accuracy, %", "open: precision", "recall", "false links", "threshold", "candidates", "us")
    for name, row in figures["systems"].items():
        of = row["open"]
        table.add_row(
            name, within(row["closed"], "accuracy", "interval"),
            *(within(of, share, f"{share}_interval") for share in ("precision", "recall", "false_link")),
            f"{of['threshold']:.4f}", row["share"], f"{row['microseconds']}",
        )  # fmt: skip
    console.print(table)
    for name in ("reach", "search_microseconds", "work_microseconds"):
        console.print(f"{name}: {figures[name]}")


if __name__ == "__main__":
    sys.exit(main())
