"""Check the search on a GPU against the CPU, and time it: references/s over millions of works, from vectors to hits.

Checked: hits equal the CPU's bit for bit, also after additions and removals, and when searched from host memory; an index
that does not fit is refused. Timed: by batch and by the number of scores held at once; a change. Works are synthetic unit
vectors.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from benchmarks import harness
from benchmarks.semantic.search import HITS, moved, synthetic
from reflink.errors import DeviceTooSmall
from reflink.hits import Hits
from reflink.semantic import VectorIndex
from reflink.semantic.gpu import rows as device
from reflink.semantic.index import KIND
from reflink.storage import flatfiles

BATCHES = (1, 64, 512, 1024, 2048, 4096, 8192)
SCORES = (16 << 20, 32 << 20, 64 << 20)
CHECKED = 64
CHANGED = 256
#: Target for one search: times the time to read the bytes of the works.
READING = 1.3


def made(folder: Path, works: int, dim: int) -> Path:
    """Return a folder inside ``folder`` with an index of ``works`` synthetic vectors; write it if it is not there."""
    place = folder / f"{works}-{dim}"
    if not place.exists():
        flatfiles.save(place, KIND, {"dim": dim}, synthetic(np.random.default_rng(5), works, dim))
    return place


def measure(folder: Path, name: str, batches: Sequence[int] = BATCHES) -> tuple[bool, dict[str, Any]]:
    """Search the index of ``folder``; return whether all checks held, and the figures; print both."""
    index = VectorIndex.open(folder)
    stored = np.load(folder / "vectors.npy", mmap_mode="r").view(np.ndarray)
    queries = moved(stored, max(CHECKED, CHANGED, *batches))
    checks = {}
    expected = index.search(queries[:CHECKED], HITS)
    with patch.object(device, "free_bytes", return_value=device.GATHERED):
        checks["refused with the numbers"] = refused(index, name)
    began = time.perf_counter()
    index.place(name)
    figures: dict[str, Any] = {"works": len(index), "placed_s": time.perf_counter() - began}
    print(f"{len(index):,} works of {index.dim} dimensions placed on {name} in {figures['placed_s']:.1f} s")
    # Few and many queries take different paths.
    few = [index.search(queries[at : at + 1], HITS) for at in range(CHECKED)]
    checks["hits of the processor"] = same(index.search(queries[:CHECKED], HITS), expected)
    checks["hits of the processor, one by one"] = all(
        same(one, Hits(expected.ids[at : at + 1], expected.scores[at : at + 1])) for at, one in enumerate(few)
    )
    figures["reading_ms"] = reading(len(index) * index.dim * 2, name)
    one = milliseconds(lambda: index.search(queries[:1], HITS), 20)
    figures["one_ms"] = one
    print(f"one query: {one:.2f} ms, {one / figures['reading_ms']:.2f} of the time to read the bytes of the works")
    figures["rates"] = rates(index, queries, batches)
    figures["change_ms"] = milliseconds(lambda: index.add([f"new {n}" for n in range(CHANGED)], queries[:CHANGED]))
    index.remove(expected.ids[:, 0].tolist())
    placed = index.search(queries[:CHECKED], HITS)
    index.place(None)
    checks["hits of the processor after changes"] = same(placed, index.search(queries[:CHECKED], HITS))
    with patch.object(device, "free_bytes", return_value=0):
        index.place(name, stream=True)
    checks["hits from host memory"] = same(placed, index.search(queries[:CHECKED], HITS))
    batch = queries[: batches[-1]]
    figures["streamed_ms"] = milliseconds(lambda: index.search(batch, HITS), 2)
    print(f"{CHANGED} works replaced: {figures['change_ms']:.1f} ms")
    print(f"{len(batch):,} queries from host memory: {figures['streamed_ms']:,.0f} ms")
    for what, held in checks.items():
        print(f"{'held  ' if held else 'BROKEN'} {what}")
    return all(checks.values()), figures | {"checks": checks}


def reading(size: int, name: str) -> float:
    """Return the milliseconds that the device takes to read ``size`` bytes: half the time to copy them."""
    import torch

    source = torch.ones(size // 4, dtype=torch.float32, device=name)
    target = torch.empty_like(source)

    def copy() -> None:
        target.copy_(source)
        if source.device.type == "cuda":
            torch.cuda.synchronize(source.device)

    return milliseconds(copy, 10) / 2


def same(found: Hits, expected: Hits) -> bool:
    return found.ids.tolist() == expected.ids.tolist() and found.scores.tobytes() == expected.scores.tobytes()


def refused(index: VectorIndex, name: str) -> bool:
    try:
        index.place(name)
    except DeviceTooSmall as error:
        print(f"refused: {error}")
        return True
    return False


def milliseconds(work: Callable[[], object], rounds: int = 5) -> float:
    """Return the median after one uncounted call. Each call's results end in host memory."""
    return statistics.median(harness.seconds(work, rounds)) * 1e3


def rates(index: VectorIndex, queries: npt.NDArray[np.float32], batches: Sequence[int]) -> dict[str, dict[str, float]]:
    """Return references/s by batch and by the number of scores held at once."""
    figures: dict[str, dict[str, float]] = {}
    for batch in batches:
        asked, figures[str(batch)] = queries[:batch], {}
        for scores in SCORES if batch >= 2048 else (device.SCORES,):
            with patch.object(device, "SCORES", scores):
                taken = milliseconds(lambda asked=asked: index.search(asked, HITS), 3)  # type: ignore[misc]
            figures[str(batch)][str(scores >> 20)] = batch / taken * 1e3
            multiplied = 2 * len(index) * index.dim * batch / taken / 1e9
            print(
                f"batch {batch:5d}, {scores >> 20:3d} Mi scores at once: {taken:8.2f} ms, {batch / taken * 1e3:10,.0f} "
                f"references/s, {multiplied:6.1f} TFLOP/s, matrix read at {len(index) * index.dim * 2 / taken / 1e6:6.0f} GB/s"
            )
    return figures
