"""Time the linker with candidates from its own indexes beside candidates from OpenSearch, on catalogs of several sizes.

    python -m benchmarks.scale.speed --catalog works.jsonl.gz [--sizes 265158,1000000,5000000] [--batch 64]
                                     [--batches 20] [--rounds 3] [--keep DIR] [--json FILE] [--plot FILE]

The catalog is a file of benchmarks.scale.works, of which the first works are used. Each batch of references goes through both
steps, as through linker and fallback, in one process; both sides take turns. Native: the model, exact vectors and exact
trigrams. The vectors of works are random, as encoding millions of works takes days on a CPU; the time of a search does not
depend on them. Their candidates are wrong, so more references reach the trigrams than in use, and links are not counted.

For each size: references per second and the median and 99th percentile of a batch, for references as they are and without
identifiers; the references that reach a search; bytes on disk that each side maps or stores; memory of the node; works indexed
per second by each side, for vectors by the encoder's rate on a sample.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks import harness
from benchmarks.machine import describe, disk_bytes, process_memory
from benchmarks.scale.searched import Searched, engine
from benchmarks.semantic.search import synthetic
from reflink.catalog import Catalog
from reflink.catalog.build import build
from reflink.catalog.reading import read_works
from reflink.entities import Reference, Work
from reflink.evaluation.records import read_queries, without_identifiers
from reflink.linking.candidates import Candidates
from reflink.linking.linker import lexical_step, semantic_step
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Open, Policy
from reflink.semantic import Encoder, VectorIndex
from reflink.semantic.index import KIND
from reflink.storage import flatfiles

SIZES: Final = "265158,1000000,5000000"
#: Works encoded to measure the encoder's rate.
ENCODED: Final = 2000
GB: Final = 1e9


def link(references: Sequence[Reference], source: Candidates, policy: Policy) -> int:
    """Link a batch by both steps; return the number of references that the first step leaves open."""
    opens = [item for item in semantic_step(references, source, policy) if isinstance(item, Open)]
    lexical_step(opens, source, policy)
    return len(opens)


def compare(
    batches: Sequence[Sequence[Reference]], sides: Mapping[str, Callable[[], Candidates]], rounds: int
) -> dict[str, dict[str, float]]:
    """Return by side: references per second (median of the rounds), p50 and p99 of a batch in seconds, and the share open."""
    policy = Policy()
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    opens = dict.fromkeys(sides, 0)
    for source in sides.values():
        link(batches[0], source(), policy)  # compiles, and fills the caches
    for number in range(rounds):
        for batch in batches:
            for name, source in sides.items():
                began = time.perf_counter()
                left = link(batch, source(), policy)
                seconds[name].append(time.perf_counter() - began)
                opens[name] += left if number == 0 else 0
    count = sum(map(len, batches))
    size = len(batches)
    return {
        name: {
            "per_s": statistics.median(count / sum(taken[start : start + size]) for start in range(0, len(taken), size)),
            "p50_s": float(np.quantile(taken, 0.5)),
            "p99_s": float(np.quantile(taken, 0.99)),
            "open": opens[name] / count,
        }
        for name, taken in seconds.items()
    }


@contextmanager
def sides_of(
    works: Path, count: int, folder: Path, encoder: Encoder
) -> Iterator[tuple[NativeCandidates, Searched, dict[str, float]]]:
    """Build both sides over the works of a file; yield them, and the figures of building and size."""
    began = time.perf_counter()
    if is_new := not (folder / "catalog").exists():
        build(works, folder / "catalog", encoder=None)
    built = time.perf_counter() - began
    catalog = Catalog.open(folder / "catalog")
    if len(catalog) != count:
        raise SystemExit(f"the catalog has {len(catalog):,} works, not {count:,}: choose smaller --sizes")
    arrays = synthetic(np.random.default_rng(5), count, encoder.dim, (work.id for work in catalog))
    flatfiles.save(folder / "vectors", KIND, {"dim": encoder.dim}, arrays)
    catalog.vectors = VectorIndex.open(folder / "vectors")
    sample = [catalog.semantic_text(work) for work in islice(catalog, 0, None, max(1, count // ENCODED))]
    began = time.perf_counter()
    encoder.encode(sample)
    encoded = (time.perf_counter() - began) / len(sample)
    began = time.perf_counter()
    with engine(Catalog.open(folder / "catalog", trigrams=False)) as searched:
        indexed = time.perf_counter() - began
        store = searched.engine.call("index", "GET", f"/{searched.index.name}/_stats/store")["_all"]["total"]["store"]
        figures = {
            **({"built_per_s": count / built} if is_new else {}),
            "encoded_per_s": 1 / encoded,
            "indexed_per_s": count / indexed,
            "records_gb": disk_bytes(folder / "catalog" / "works") / GB,
            "trigrams_gb": disk_bytes(folder / "catalog" / "trigrams") / GB,
            "vectors_gb": disk_bytes(folder / "vectors") / GB,
            "index_gb": store["size_in_bytes"] / GB,
            "node_gb": 0.0 if searched.pid is None else process_memory(searched.pid)["VmHWM"] / GB,
        }
        yield NativeCandidates(catalog, encoder), searched, figures


def measure(catalog: Path, count: int, references: Sequence[Reference], encoder: Encoder, options: Any) -> dict[str, Any]:
    """Return the figures of one size."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if options.keep is None else options.keep / str(count)
        folder.mkdir(parents=True, exist_ok=True)
        works = folder / "works.jsonl"
        if not (folder / "catalog").exists():
            with works.open("wb") as file:
                for work in islice((each for each in read_works(catalog) if isinstance(each, Work)), count):
                    file.write(work.to_json() + b"\n")
        with sides_of(works, count, folder, encoder) as (native, searched, figures):
            sides: dict[str, Callable[[], Candidates]] = {"native": lambda: native, "engine": searched.source}
            kinds = {"as they are": references, "without identifiers": [without_identifiers(each) for each in references]}
            found: dict[str, Any] = {"works": count, **figures}
            for kind, some in kinds.items():
                starts = range(0, min(len(some), options.batch * options.batches), options.batch)
                found[kind] = compare([some[start : start + options.batch] for start in starts], sides, options.rounds)
            return found


def show(found: Mapping[str, Any]) -> None:
    """Print the figures of one size."""
    print(f"{found['works']:,} works")
    for kind in ("as they are", "without identifiers"):
        for side, each in found[kind].items():
            print(
                f"  {kind:<20} {side:<7} {each['per_s']:>8,.0f} references/s, a batch p50 {each['p50_s'] * 1e3:>7,.0f} ms, "
                f"p99 {each['p99_s'] * 1e3:>7,.0f} ms, {each['open']:.1%} reach the second search"
            )
    print(
        f"  on disk: records and keys {found['records_gb']:.2f} GB, native vectors {found['vectors_gb']:.2f} and trigrams "
        f"{found['trigrams_gb']:.2f} GB, index {found['index_gb']:.2f} GB; memory of the node {found['node_gb']:.2f} GB"
    )
    built = f"{found['built_per_s']:,.0f}" if "built_per_s" in found else "(built before)"
    print(
        f"  works/s: indexed by the engine {found['indexed_per_s']:,.0f}, trigrams and keys {built}, "
        f"encoded {found['encoded_per_s']:,.0f}"
    )


def plot(found: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw references per second over the number of works."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2))
    for kind, style in (("as they are", "-"), ("without identifiers", "--")):
        for side, colour in (("native", "#1b6ca8"), ("engine", "#c0561b")):
            sizes = [each["works"] for each in found]
            rates = [each[kind][side]["per_s"] for each in found]
            axes.plot(sizes, rates, style, color=colour, marker="o", label=f"{side}, {kind}")
    axes.set(xscale="log", yscale="log", xlabel="works in the catalog", ylabel="references per second, one process")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    figure.tight_layout()
    figure.savefig(path)


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    harness.add_protocol(parser)
    parser.add_argument("--catalog", type=Path, required=True, help="a file of benchmarks.scale.works")
    parser.add_argument("--sizes", type=harness.numbers, default=SIZES, help=f"numbers of works (default {SIZES})")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the catalogs here; those that are there are not built")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw references per second over the number of works")
    arguments = parser.parse_args(argv)
    print(describe())
    references = [query.reference for query in read_queries(arguments.references)]
    # References of one paper follow each other; those of a batch come from many papers.
    references = [each for start in range(97) for each in references[start::97]]
    encoder, found = Encoder(), []
    for count in arguments.sizes:
        found.append(measure(arguments.catalog, count, references, encoder, arguments))
        show(found[-1])
        harness.save(arguments.json, {"machine": describe(), "sizes": found})
    if arguments.plot is not None:
        plot(found, arguments.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
