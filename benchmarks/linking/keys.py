"""Measure the blocking keys by which late works find references: recall, references found in vain, and cost.

    reflink link .cache/jats --catalog .cache/catalogs/full --json > links.jsonl
    python -m benchmarks.linking.keys --articles .cache/jats --links links.jsonl [--works FILE --references FILE] [--json FILE]

Recall is the share of references that have a key in common with the work they cite: of the references that reflink links (all,
and those linked by no identifier), and of the labelled ones of ``--references``, identifiers withheld. The labelled ones are
also measured as if nothing in them were tagged, with and without the recogniser's fields. For each family of keys: the share
of references with a common key of it, and what recall and false matches would be without the family.

Then all works arrive, one by one, while the references of all articles wait. A work finds a reference in vain if it is neither
the work that the reference is linked to, nor the same by identifier or title group. The figures for ``--waiting`` references
extrapolate the growth from a quarter of the articles to all of them. The ledger filters the references that no identifier found
by the verdict (workers/ledger/change_filter.py); the figures show how many remain.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import orjson
from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.machine import describe
from reflink.blocking.keys import hashed, reference_keys, work_keys
from reflink.cli.inputs import read_papers
from reflink.entities import ID_KINDS, Paper, Reference, Work
from reflink.evaluation.records import Listing, Query, read_queries, read_works, without_identifiers
from reflink.evaluation.worlds import hidden
from reflink.linking.policy import Policy
from reflink.recognition import recognise
from reflink.verdict.batch import compare_all
from reflink.verdict.judge import shipped
from workers.config.settings import LedgerSettings
from workers.ledger.change_filter import ANY_JOURNAL

Record = TypeVar("Record", Reference, Work)

_MILLION: Final = 1_000_000
#: Number of records that are timed.
_TIMED: Final = 20_000
_SHARES: Final = (0.25, 0.5, 1.0)


def common(wanted: Iterable[str], offered: Iterable[str]) -> frozenset[str]:
    """Return the families of the common keys of a reference and a work."""
    return frozenset(map(family, {*wanted} & {*offered}))


def family(key: str) -> str:
    """Return the letter of a key's family; ``id`` for identifiers."""
    name = key.partition(":")[0]
    return "id" if name in ID_KINDS else name


def one_of(listings: Iterable[Listing]) -> dict[str, str]:
    """Return, for each work, a common name of all works that are the same by an identifier or the title group."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = name = parent[parent[name]]
        return name

    ids = []
    for listing in listings:
        ids.append(listing.work.id)
        for key in (*listing.work.ids.keys(), f"group:{listing.group}"):
            parent[root(key)] = root(listing.work.id)
    return {work_id: root(work_id) for work_id in ids}


def recall(found: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return the percentage with a common key: in any family, in each family, and without each family."""
    names = sorted(frozenset().union(*found))
    result = {"references": float(len(found)), "found, %": percent(map(bool, found))}
    for name in names:
        result[f"{name}, %"] = percent(name in families for families in found)
        result[f"without {name}, %"] = percent(bool(families - {name}) for families in found)
    return result


def percent(hits: Iterable[bool]) -> float:
    """Return the percentage of hits."""
    listed = list(hits)
    return 100 * sum(listed) / max(len(listed), 1)


def wakes(
    offered: Mapping[str, Sequence[str]],
    wanted: Sequence[Sequence[str]],
    truths: Sequence[str | None],
    one: Mapping[str, str],
    works: Mapping[str, Work],
    references: Sequence[Reference],
) -> dict[str, float]:
    """Count the references that each arriving work finds, by key and after the verdict."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for row, keys in enumerate(wanted):
        for key in keys:
            waiting[key].append(row)
    woken, false, only = [], [], Counter[str]()
    compared: list[tuple[str, int]] = []
    bound = 0  # found in vain by an identifier of the work, so never filtered by the verdict
    for work_id, keys in offered.items():
        hits: dict[int, set[str]] = defaultdict(set)
        for key in keys:
            for row in waiting.get(key, ()):
                hits[row].add(family(key))
        wrong = [families for row, families in hits.items() if truths[row] != one[work_id]]
        only.update(next(iter(families)) for families in wrong if len(families) == 1)
        compared += ((work_id, row) for row, families in hits.items() if "id" not in families)
        bound += sum(truths[row] != one[work_id] for row, families in hits.items() if "id" in families)
        woken.append(len(hits))
        false.append(len(wrong))
    passed = likely(compared, works, references)
    meant = [truths[row] == one[work_id] for work_id, row in compared]
    in_vain = bound + sum(kept and not right for kept, right in zip(passed, meant, strict=True))
    return {
        "verdict: meant ones that it lets pass, %": percent(kept for kept, right in zip(passed, meant, strict=True) if right),
        "verdict: in vain, mean": in_vain / len(offered),
        "waiting references": float(len(wanted)),
        "works that wake nothing, %": percent(count == 0 for count in woken),
        "works that wake nothing in vain, %": percent(count == 0 for count in false),
        "woken by a work, mean": float(np.mean(woken)),
        "in vain, mean": float(np.mean(false)),
        "in vain, median": float(np.median(false)),
        "in vain, p99": float(np.percentile(false, 99)),
        "in vain, most": float(max(false)),
    } | {f"in vain by {name} alone, mean": count / len(offered) for name, count in sorted(only.items())}


def likely(pairs: Sequence[tuple[str, int]], works: Mapping[str, Work], references: Sequence[Reference]) -> list[bool]:
    """Return for each pair whether the ledger re-evaluates the reference: its probability reaches ``wake_probability``."""
    if not pairs:
        return []
    rows = np.array([(at, at) for at in range(len(pairs))], np.int64)
    evidence = compare_all(
        [references[row] for _, row in pairs], [works[work_id] for work_id, _ in pairs], rows, journals=ANY_JOURNAL
    )
    floor = LedgerSettings.model_fields["wake_probability"].default
    return [bool(probability >= floor) for probability in shipped().probabilities(evidence, Policy().absent)]


def seconds(make: Callable[[Record], tuple[str, ...]], records: Sequence[Record], rounds: int) -> tuple[float, float]:
    """Return microseconds per record for the keys, and for their hashes."""
    keys, hashes = [], []
    for _ in range(rounds):
        start = time.process_time()
        made = [make(record) for record in records]
        middle = time.process_time()
        for of_one in made:
            for key in of_one:
                hashed(key)
        keys.append(middle - start)
        hashes.append(time.process_time() - middle)
    return min(keys) / len(records) * _MILLION, min(hashes) / len(records) * _MILLION


def labelled(queries: Sequence[Query], offered: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    """Return the recall of the labelled references, as tagged and as if untagged."""
    raw = [hidden(query.reference) for query in queries]
    ways = {
        "labelled, no identifiers": [without_identifiers(query.reference) for query in queries],
        "labelled, recognised": [
            reference.model_copy(update={"inferred": recognise(reference.raw_query)}) for reference in raw
        ],
        "labelled, as written": raw,
    }
    truths = [offered.get(query.truth, ()) for query in queries]
    return {
        name: recall([common(reference_keys(each), truth) for each, truth in zip(references, truths, strict=True)])
        for name, references in ways.items()
    }


def measure(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return all figures by subject."""
    listings = list(read_works(args.works))
    one = one_of(listings)
    works = [listing.work for listing in listings]
    offered = {work.id: work_keys(work) for work in works}
    papers = [paper for _, paper in read_papers([str(args.articles)]) if isinstance(paper, Paper)]
    references = [reference for paper in papers for reference in paper.references]
    links = {link["reference"]: link for link in map(orjson.loads, args.links.open("rb"))}
    wanted = [reference_keys(reference) for reference in references]
    found, found_without = [], []
    truths: list[str | None] = []
    for reference, keys in zip(references, wanted, strict=True):
        link = links.get(reference.id, {})
        cited = link.get("cited")
        truths.append(one.get(cited) if cited else None)
        if cited not in offered:
            continue
        families = common(keys, offered[cited])
        found.append(families)
        if link["method"] != "identifier":
            found_without.append(families)
    results = {"linked": recall(found), "linked, by no identifier": recall(found_without)}
    results |= labelled(list(read_queries(args.references)), offered)
    for share in _SHARES:
        # Sampled by article, because the references of one article are about one subject.
        few = {paper.id for paper in papers[:: round(1 / share)]}
        rows = [row for row, reference in enumerate(references) if reference.citing in few]
        results[f"wakes, {share:.0%} of the articles"] = wakes(
            offered,
            [wanted[row] for row in rows],
            [truths[row] for row in rows],
            one,
            {work.id: work for work in works},
            [references[row] for row in rows],
        )
    few_waiting, many_waiting = (results[f"wakes, {share:.0%} of the articles"] for share in (_SHARES[0], _SHARES[-1]))
    results["wakes, prolonged"] = {"waiting references": float(args.waiting)}
    for name in ("in vain, mean", "verdict: in vain, mean"):
        growth = (many_waiting[name] - few_waiting[name]) / (
            many_waiting["waiting references"] - few_waiting["waiting references"]
        )
        results["wakes, prolonged"][name] = many_waiting[name] + growth * (args.waiting - many_waiting["waiting references"])
    for name, (made, hashes), counts in (
        ("cost of a reference", seconds(reference_keys, references[:_TIMED], args.rounds), list(map(len, wanted))),
        ("cost of a work", seconds(work_keys, works[:_TIMED], args.rounds), list(map(len, offered.values()))),
    ):
        results[name] = {
            "µs, keys": made, "µs, hashes": hashes, "keys, mean": float(np.mean(counts)), "keys, most": float(max(counts)),
        }  # fmt: skip
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = harness.parser(__doc__)
    parser.add_argument("--articles", type=Path, required=True, help="a folder or archive of JATS articles")
    parser.add_argument("--links", type=Path, required=True, help="their links, as reflink link --json writes them")
    harness.add_protocol(parser)
    parser.add_argument("--waiting", type=int, default=5_000_000, help="references to prolong to (5,000,000)")
    parser.add_argument("--rounds", type=int, default=3, help="of the timing; the minimum counts (3)")
    args = parser.parse_args(arguments)
    results = measure(args)
    console = Console()
    console.print(describe())
    for what, figures in results.items():
        table = Table("", what)
        for name, value in figures.items():
            table.add_row(name, f"{value:,.0f}" if value >= 1000 else f"{value:.4g}")
        console.print(table)
    harness.save(args.json, {"results": results})


if __name__ == "__main__":
    main()
