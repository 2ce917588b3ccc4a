"""Measure the two title baselines on real references: TitleMatch, and S2ORC's rule of s > 0.8 on the trigrams of titles.

    python -m benchmarks.linking.titles [--works FILE --references FILE] [--batch 64] [--seed 1] [--large 5270000]
                                [--json FILE]

The protocol's closed and open worlds (reflink.evaluation), identifiers not used; a link to any member of the target's title
group is right. Queries without a title count and get no link. TitleMatch is measured twice: with ties resolved to the smallest
id, and, as in the paper, at random; the expected result of random ties is computed too. Times are for one thread, a
reference's share of its batch: its text, the search, the choice. Intervals are Wilson's, 95%. ``--large`` also grows TitleMatch
to that many recombined titles (benchmarks/lexical/recombined.py).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.lexical.recombined import Recipe
from benchmarks.machine import describe
from reflink.entities import Link, Unresolved, Work
from reflink.evaluation.measure import Outcome, figures, interval
from reflink.evaluation.records import Query, read_queries, read_works, without_identifiers
from reflink.evaluation.worlds import Groups, World
from reflink.lexical import LexicalIndex
from reflink.lexical.titles import S2ORC, TitleMatch, s2orc
from reflink.text import reference_text, work_text

WORLDS: Final[tuple[World, ...]] = ("closed", "open")
#: Error of TitleMatch in percent on the paper's own data.
PAPER: Final = 27.07

#: The answer of a rule: for each title a work's id and its score, or None.
Rule = Callable[[Sequence[str]], Sequence[tuple[str, float] | None]]


def rules(titles: TitleMatch, index: LexicalIndex, seed: int) -> dict[str, tuple[Rule, Unresolved]]:
    """Return all measured rules by name, with the reason that each gives for no link."""
    draw = Random(seed)

    def scored(ids: Sequence[str | None]) -> list[tuple[str, float] | None]:
        return [None if id_ is None else (id_, 1.0) for id_ in ids]

    return {
        "TitleMatch": (lambda texts: scored(titles.link(texts)), "no-candidate"),
        "TitleMatch, random ties": (lambda texts: scored(titles.link(texts, draw)), "no-candidate"),
        f"S2ORC, s > {S2ORC}": (lambda texts: s2orc(index, texts), "below-threshold"),
    }


def measure(
    rule: Rule, reason: Unresolved, queries: Sequence[Query], groups: Groups, world: World, batch: int
) -> dict[str, Any]:
    """Return the figures of one rule in one world, and its time per reference."""
    rule(["a title that warms up"])
    found: list[tuple[str, float] | None] = []
    texts: list[str] = []
    began = time.perf_counter()
    for first in range(0, len(queries), batch):
        part = [reference_text(query.reference, "T", lexical=True) for query in queries[first : first + batch]]
        found += rule(part)
        texts += part
    seconds = time.perf_counter() - began
    outcomes = [
        outcome_of(query, hit, reason if text else "empty", groups, world)
        for query, text, hit in zip(queries, texts, found, strict=True)
    ]
    return {**figures(outcomes, closed=world == "closed"), "microseconds": seconds / len(queries) * 1e6}


def outcome_of(query: Query, hit: tuple[str, float] | None, reason: Unresolved, groups: Groups, world: World) -> Outcome:
    """Return the outcome of one query; ``reason``: why it has no link, if it has none."""
    here = not groups.is_absent(query.truth, world)
    reference = query.reference
    if hit is None:
        link = Link(reference=reference.id, citing=reference.citing, cited=None, unresolved=reason)
    else:
        link = Link(reference=reference.id, citing=reference.citing, cited=hit[0], method="lexical", score=hit[1])
    right = here and link.cited is not None and link.cited in groups.same(query.truth)
    return Outcome(reference.id, query.kind, here, right, link)


def ties(titles: TitleMatch, queries: Sequence[Query], groups: Groups) -> dict[str, Any]:
    """Return how often several works have the title, and the closed world's expected error with random ties."""
    found = titles.search([reference_text(query.reference, "T", lexical=True) for query in queries])
    works = [{groups.of[id_] for id_ in ids} for ids in found]
    shares = [
        len(set(ids) & set(groups.same(query.truth))) / len(ids) for query, ids in zip(queries, found, strict=True) if ids
    ]
    return {
        "matched": len(shares),
        "several_ids": sum(len(ids) > 1 for ids in found),
        "several_works": sum(len(each) > 1 for each in works),
        "target_among_them": sum(share > 0 for share in shares),
        "random_error": 1 - sum(shares) / len(queries),
        "random_error_interval": interval(len(queries) - round(sum(shares)), len(queries)),
    }


def large(works: Sequence[Work], count: int, batch: int, seed: int) -> dict[str, Any]:
    """Grow TitleMatch to ``count`` recombined titles; return bytes, and µs to add a title (in chunks, singly) and to link."""
    titles, sample, seconds, size = TitleMatch(), list[str](), 0.0, 0
    for texts in Recipe(works).texts(count, "T", seed):
        ids = [f"made:{number:09d}" for number in range(size, size + len(texts))]
        began = time.perf_counter()
        titles.add(ids, texts)
        seconds += time.perf_counter() - began
        sample += texts[:20]
        size += len(texts)
    alone = []
    for number, text in enumerate(sample):
        began = time.perf_counter()
        titles.add([f"alone:{number:09d}"], [text])
        alone.append(time.perf_counter() - began)
    began = time.perf_counter()
    for first in range(0, len(sample), batch):
        titles.link(sample[first : first + batch])
    linked = time.perf_counter() - began
    return {
        "titles": size, "bytes_a_title": titles.nbytes / len(titles), "add_us": seconds / size * 1e6,
        "add_alone_us": statistics.median(alone) * 1e6, "add_alone_worst_us": max(alone) * 1e6,
        "link_us": linked / len(sample) * 1e6,
    }  # fmt: skip


def percent(share: float, bounds: Sequence[float]) -> str:
    """Format a share and its interval."""
    return f"{share:.2%} [{bounds[0]:.2%}, {bounds[1]:.2%}]"


def show(console: Console, measured: Mapping[str, Mapping[str, Any]], world: World) -> None:
    """Print one world: all queries, and each kind of query."""
    shown = ("error",) if world == "closed" else ("precision", "recall", "false_link")
    table = Table("rule", title=f"{world} world")
    for name in ("queries", "n", *shown, "us a reference"):
        table.add_column(name, justify="right")
    for rule, worlds in measured.items():
        whole = worlds[world]
        for kind, part in {"all": whole, **whole["kinds"]}.items():
            cells = [percent(part[name], part[f"{name}_interval"]) for name in shown]
            spent = f"{whole['microseconds']:,.1f}" if kind == "all" else ""
            table.add_row(rule if kind == "all" else "", kind, f"{part['queries']:,}", *cells, spent)
    console.print(table)


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    harness.add_protocol(parser)
    parser.add_argument("--batch", type=int, default=64, help="references linked at once")
    parser.add_argument("--seed", type=int, default=1, help="of the random ties")
    parser.add_argument("--large", type=int, default=0, metavar="TITLES", help="grow TitleMatch to this many titles")
    arguments = parser.parse_args(argv)

    listings = list(read_works(arguments.works))
    queries = [
        Query(without_identifiers(query.reference), query.truth, query.kind) for query in read_queries(arguments.references)
    ]
    groups = Groups.read(listings)
    ids = [listing.work.id for listing in listings]
    texts = [work_text(listing.work, "T", lexical=True) for listing in listings]
    titles, index = TitleMatch(), LexicalIndex("T")
    began = time.perf_counter()
    titles.add(ids, texts)
    built = time.perf_counter() - began
    index.add(ids, texts)
    index.settle()

    untitled = sum(not reference_text(query.reference, "T", lexical=True) for query in queries)
    about = {
        "machine": describe(), "works": len(ids), "queries": len(queries), "queries_without_title": untitled,
        "titles_added_s": built, "batch": arguments.batch, "seed": arguments.seed,
    }  # fmt: skip
    console = Console(width=160)
    console.print(f"{describe()}\n{len(ids):,} works, {len(queries):,} queries, {untitled} of them without a title")
    measured: dict[str, dict[str, Any]] = {name: {} for name in rules(titles, index, arguments.seed)}
    about["ties"] = ties(titles, queries, groups)
    for world in WORLDS:  # the open world drops works of the closed one
        if world == "open":
            titles.remove(list(groups.removed()))
            index.remove(list(groups.removed()))
            index.settle()
        for name, (rule, reason) in rules(titles, index, arguments.seed).items():
            measured[name][world] = measure(rule, reason, queries, groups, world, arguments.batch)
        show(console, measured, world)
    tied = about["ties"]
    console.print(
        f"closed world: {tied['matched']:,} queries have the title of a work, {tied['several_ids']:,} that of several ids, "
        f"{tied['several_works']:,} that of several works;\nTitleMatch with random ties, on average: error "
        f"{percent(tied['random_error'], tied['random_error_interval'])}; the paper, on its own data: {PAPER}%"
    )
    if arguments.large:
        grown = about["large"] = large([each.work for each in listings], arguments.large, arguments.batch, arguments.seed)
        console.print(
            f"TitleMatch of {grown['titles']:,} made titles: {grown['bytes_a_title']:.0f} bytes a title; us to add one of many "
            f"{grown['add_us']:.1f}, one alone {grown['add_alone_us']:,.0f} (worst {grown['add_alone_worst_us']:,.0f}), "
            f"to link one {grown['link_us']:.1f}"
        )
    harness.save(arguments.json, {"about": about, **measured})
    return 0


if __name__ == "__main__":
    sys.exit(main())
