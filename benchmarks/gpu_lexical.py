"""The lexical search on an NVIDIA GPU, checked against the processor and timed: microseconds a query over millions of works.

    python -m benchmarks.gpu_lexical [--works FILE] [--rows 5270000] [--mode TVLY] [--checked 1000] [--json FILE]

The catalog: works recombined from those of the file (benchmarks/lexical/recombined.py). Queries with a target: texts of the
catalog that have lost some of their words and got others; without: works recombined anew. Checked: rows and scores are those of
the processor, bit for bit, also with seeds and a floor. Timed: batches, from trigrams to rows on the host, beside the
processor's time on one core in the same run, and the aim. Exit code 1 when a check fails, 3 without a GPU.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from benchmarks.lexical.recombined import Recipe
from benchmarks.machine import describe
from reflink.catalog.reading import read_works
from reflink.entities import Work
from reflink.lexical import layout as layouts
from reflink.lexical import searching
from reflink.lexical.layout import BLOCK, Codes, Floats, Ints, Layout, Mask, Ranks
from reflink.lexical.trigrams import trigram_sets
from reflink.text import Mode

#: Microseconds a query over 5.27 million works.
AIM = 50.0
BATCHES = (256, 1024, 4096)
CHECKED = 1000
#: Hits of a query: the best and the runner-up.
K = 2
FLOOR = 0.5
SEED = 7
#: Queries of one call on the processor.
TOGETHER = 256


class Catalog(NamedTuple):
    """A segment of made works."""

    layout: Layout
    ranks: Ranks
    alive: Mask


class Queries(NamedTuple):
    """A way to ask: trigrams, least scores, rows that are good; as ``searching.search`` takes them."""

    codes: Codes
    offsets: Ints
    floors: Floats
    seeds: Ints
    seed_offsets: Ints

    def first(self, number: int, begin: int = 0) -> Queries:
        """So many of them from ``begin`` on, or fewer."""
        own, seeds = self.offsets[begin : begin + number + 1], self.seed_offsets[begin : begin + number + 1]
        return Queries(
            self.codes[own[0] : own[-1]], own - own[0], self.floors[begin : begin + number],
            self.seeds[seeds[0] : seeds[-1]], seeds - seeds[0],
        )  # fmt: skip


def measure(
    works: Path, rows: int, mode: Mode = "TVLY", *, checked: int = CHECKED, batches: Sequence[int] = BATCHES, rounds: int = 5
) -> tuple[bool, dict[str, Any]]:
    """Whether all checks held, and the figures; prints both."""
    from reflink.lexical.device import DeviceSegment

    began = time.perf_counter()
    recipe = Recipe([work for work in read_works(works) if isinstance(work, Work)])
    catalog = built(recipe, rows, mode)
    arrays, taken = layouts.memory(catalog.layout), time.perf_counter() - began
    print(
        f"{rows:,} made works, {len(catalog.layout.codes) / rows:.0f} trigrams each, {len(catalog.layout.shares):,} bitmaps; "
        f"{sum(arrays.values()) / 2**30:.2f} GiB, {arrays['bits'] / 2**30:.2f} of them bitmaps; {taken:.0f} s"
    )
    began = time.perf_counter()
    segment = DeviceSegment(catalog.layout, catalog.ranks, batch=max(batches))
    print(f"on the device: {segment.nbytes / 2**30:.2f} GiB, sent in {time.perf_counter() - began:.1f} s")
    figures: dict[str, Any] = {"works": rows, "mode": mode, "bytes": segment.nbytes, "cases": {}}
    held = True
    for name, queries in asked(recipe, catalog, mode, max(checked, *batches)).items():
        some = queries.first(checked)
        processor, expected = on_the_processor(catalog, some)
        found = segment.search(catalog.alive, *some[:2], K, *some[2:])
        same = all(mine.tobytes() == theirs.tobytes() for mine, theirs in zip(found[:3], expected, strict=True))
        held &= same
        print(f"{'held  ' if same else 'BROKEN'} {name}: rows and scores of the processor for {len(some.floors):,} queries")
        case: dict[str, Any] = {
            "same": same, "processor_us": processor, "device_us": {}, "plan_us": planned(catalog, queries.first(max(batches))),
            "verified": found.verified / len(some.floors), "recounted": found.recounted / len(some.floors),
        }  # fmt: skip
        for batch in batches:
            part = queries.first(batch)
            taken = seconds(lambda part=part: segment.search(catalog.alive, *part[:2], K, *part[2:]), rounds)  # type: ignore[misc]
            case["device_us"][str(batch)] = taken / len(part.floors) * 1e6
        figures["cases"][name] = case
        best = min(case["device_us"].values())
        told = ", ".join(f"{each:,.1f} by {batch}" for batch, each in case["device_us"].items())
        print(
            f"       {told} us a query; the best is {best / AIM:.2f} of the aim of {AIM:.0f}, one core takes "
            f"{processor:,.0f}, {processor / best:,.0f} times as long\n"
            f"       {case['plan_us']:.1f} us of it the host's planning; {case['verified']:,.0f} rows verified a query, "
            f"{case['recounted']:,.1f} blocks counted again"
        )
    return held, figures


def built(recipe: Recipe, rows: int, mode: Mode) -> Catalog:
    """The segment of so many made works, all alive."""
    chunks = [trigram_sets(texts) for texts in recipe.texts(rows, mode, SEED)]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(own) for _, own in chunks]))]).astype(np.int64)
    layout, ranks = layouts.build(np.concatenate([codes for codes, _ in chunks]), offsets)
    return Catalog(layout, ranks, np.ones(rows, np.bool_))


def asked(recipe: Recipe, catalog: Catalog, mode: Mode, number: int) -> dict[str, Queries]:
    """Ways to ask, by name."""
    new = [text for texts in recipe.texts(number, mode, SEED + 1) for text in texts]
    rng = np.random.default_rng(SEED)
    # The texts of the first made works are made once more: their ranks are their numbers.
    known = next(recipe.texts(len(catalog.alive), mode, SEED))
    changed = []
    for at, other in enumerate(new):
        words = [word for word in known[at % len(known)].split() if rng.random() < 0.85]
        changed.append(" ".join([*words, *other.split()[:2]]))
    row_of = np.empty(len(catalog.ranks), np.int64)
    row_of[catalog.ranks] = np.arange(len(catalog.ranks))
    targets = row_of[np.arange(number) % len(known)]

    def ask(texts: Sequence[str], floor: float, seeds: Ints) -> Queries:
        each = np.arange(len(texts) + 1) if len(seeds) else np.zeros(len(texts) + 1, np.int64)
        return Queries(*trigram_sets(texts), np.full(len(texts), floor), seeds, each)

    none = np.empty(0, np.int64)
    return {
        "without target": ask(new, 0.0, none),
        "with target": ask(changed, 0.0, none),
        "with target and seed": ask(changed, 0.0, targets),
        f"without target, floor {FLOOR}": ask(new, FLOOR, none),
    }


def on_the_processor(catalog: Catalog, queries: Queries) -> tuple[float, tuple[Ints, Floats, Ints]]:
    """Microseconds a query on one core, and rows, scores and numbers; -1 and 0 behind those found."""
    blocks = np.arange(-(-len(catalog.alive) // BLOCK))
    parts = [queries.first(TOGETHER, begin) for begin in range(0, len(queries.floors), TOGETHER)]
    search = lambda part: searching.search(*catalog, *part[:2], K, *part[2:], blocks)
    search(parts[-1])  # compiled
    began = time.perf_counter()
    done = [search(part) for part in parts]
    taken = (time.perf_counter() - began) / len(queries.floors) * 1e6
    rows, scores, found = (np.concatenate([each[at] for each in done]) for at in range(3))
    behind = np.arange(K) >= found[:, None]
    rows[behind], scores[behind] = -1, 0.0
    return taken, (rows, scores, found)


def planned(catalog: Catalog, queries: Queries) -> float:
    """Microseconds a query that the host takes to choose what is counted, seeds not yet known."""
    from reflink.lexical import devicebatches

    taken = seconds(lambda: devicebatches.planned(catalog.layout, queries.codes, queries.offsets, queries.floors), 3)
    return taken / len(queries.floors) * 1e6


def seconds(work: Callable[[], object], rounds: int) -> float:
    """Median, after one call that is not counted. What is timed ends with its results in host memory."""
    work()
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--works", type=Path, default=Path("examples/works.jsonl"), help="whose parts the works are made of")
    parser.add_argument("--rows", type=int, default=5_270_000, help="works that are searched")
    parser.add_argument("--mode", choices=get_args(Mode), default="TVLY", help="which representative texts")
    parser.add_argument("--checked", type=int, default=CHECKED, help="queries of each kind compared with the processor's hits")
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES, help="queries of a call that is timed")
    parser.add_argument("--rounds", type=int, default=5, help="calls timed, for the median")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    arguments = parser.parse_args(argv)
    if not available():
        print("no GPU here: nothing was checked and nothing timed", file=sys.stderr)
        return 3
    print(describe())
    held, figures = measure(
        arguments.works, arguments.rows, arguments.mode,
        checked=arguments.checked, batches=arguments.batches, rounds=arguments.rounds,
    )  # fmt: skip
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": describe()} | figures, indent=1))
    return 0 if held else 1


def available() -> bool:
    """Whether there is a GPU that numba can use, or its simulator."""
    from numba import cuda

    return bool(cuda.is_available())


if __name__ == "__main__":
    sys.exit(main())
