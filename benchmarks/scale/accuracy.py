"""Measure a linker's accuracy on a large catalog, beside the same on its real works alone, or native beside a search engine.

    python -m benchmarks.scale.accuracy --catalog works.jsonl.gz [--made FILE] [--works FILE --references FILE]
                                        [--snapshots DIR] [--engine] [--json FILE]

benchmarks.scale.works writes the catalog and its side file. The protocol's closed and open worlds (reflink.evaluation),
identifiers not used: the open world lacks half of the real works, and no added one. No added work is a right answer. Each
reference is judged by a verdict that was not trained on its citing paper.

First table of each world: precision, recall, F1 and false links, with 95% intervals. Second table, by kind of added work: its
number in the catalog; ``near``, the queries whose truth such a work was made from, and ``absent``, those whose target is
absent; wrong links (target present) and false links (target absent) to such works; of both ``own``, those to a work made from
the query's own truth. Then the queries that were right among the real works and no longer are, by what the linker returns now;
the reverse; and the new false links.

The linker measured here is reflink's own over a snapshot without vectors: identifiers, locators and trigrams. With ``--engine``
it is compared with the one over an OpenSearch node with the same catalog, which the command starts. Another linker is a `Side`:
a function from references to links, and one that removes works.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import harness
from benchmarks.machine import describe
from benchmarks.scale.searched import engine
from benchmarks.scale.works import side_file
from reflink.catalog import Catalog
from reflink.catalog.build import build
from reflink.entities import Link, Reference, Work
from reflink.evaluation.contents import contents_of
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.linking import link_held_out
from reflink.evaluation.measure import Outcome, open_figures
from reflink.evaluation.outcomes import best_of
from reflink.evaluation.records import Query, lines, read_queries, read_works, without_identifiers
from reflink.evaluation.worlds import Groups, Setting, settings_of
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from reflink.terminal import Terminal

REAL: Final = "real"
_SHARES: Final = ("precision", "recall", "f1", "false_link")

#: Returns a link for each reference, in order.
Links = Callable[[Sequence[Reference]], Sequence[Link]]


class Side(Protocol):
    """A linker under test, over a catalog of its own."""

    def link(self, references: Sequence[Reference]) -> Sequence[Link]:
        """Return a link for each reference, in order. References have no identifiers."""

    def remove(self, ids: Collection[str]) -> object:
        """Remove works by id from the catalog, before the next call of ``link``."""


class Native:
    """Reflink's linker over a catalog in this process."""

    def __init__(self, catalog: Catalog, policy: Policy | None = None, judges: HeldOut | None = None) -> None:
        self.catalog, self.policy, self.judges = catalog, policy or Policy(), judges or HeldOut.shipped()

    def link(self, references: Sequence[Reference]) -> list[Link]:
        return link_held_out(
            references, NativeCandidates(self.catalog), self.policy, self.judges, f"linking, {len(self.catalog):,} works"
        )

    def remove(self, ids: Collection[str]) -> None:
        self.catalog.remove(ids)


@dataclass(frozen=True)
class Origin:
    """How an added work was made: its kind, and the real works it was made from."""

    kind: str
    of: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """The protocol's input: queries without identifiers, the groups of the real works, and these works."""

    queries: Sequence[Query]
    groups: Groups
    works: Sequence[Work]

    @classmethod
    def read(cls, works: Path, references: Path) -> Task:
        """Read the protocol's files. Raises BadRecord."""
        listings = list(read_works(works))
        queries = [Query(without_identifiers(query.reference), query.truth, query.kind) for query in read_queries(references)]
        return cls(queries, Groups.read(listings), [listing.work for listing in listings])


def read_origins(path: Path) -> dict[str, Origin]:
    """Return the origin of each added work by its id, from a side file. Raises BadRecord."""
    return {line["id"]: Origin(line["kind"], tuple(line["of"])) for _, line in lines(path)}


def in_worlds(side: Side, task: Task) -> Iterator[tuple[Setting, list[Outcome]]]:
    """Yield the outcomes of all queries in the closed and in the open world."""
    known = Catalog.empty(lexical_mode=None)
    known.add(task.works)
    for setting in settings_of(("closed", "open")):
        lacking = task.groups.lacking(setting)
        if lacking:
            side.remove(lacking)
            known.remove(lacking)
        yield setting, outcomes(side.link, task, setting, known.canonical)


def outcomes(link: Links, task: Task, setting: Setting, canonical: Callable[[str], str]) -> list[Outcome]:
    """Link all queries in one world and compare with the truth. ``canonical``: the one id of works that share identifiers."""
    found = []
    links = link([query.reference for query in task.queries])
    for query, each in zip(task.queries, links, strict=True):
        here = not task.groups.is_absent(query.truth, setting.world, setting.present)
        same = {canonical(id_) for id_ in task.groups.same(query.truth)}
        chosen = best_of(each)
        best = here and chosen is not None and canonical(chosen) in same
        right = best and each.cited is not None
        reference = query.reference
        found.append(
            Outcome(reference.id, query.kind, here, right, each, best, contents=contents_of(reference), truth=query.truth)
        )
    return found


def figures(found: Sequence[Outcome]) -> dict[str, Any]:
    """Return precision, recall, F1 and false links of all queries and by kind of query, for either world."""
    kinds = sorted({each.kind for each in found})
    return {
        **open_figures(found),
        "kinds": {kind: open_figures([each for each in found if each.kind == kind]) for kind in kinds},
    }


def by_kind(found: Sequence[Outcome], origins: Mapping[str, Origin], groups: Groups) -> dict[str, dict[str, int]]:
    """Return by kind of work, real ones first, the numbers of the second table of the module's docstring."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    beside: dict[str, set[str]] = defaultdict(set)  # group -> kinds of works made from it
    for origin in origins.values():
        counts[origin.kind]["works"] += 1
        if len(origin.of) == 1:
            beside[groups.of[origin.of[0]]].add(origin.kind)
    for outcome in found:
        group = groups.of.get(outcome.truth, outcome.truth)
        for kind in beside[group]:
            counts[kind]["near"] += 1
            counts[kind]["absent"] += not outcome.present
        if outcome.error not in ("wrong", "false"):
            continue
        origin_of = origins.get(outcome.link.cited or "")
        to = counts[origin_of.kind if origin_of else REAL]
        to[outcome.error] += 1
        to["own"] += origin_of is not None and group in (groups.of[id_] for id_ in origin_of.of)
    columns = ("works", "near", "absent", "wrong", "false", "own")
    order = sorted(counts, key=lambda kind: (kind != REAL, kind))
    return {kind: {name: counts[kind][name] for name in columns} for kind in order}


def moved(before: Sequence[Outcome], after: Sequence[Outcome], origins: Mapping[str, Origin]) -> dict[str, dict[str, int]]:
    """Compare the same queries' outcomes in two catalogs.

    ``lost``: right before and not after, by what is returned now: the kind of the linked work, or the reason for no link.
    ``gained``: right after and not before, by what was returned. ``worse``: no link before and a false one after, by kind.
    """

    def what(outcome: Outcome) -> str:
        if outcome.link.cited is None:
            return outcome.link.unresolved or "none"
        return origins[outcome.link.cited].kind if outcome.link.cited in origins else REAL

    lost, gained, worse = Counter[str](), Counter[str](), Counter[str]()
    for old, new in zip(before, after, strict=True):
        lost.update([what(new)] if old.right and not new.right else ())
        gained.update([what(old)] if new.right and not old.right else ())
        worse.update([what(new)] if new.error == "false" and old.error is None else ())
    return {"lost": dict(lost.most_common()), "gained": dict(gained.most_common()), "worse": dict(worse.most_common())}


def compare(
    first: Side, second: Side, task: Task, origins: Mapping[str, Origin], names: tuple[str, str] = ("real", "large")
) -> dict[str, Any]:
    """Measure both sides in both worlds; return the figures by world; in each, the name of a side maps to its figures."""
    measured: dict[str, Any] = {}
    for (setting, before), (_, after) in zip(in_worlds(first, task), in_worlds(second, task), strict=True):
        measured[setting.name] = {
            names[0]: figures(before), names[1]: figures(after), "by_kind": by_kind(after, origins, task.groups),
            **moved(before, after, origins),
        }  # fmt: skip
    return measured


def snapshot(works: Path, folder: Path) -> Catalog:
    """Open the snapshot in ``folder``; if it is missing, build it from ``works`` without vectors.

    Raises SnapshotError and BadRecord.
    """
    if not folder.exists():
        with Progress(console=Terminal(stderr=True)) as progress:
            tasks = {}

            def show(step: str, done: int, total: int) -> None:
                if step not in tasks:
                    tasks[step] = progress.add_task(f"{folder.name}: {step}", total=total)
                progress.update(tasks[step], completed=done)

            build(works, folder, encoder=None, progress=show)
    return Catalog.open(folder)


def _stamp(path: Path) -> str:
    """Return a name for the snapshot of a file, another one when the file has changed."""
    about = path.stat()
    return f"{path.name.partition('.')[0]}.{about.st_size:x}.{about.st_mtime_ns:x}"


def show(console: Console, measured: Mapping[str, Any], names: tuple[str, str] = ("real", "large")) -> None:
    """Print the tables of each world."""
    for world, found in measured.items():
        table = Table("catalog", "queries", "n", "links", *_SHARES, title=f"{world} world")
        for catalog in names:
            for kind, part in {"all": found[catalog], **found[catalog]["kinds"]}.items():
                cells = (
                    f"{part[name]:.2%} [{part[f'{name}_interval'][0]:.2%}, {part[f'{name}_interval'][1]:.2%}]"
                    for name in _SHARES
                )
                table.add_row(catalog, kind, f"{part['queries']:,}", f"{part['links']:,}", *cells)
        console.print(table)
        table = Table(
            "kind of work", "works", "near", "absent", "wrong", "false", "own", title=f"{world} world: where wrong links go"
        )
        for kind, counts in found["by_kind"].items():
            table.add_row(kind, *(f"{count:,}" for count in counts.values()))
        console.print(table)
        for name, what in (("lost", "right no longer"), ("gained", "right now"), ("worse", "false now")):
            parts = ", ".join(f"{kind} {count}" for kind, count in found[name].items())
            console.print(f"{what}: {sum(found[name].values())}{f' ({parts})' if parts else ''}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    harness.add_protocol(parser)
    parser.add_argument("--catalog", type=Path, required=True, help="a file of benchmarks.scale.works")
    parser.add_argument("--made", type=Path, metavar="FILE", help="its side file (default: CATALOG with .made)")
    parser.add_argument("--engine", action="store_true", help="compare with candidates from OpenSearch")
    parser.add_argument("--snapshots", type=Path, metavar="DIR", help="keep the snapshots of both catalogs here")
    arguments = parser.parse_args(argv)
    task = Task.read(arguments.works, arguments.references)
    origins = read_origins(arguments.made or side_file(arguments.catalog))
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.snapshots or Path(scratch)
        large = snapshot(arguments.catalog, folder / _stamp(arguments.catalog))
        about = {"works": len(task.works), "catalog": len(large), "queries": len(task.queries)}
        if arguments.engine:
            names = ("native", "engine")
            with engine(Catalog.open(folder / _stamp(arguments.catalog), trigrams=False)) as searched:
                measured = compare(Native(large), searched, task, origins, names)
        else:
            names = ("real", "large")
            real = snapshot(arguments.works, folder / _stamp(arguments.works))
            measured = compare(Native(real), Native(large), task, origins, names)
    console = Console(width=160)
    console.print(
        f"{describe()}\n{about['works']:,} real works, {about['catalog']:,} in the catalog, {about['queries']:,} queries"
    )
    show(console, measured, names)
    harness.save(arguments.json, {"about": about, **measured})
    return 0


if __name__ == "__main__":
    sys.exit(main())
