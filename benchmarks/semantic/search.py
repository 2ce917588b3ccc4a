"""Measure exact search: agreement with brute force, ms per query beside BLAS, the bounds, small catalogs and large ones.

    python -m benchmarks.semantic search --snapshot FOLDER [--large 2000000] [--json FILE]

Queries are vectors of the snapshot, turned a little so that no query equals a work; brute force uses the snapshot's vectors
widened to fp32. Large catalogs are random unit vectors in a temporary folder.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from reflink.semantic.cpu import kernels
from reflink.semantic.cpu.tiles import HOST
from reflink.semantic.index import ARRAYS, KIND, VectorIndex
from reflink.storage import flatfiles
from reflink.storage.idtable import frozen, pack

BATCHES = (1, 8, 64, 512)
HITS = 5
SMALL = 541
#: Multiply-adds per cycle of the larger processors of this decade: two of whole registers.
STARTED = 2

Single = npt.NDArray[np.float32]


def measure(snapshot: Path, large: int = 0) -> dict[str, Any]:
    """Print the section and return its figures. ``snapshot``: a catalog's folder, or a saved index's."""
    folder = snapshot / "vectors" if (snapshot / "vectors").is_dir() else snapshot
    began = time.perf_counter()
    index = VectorIndex.open(folder)
    figures: dict[str, Any] = {"opened_ms": (time.perf_counter() - began) * 1e3, "works": len(index), "dim": index.dim}
    stored = np.load(folder / "vectors.npy", mmap_mode="r").view(np.ndarray)
    queries = moved(stored, 10_288)
    print(f"{len(index):,} works of {index.dim} dimensions, opened in {figures['opened_ms']:.1f} ms")
    figures["agreement"] = agreement(index, stored.astype(np.float32), queries)
    figures["bounds"] = bounds(stored)
    figures["ms"] = speed(index, stored, queries, figures["bounds"])
    figures["small"] = small_catalog(stored, queries)
    figures["adding"] = adding(index, queries)
    if large:
        figures["large"] = large_catalog(large, index.dim)
    figures["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory, brute force and mapped pages included: {figures['peak_gib']:.2f} GiB")
    return figures


def moved(stored: npt.NDArray[np.float16], number: int) -> Single:
    """Return queries like references: works' vectors turned a little, with cosines of 0.7 to 0.95 to them."""
    rng = np.random.default_rng(0)
    near = stored[np.sort(rng.integers(0, len(stored), number))].astype(np.float32)
    near += rng.uniform(0.3, 1.0, (number, 1)) * rng.standard_normal(near.shape) / np.sqrt(near.shape[1])
    return (near / np.linalg.norm(near, axis=1)[:, None]).astype(np.float32)


def agreement(index: VectorIndex, works: Single, queries: Single) -> dict[str, Any]:
    """Compare the top-1 with numpy's product of fp32 vectors."""
    hits = index.search(queries, 2)
    queries = queries / np.linalg.norm(queries, axis=1)[:, None]
    rows = np.concatenate([(queries[at : at + 256] @ works.T).argmax(axis=1) for at in range(0, len(queries), 256)])
    best = np.einsum("ij,ij->i", queries.astype(np.float64), works[rows])
    place = {name: row for row, name in enumerate(index._rows.view.names(np.arange(len(index))).tolist())}
    chosen = works[[place[name] for name in hits.ids[:, 0]]]
    lost = best - np.einsum("ij,ij->i", queries.astype(np.float64), chosen)
    same = lost <= 0  # of equal works, the index returns the smallest id, the product the first row
    figures = {"queries": len(queries), "same": float(same.mean()), "furthest": float(lost.max())}
    figures["score_error"] = float(np.abs(hits.scores[:, 0] - best + lost).max())
    print(
        f"top-1 as fp32 brute force (the fp16 vectors widened): {same.mean():.4%} of "
        f"{len(queries):,}; the others are at most {lost.max():.1e} below; "
        f"largest error of a score {figures['score_error']:.1e}"
    )
    return figures


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _read(words: npt.NDArray[np.uint64]) -> int:
    total = np.uint64(0)
    for at in range(len(words)):
        total += words[at]
    return int(total)


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _chain(steps: int) -> int:
    value = np.uint64(1)
    for _ in range(steps):  # a multiplication, then a dependent operation, each waiting for the previous result: 3 + 1 cycles
        value = (value * np.uint64(6364136223846793005)) ^ (value >> np.uint64(33))
    return int(value)


def bounds(stored: npt.NDArray[np.float16]) -> dict[str, float]:
    """Return the limits of one core: one read of the matrix, and starting its multiply-adds for one query."""
    words = np.array(stored).reshape(-1).view(np.uint64)
    steps = 20_000_000
    read, chain = least({"read": lambda: _read(words), "chain": lambda: _chain(steps)}, 7).values()
    clock = 4 * steps / chain
    per_second = clock * STARTED * HOST.lanes
    figures = {
        "read_ms": read * 1e3,
        "gb_s": stored.nbytes / read / 1e9,
        "ghz": clock / 1e9,
        "fma_ms": stored.size / per_second * 1e3,
    }
    print(
        f"bounds of one core: reading {stored.nbytes / 1e6:.0f} MB takes {figures['read_ms']:.1f} ms "
        f"({figures['gb_s']:.0f} GB/s); "
        f"{stored.size / 1e6:.0f} M multiply-adds, {STARTED} registers of {HOST.lanes} a cycle at {figures['ghz']:.2f} GHz, "
        f"{figures['fma_ms']:.2f} ms a query"
    )
    return figures


def times(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each, in turn, after one uncounted call of each."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for counted in (False, *[True] * rounds):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            if counted:
                seconds[name].append(time.perf_counter() - began)
    return seconds


def least(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    return {name: min(seconds) for name, seconds in times(works, rounds).items()}


def speed(index: VectorIndex, stored: npt.NDArray[np.float16], queries: Single, bound: dict[str, float]) -> dict[str, Any]:
    """Return milliseconds per query, side by side with torch's product of fp32 vectors and its top k."""
    import torch

    wide, threads = torch.from_numpy(stored.astype(np.float32)), torch.get_num_threads()
    figures: dict[str, Any] = {}
    print(f"ms a query, top {HITS}: median (least); the bound is the greater of reading once a batch and multiplying")
    for batch in BATCHES:
        asked = queries[:batch]

        def search(number: int, asked: Single = asked) -> None:
            index.threads = number
            index.search(asked, HITS)

        def multiply(number: int, asked: Single = asked) -> None:
            torch.set_num_threads(number)
            for first in range(0, len(asked), 64):
                (torch.from_numpy(asked[first : first + 64]) @ wide.T).topk(HITS, dim=1)

        works: dict[str, Callable[[], object]] = {
            "one thread": lambda: search(1),
            "two threads": lambda: search(2),
            "torch fp32, one thread": lambda: multiply(1),
        }
        taken = times(works, 9 if batch < 64 else 3)
        ms = {name: [value / batch * 1e3 for value in seconds] for name, seconds in taken.items()}
        at_best = max(bound["read_ms"] / batch, bound["fma_ms"])
        figures[str(batch)] = {name: statistics.median(values) for name, values in ms.items()}
        figures[str(batch)] |= {"least": min(ms["one thread"]), "bound": at_best, "share": at_best / min(ms["one thread"])}
        columns = "; ".join(f"{name} {statistics.median(values):6.2f} ({min(values):5.2f})" for name, values in ms.items())
        print(f"{batch:5d} queries: {columns}; bound {at_best:5.2f}, reached {figures[str(batch)]['share']:.0%}")
    index.threads = 1
    torch.set_num_threads(threads)
    return figures


def small_catalog(stored: npt.NDArray[np.float16], queries: Single) -> dict[str, float]:
    """Return the cost of a search beside its products: 512 queries over few works."""
    index = VectorIndex(stored.shape[1])
    index.add([f"doi:10.1000/{n}" for n in range(SMALL)], stored[:SMALL])
    asked, bits = queries[:512], frozen(np.array(stored[:SMALL]).view(np.uint16))
    scores = np.empty((HOST.queries, SMALL), np.float32)

    def products() -> None:
        for first in range(0, len(asked), HOST.queries):
            kernels.dot(bits, 0, SMALL, asked, first, min(HOST.queries, len(asked) - first), scores)

    taken = least({"search": lambda: index.search(asked, HITS), "products": products}, 15)
    us = {name: seconds / len(asked) * 1e6 for name, seconds in taken.items()}
    print(f"{SMALL} works, {len(asked)} queries: {us['search']:.1f} µs a query, of which products {us['products']:.1f}")
    return us


def adding(index: VectorIndex, queries: Single) -> dict[str, float]:
    """Time a change of 256 works, alone and while another thread searches without a pause."""
    import threading

    names, stop = [f"new {n}" for n in range(256)], threading.Event()

    def change() -> None:
        index.add(names, queries[:256])

    def search() -> None:
        while not stop.is_set():
            index.search(queries[:64], HITS)

    alone = statistics.median(times({"alone": change}, 9)["alone"])
    reader = threading.Thread(target=search)
    reader.start()
    beside = statistics.median(times({"beside": change}, 9)["beside"])
    stop.set()
    reader.join()
    index.remove(names)
    print(f"256 works replaced: {alone * 1e3:.2f} ms; while another thread searches {beside * 1e3:.2f} ms")
    return {"alone_ms": alone * 1e3, "beside_ms": beside * 1e3}


def large_catalog(number: int, dim: int) -> dict[str, float]:
    """Search random unit vectors opened from a folder: only memory and multiply-adds grow with their number."""
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        flatfiles.save(folder, KIND, {"dim": dim}, synthetic(rng, number, dim))
        began = time.perf_counter()
        index = VectorIndex.open(folder)
        opened = time.perf_counter() - began
        queries = rng.standard_normal((64, dim), dtype=np.float32)
        taken = least({"1": lambda: index.search(queries[:1], HITS), "64": lambda: index.search(queries, HITS)}, 2)
    figures = {"works": number, "opened_ms": opened * 1e3, "1": taken["1"] * 1e3, "64": taken["64"] / 64 * 1e3}
    print(
        f"{number:,} random works ({number * dim * 2 / 1e9:.1f} GB): opened in {figures['opened_ms']:.0f} ms; "
        f"{figures['1']:.0f} ms a query alone, {figures['64']:.1f} in batches of 64, one thread"
    )
    return figures


def synthetic(rng: np.random.Generator, number: int, dim: int, ids: Iterable[str] | None = None) -> dict[str, Any]:
    """Return the arrays of an index: sums of two of some thousand directions, which are faster to make than random draws.

    ``ids``: the ids of the rows; None: their numbers.
    """
    basis = rng.standard_normal((2, 4096, dim), dtype=np.float32)
    basis /= np.linalg.norm(basis, axis=2, keepdims=True) * np.float32(np.sqrt(2))

    def blocks() -> Any:
        for first in range(0, number, 65_536):
            pairs = rng.integers(0, 4096, (2, min(65_536, number - first)))
            yield (basis[0, pairs[0]] + basis[1, pairs[1]]).astype(np.float16)

    blob, offsets = pack((f"{row:09}" for row in range(number)) if ids is None else ids)
    return dict(zip(ARRAYS, (blob, offsets, flatfiles.Blocks(blocks(), (number, dim), np.float16)), strict=True))
