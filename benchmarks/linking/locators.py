"""Measure the lookup of works by locator: targets found, works proposed, and cost.

    python -m benchmarks.linking.locators [--works FILE --references FILE] [--copies 4] [--rounds 5] [--json FILE]

The queries are the protocol's (reflink.evaluation), identifiers not used; any member of the target's title group counts.
Then the works are repeated with other ids and with volumes exchanged among them, for a catalog ``--copies`` times as large:
this shows the candidates that a larger catalog proposes by chance. Times are processor time of one thread, the minimum of
``--rounds``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.machine import describe
from reflink.blocking.locators import work_places
from reflink.catalog import Catalog, Manifest
from reflink.catalog.mapped import MappedWorks
from reflink.catalog.works import Works
from reflink.catalog.writing import WorksWriter
from reflink.entities import Ids, Reference, Work
from reflink.evaluation.records import Query, read_queries, read_works, without_identifiers
from reflink.evaluation.worlds import Groups
from reflink.storage.hashtable import HashTableBuilder

_MILLION: Final = 1_000_000
#: Few enough references that all their works stay in the cache after one lookup.
_FEW: Final = 5000


def repeated(works: Sequence[Work], copies: int, seed: int = 1) -> Iterator[Work]:
    """Return the works, and ``copies`` - 1 repetitions with other ids, no identifiers, and volumes exchanged among them."""
    yield from works
    volumes = [work.volume for work in works]
    draw = Random(seed)
    for copy in range(1, copies):
        draw.shuffle(volumes)
        for work, volume in zip(works, volumes, strict=True):
            yield work.model_copy(update={"id": f"{work.id}~{copy}", "ids": Ids(), "volume": volume})


def written(works: Iterable[Work], folder: Path) -> MappedWorks:
    """Write the works as the base of a catalog."""
    with WorksWriter(folder) as writer:
        for work in works:
            writer.append(work)
    return MappedWorks.open(folder)


def seconds_of_table(works: Sequence[Work]) -> float:
    """Return the seconds that the table of locators adds to a build, per million works."""
    start = time.process_time()
    builder = HashTableBuilder(wide=True)
    for row, work in enumerate(works):
        for key in work_places(work):
            builder.add(key, row)
    builder.build()
    return (time.process_time() - start) / len(works) * _MILLION


def lookups(catalog: Catalog, references: Sequence[Reference]) -> float:
    """Return microseconds per reference."""
    start = time.process_time()
    for reference in references:
        catalog.places(reference)
    return (time.process_time() - start) / len(references) * _MILLION


def measure(base: MappedWorks, folder: Path, queries: Sequence[Query], groups: Groups, rounds: int) -> dict[str, float]:
    """Return the figures of recall and cost."""
    catalog = Catalog(Works(base), None, None, Manifest())
    references = [without_identifiers(query.reference) for query in queries]
    found = [catalog.places(reference) for reference in references]
    right = [not {*ids}.isdisjoint(groups.same(query.truth)) for ids, query in zip(found, queries, strict=True)]
    few = references[:_FEW]
    read, remembered = [], []
    for _ in range(rounds):
        base.forget()
        read.append(lookups(catalog, few))
        remembered.append(lookups(catalog, few))
    return {
        "works": len(base),
        "target found, %": 100 * sum(right) / len(queries),
        "anything found, %": 100 * sum(map(bool, found)) / len(queries),
        "works a query": sum(map(len, found)) / len(queries),
        "µs a reference, works read": min(read),
        "µs a reference, works remembered": min(remembered),
        "bytes a work": sum(path.stat().st_size for path in folder.glob("place_*")) / len(base),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = harness.parser(__doc__)
    harness.add_protocol(parser)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(arguments)
    listings, queries = list(read_works(args.works)), list(read_queries(args.references))
    groups, works = Groups.read(listings), [listing.work for listing in listings]
    results = []
    for copies in sorted({1, args.copies}):
        with tempfile.TemporaryDirectory() as folder:
            base = written(repeated(works, copies), Path(folder))
            results.append(measure(base, Path(folder), queries, groups, args.rounds))
    results[0]["s a million works, the table"] = seconds_of_table(works)
    table = Table("", *(f"{result['works']:,.0f} works" for result in results))
    for name in results[0]:
        if name != "works":
            table.add_row(name, *(f"{result[name]:.2f}" if name in result else "" for result in results))
    Console().print(f"{len(queries):,} queries; {describe()}", table, sep="\n")
    harness.save(args.json, {"queries": len(queries), "results": results})


if __name__ == "__main__":
    main()
