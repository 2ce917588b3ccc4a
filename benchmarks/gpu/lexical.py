"""Check the lexical search on an NVIDIA GPU against the CPU, and time it: microseconds per query over millions of works.

The catalog: works recombined from the file (benchmarks/lexical/recombined.py). Queries with a target: texts of the
catalog with some words removed and others added; without a target: newly recombined works. Checked: rows and scores equal the
CPU's bit for bit, also with seeds and a floor. Timed: batches, from trigrams to rows on the host, beside the CPU's time on
one core in the same run, and the target; and for one batch where its time goes (benchmarks/gpu/tracing.py).
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.gpu.tracing import Traced
from benchmarks.lexical.recombined import CHUNK, Recipe
from reflink.lexical import LexicalIndex
from reflink.lexical import layout as layouts
from reflink.lexical.cpu import searching
from reflink.lexical.gpu.device import CudaDevice, Device
from reflink.lexical.gpu.segment import DeviceSegment
from reflink.lexical.index import SMALLEST
from reflink.lexical.layout import BLOCK, Floats, Ints, LiveRows, extents
from reflink.lexical.queries import Queries
from reflink.lexical.trigrams import trigram_sets
from reflink.text import Mode

#: Target in microseconds per query over 5.27 million works.
AIM = 50.0
BATCHES = (1, 64, 256, 1024, 4096)
#: The batch whose time is divided.
TRACED = 1024
CHECKED = 1000
#: Works of the index that changes on the device.
CHANGING = 300_000
#: Hits of a query: the best and the runner-up.
K = 2
FLOOR = 0.5
SEED = 7
#: Queries of one call on the CPU, and of one thread's part of the check.
TOGETHER = 256
SHARED = 32


def measure(
    works: Path,
    rows: int,
    mode: Mode = "TVLY",
    *,
    device: str | Device = "cuda",
    checked: int = CHECKED,
    batches: Sequence[int] = BATCHES,
    rounds: int = 5,
) -> tuple[bool, dict[str, Any]]:
    """Return whether all checks held, and the figures; print both."""
    began = time.perf_counter()
    recipe = Recipe(harness.works_of(works))
    catalog = built(recipe, rows, mode)
    arrays, taken = layouts.memory(catalog.layout), time.perf_counter() - began
    print(
        f"{rows:,} made works, {len(catalog.layout.codes) / rows:.0f} trigrams each, {len(catalog.layout.shares):,} bitmaps; "
        f"{sum(arrays.values()) / 2**30:.2f} GiB, {arrays['bits'] / 2**30:.2f} of them bitmaps; {taken:.0f} s",
        flush=True,
    )
    began = time.perf_counter()
    traced = Traced(CudaDevice(device) if isinstance(device, str) else device)
    segment = DeviceSegment(catalog.layout, catalog.ranks, batch=max(batches), device=traced)
    print(f"on the device: {segment.nbytes / 2**30:.2f} GiB, sent in {time.perf_counter() - began:.1f} s", flush=True)
    figures: dict[str, Any] = {"works": rows, "mode": mode, "bytes": segment.nbytes, "cases": {}}
    held = True
    for name, queries in kinds_of_queries(recipe, catalog, mode, max(checked, *batches)).items():
        some = queries.part(0, checked)
        processor, expected = search_on_cpu(catalog, some)
        found = segment.search(catalog.alive, some, K)
        same = all(mine.tobytes() == theirs.tobytes() for mine, theirs in zip(found[:3], expected, strict=True))
        held &= same
        print(f"{'held  ' if same else 'BROKEN'} {name}: rows and scores of the processor for {len(some.floors):,} queries")
        case: dict[str, Any] = {
            "same": same, "processor_us": processor, "device_us": {},
            "verified": found.verified / len(some.floors), "recounted": found.recounted / len(some.floors),
        }  # fmt: skip
        for batch in batches:
            part = queries.part(0, batch)
            taken = seconds(lambda part=part: segment.search(catalog.alive, part, K), rounds)  # type: ignore[misc]
            case["device_us"][str(batch)] = taken / len(part.floors) * 1e6
        figures["cases"][name] = case
        best = min(case["device_us"].values())
        rates = ", ".join(f"{each:,.1f} by {batch}" for batch, each in case["device_us"].items())
        print(
            f"       {rates} us a query; the best is {best / AIM:.2f} of the aim of {AIM:.0f}, one core takes "
            f"{processor:,.0f}, {processor / best:,.0f} times as long\n"
            f"       {case['verified']:,.0f} rows verified a query, {case['recounted']:,.1f} blocks counted again"
        )
        case["traced"] = trace(traced, segment, catalog, queries.part(0, TRACED))
    figures["changing"] = same_while_changing(recipe, min(rows, CHANGING), mode, device)
    print(f"{'held  ' if figures['changing'] else 'BROKEN'} hits of an index on the device with additions, removals and merges")
    return held and figures["changing"], figures


def same_while_changing(recipe: Recipe, rows: int, mode: Mode, device: str | Device) -> bool:
    """Return whether an index that changes on the device has the hits of the processor."""
    index, parts = LexicalIndex(mode, threads=2), 8
    texts = [text for part in recipe.texts(rows, mode, SEED) for text in part]
    queries = [text[5:] for text in texts[:: max(1, rows // 200)]]
    for part in range(parts):
        first, end = rows * part // parts, rows * (part + 1) // parts
        index.add([f"{row:07}" for row in range(first, end)], texts[first:end])
        if part == parts // 2:
            index.settle()
            index.place(device, smallest=min(rows // 4, SMALLEST))
    index.remove([f"{row:07}" for row in range(0, rows, 3)])
    index.settle()
    placed, found = index.placed(), index.search(queries, K)
    index.place(None)
    expected = index.search(queries, K)
    return (
        placed.texts > 0 and found.ids.tolist() == expected.ids.tolist() and found.scores.tobytes() == expected.scores.tobytes()
    )


def trace(traced: Traced, segment: DeviceSegment, catalog: LiveRows, queries: Queries) -> dict[str, float]:
    """Print where the time of a batch goes, and at which rate it reads bitmaps; return microseconds per query by step."""
    number = len(queries.floors)
    with traced.tracing():
        began = time.perf_counter()
        segment.search(catalog.alive, queries, K)
        taken = time.perf_counter() - began
    steps = {name: each / number * 1e6 for name, each in traced.seconds().items()}
    steps["all, by the host's clock"] = taken / number * 1e6
    with segment.device.active():
        (bitmaps,) = segment.device.received(segment.work["numbers"][: min(number, segment.batch)])
    read = float(bitmaps.mean()) * segment.blocks * BLOCK / 8
    print(f"       a batch of {number:,}: " + ", ".join(f"{name} {each:.2f}" for name, each in steps.items()) + " us a query")
    print(
        f"       {bitmaps.mean():.0f} bitmaps a query, {read / 2**20:.1f} MiB over all blocks: at most "
        f"{read / steps['greatest_counts'] / 1e3:,.0f} GB/s in greatest_counts"
    )
    return steps


def threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))


def built(recipe: Recipe, rows: int, mode: Mode) -> LiveRows:
    """Build the segment of ``rows`` recombined works, none of them removed."""
    with threads() as pool:
        chunks = list(pool.map(lambda first: trigram_sets(recipe.chunk(first, rows, mode, SEED)), range(0, rows, CHUNK)))
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(own) for _, own in chunks]))]).astype(np.int64)
    layout, ranks = layouts.build(np.concatenate([codes for codes, _ in chunks]), offsets)
    return LiveRows(layout, ranks, np.ones(rows, np.bool_))


def kinds_of_queries(recipe: Recipe, catalog: LiveRows, mode: Mode, number: int) -> dict[str, Queries]:
    """Return the kinds of queries by name."""
    new = [text for texts in recipe.texts(number, mode, SEED + 1) for text in texts]
    rng = np.random.default_rng(SEED)
    # Make the texts of the first works again; a work's rank is its number.
    known = next(recipe.texts(len(catalog.alive), mode, SEED))
    changed = []
    for at, other in enumerate(new):
        words = [word for word in known[at % len(known)].split() if rng.random() < 0.85]
        changed.append(" ".join([*words, *other.split()[:2]]))
    row_of = np.empty(len(catalog.ranks), np.int64)
    row_of[catalog.ranks] = np.arange(len(catalog.ranks))
    targets = row_of[np.arange(number) % len(known)]

    def queries(texts: Sequence[str], floor: float, seeds: Ints) -> Queries:
        each = np.arange(len(texts) + 1) if len(seeds) else np.zeros(len(texts) + 1, np.int64)
        return Queries(*trigram_sets(texts), np.full(len(texts), floor), seeds, each)

    none = np.empty(0, np.int64)
    return {
        "without target": queries(new, 0.0, none),
        "with target": queries(changed, 0.0, none),
        "with target and seed": queries(changed, 0.0, targets),
        f"without target, floor {FLOOR}": queries(new, FLOOR, none),
    }


def search_on_cpu(catalog: LiveRows, queries: Queries) -> tuple[float, tuple[Ints, Floats, Ints]]:
    """Return microseconds per query on one core, and rows, scores and counts; behind the hits, rows are -1 and scores 0."""
    blocks = extents(catalog.layout.sizes)
    search = lambda part: searching.search(catalog, part, K, blocks)
    search(queries.part(0, 1))  # compiles
    timed = queries.part(0, TOGETHER)
    began = time.perf_counter()
    search(timed)
    taken = (time.perf_counter() - began) / len(timed.floors) * 1e6
    with threads() as pool:
        done = list(pool.map(search, [queries.part(at, at + SHARED) for at in range(0, len(queries.floors), SHARED)]))
    rows, scores, found = (np.concatenate([each[at] for each in done]) for at in range(3))
    behind = np.arange(K) >= found[:, None]
    rows[behind], scores[behind] = -1, 0.0
    return taken, (rows, scores, found)


def seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the median after one uncounted call. Each call's results end in host memory."""
    return statistics.median(harness.seconds(work, rounds))
