"""Measure the ledger's stores at growing numbers of waiting references: writing, size, memory, finding, opening."""

from __future__ import annotations

import os
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.ledger.real import choose_arrivals
from benchmarks.ledger.recombined import REFERENCES_PER_PAPER, Paper, Recombined
from benchmarks.ledger.topics import PARTITIONS
from benchmarks.machine import disk_bytes, process_memory
from benchmarks.papers import real_references
from reflink.blocking.keys import hashed, work_key, work_keys
from reflink.entities import Work
from workers.kafka.topics import partition_of
from workers.ledger.stores.outcome_store import PartitionStore, Table

#: As many records as a consumer returns at once.
ROWS: Final = 2000
WORKS: Final = 2000
#: Share of the looked-up works for which a reference waits.
SHARE: Final = 0.2
ROUNDS: Final = 3
MILLION: Final = 1_000_000
FORECAST: Final = 200 * MILLION
FAR: Final = 1e12
#: Number of the first paper with marked references.
MARKED_FROM: Final = 10 * MILLION
#: Column, its name in the figures, and its format.
COLUMNS: Final = (
    ("references", "references", "10,"), ("rows/s", "rows_per_s", "7,.0f"), ("disk MiB", "disk_mib", "8,.0f"),
    ("own MiB", "own_mib", "7,.0f"), ("p50 us", "p50_us", "7,.0f"), ("p99 us", "p99_us", "7,.0f"),
    ("CPU us", "cpu_us", "7,.0f"), ("cold p50", "cold_p50_us", "8,.0f"), ("cold p99", "cold_p99_us", "8,.0f"),
    ("open s", "open_s", "6.2f"), ("cold s", "open_cold_s", "6.2f"), ("found any", "works_that_find", "9.1%"),
    ("refs/work", "found_per_work", "9.2f"),
)  # fmt: skip


class Stores:
    """One store per partition, written as a ledger writes them when it restores from its topics."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stores: list[PartitionStore] = []
        self.waiting: list[list[tuple[Table, str, bytes | None]]] = [[] for _ in range(PARTITIONS)]
        self.written = [0] * PARTITIONS
        #: References added so far, written or not.
        self.references = 0
        self.seconds = 0.0
        self.open()

    def open(self) -> float:
        """Open all stores; return the seconds until each has answered a read."""
        began = time.perf_counter()
        self.stores = [PartitionStore(self.folder / str(number), stale_after_s=FAR) for number in range(PARTITIONS)]
        for store in self.stores:
            store.get("links", "nothing")
        return time.perf_counter() - began

    def close(self) -> None:
        for store in self.stores:
            store.close()

    def add(self, citing: str, rows: Sequence[tuple[Table, str, bytes]]) -> None:
        partition = partition_of(citing.encode(), PARTITIONS)
        self.waiting[partition] += rows
        self.references += sum(table == "links" for table, _, _ in rows)
        if len(self.waiting[partition]) >= ROWS:
            self._write(partition)

    def flush(self) -> None:
        for partition in range(PARTITIONS):
            self._write(partition)

    def _write(self, partition: int) -> None:
        rows, self.waiting[partition] = self.waiting[partition], []
        began = time.perf_counter()
        self.written[partition] += len(rows)
        self.stores[partition].write(rows, {"links": self.written[partition]})
        self.seconds += time.perf_counter() - began

    def find(self, work: Work) -> int:
        """Return how many references of all partitions have a key of the work, as in the propagation of a change."""
        keys = [*map(hashed, work_keys(work)), hashed(work_key(work.id))]
        return len({each for store in self.stores for key in store.borne(keys) for each in store.references(key)})

    def forget_pages(self) -> None:
        """Drop the kernel's page cache of the files."""
        os.sync()
        for path in self.folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def own_mib() -> float:
    """Return the anonymous memory of this process in MiB."""
    return process_memory()["RssAnon"] / 2**20


@dataclass
class Found:
    """Microseconds per work, wall and processor time; works that found a reference, and references found."""

    times: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    works: int = 0
    references: int = 0


def look_up(stores: Stores, works: Sequence[Work]) -> Found:
    """Look up each work by itself, as when it arrives."""
    found = Found()
    for work in works:
        began, cpu = time.perf_counter(), time.thread_time()
        number = stores.find(work)
        found.cpu.append((time.thread_time() - cpu) * 1e6)
        found.times.append((time.perf_counter() - began) * 1e6)
        found.works, found.references = found.works + (number > 0), found.references + number
    return found


def measure(stores: Stores, works: Sequence[Work], base_mib: float) -> dict[str, Any]:
    """Return the figures at the current size, medians of rounds. ``cold``: after dropping the page cache of the files."""
    rounds = [look_up(stores, works) for _ in range(ROUNDS + 1)][1:]
    figures: dict[str, Any] = {
        "references": stores.references,
        "rows_per_s": sum(stores.written) / stores.seconds,
        "disk_mib": disk_bytes(stores.folder) / 2**20,
        "own_mib": own_mib() - base_mib,
        "p50_us": statistics.median(quantile(each.times, 0.5) for each in rounds),
        "p99_us": statistics.median(quantile(each.times, 0.99) for each in rounds),
        "cpu_us": statistics.median(statistics.mean(each.cpu) for each in rounds),
        "works_that_find": rounds[0].works / len(works),
        "found_per_work": rounds[0].references / len(works),
    }
    stores.close()
    stores.forget_pages()
    figures["open_cold_s"] = stores.open()
    cold = look_up(stores, works).times
    figures |= {"cold_p50_us": quantile(cold, 0.5), "cold_p99_us": quantile(cold, 0.99)}
    stores.close()
    figures["open_s"] = stores.open()
    return figures


def fill(stores: Stores, papers: Iterator[Paper], until: int) -> None:
    """Write papers until the stores have ``until`` references."""
    while stores.references < until and (paper := next(papers, None)) is not None:
        stores.add(paper.citing, [("links", reference, value) for reference, value in paper.links.items()])
        stores.add(paper.citing, [("manifests", paper.citing, paper.manifest)])
    stores.flush()


def head_text() -> str:
    """Return the names of the columns."""
    return " ".join(f"{name:>{re.findall('[0-9]+', form)[0]}}" for name, _, form in COLUMNS)


def row_text(row: dict[str, Any]) -> str:
    """Return one line of the table."""
    return " ".join(format(row[name], form) for _, name, form in COLUMNS)


def quantile(values: Sequence[float], share: float) -> float:
    return float(np.quantile(values, share))


def fits(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Extrapolate to 200 million: disk and memory linearly in the size, medians and mean times linearly in its logarithm.

    The 99th percentiles are not extrapolated: a compaction during a lookup determines them.
    """
    sizes = np.array([row["references"] for row in rows], float)

    def at(name: str, scale: Any) -> float:
        slope, rest = np.polyfit(scale(sizes), [row[name] for row in rows], 1)
        return float(slope * scale(np.array(float(FORECAST))) + rest)

    linear = ("disk_mib", "own_mib")
    found = {name: at(name, lambda size: size) for name in linear}
    return found | {name: at(name, np.log2) for name in ("p50_us", "cpu_us", "cold_p50_us")}


def run(references: int, sizes: Sequence[int], folder: Path | None = None) -> dict[str, Any]:
    """Fill the stores up to ``references``, and measure at each of ``sizes`` on the way, and at the end."""
    real = list(real_references())
    arrivals = choose_arrivals(real, WORKS, SHARE)
    made = Recombined(real)
    stops = sorted({size for size in sizes if size < references} | {references})
    with tempfile.TemporaryDirectory(dir=folder) as name:
        base = own_mib()
        stores = Stores(Path(name))
        rows = []
        # The marked references come first, so that they exist at every size.
        first = -(-len(arrivals.marked) // REFERENCES_PER_PAPER)
        papers = chain(
            made.papers(MARKED_FROM, first, arrivals.marked), made.papers(0, references // REFERENCES_PER_PAPER - first)
        )
        print(head_text(), flush=True)
        for stop in stops:
            fill(stores, papers, stop)
            rows.append(measure(stores, arrivals.works, base))
            print(row_text(rows[-1]), flush=True)
        stores.close()
    return {"partitions": PARTITIONS, "works": len(arrivals.works), "awaited": SHARE, "sizes": rows, "at_200m": fits(rows)}


def forecast_text(figures: dict[str, Any]) -> str:
    """Describe the extrapolation to 200 million."""
    found = figures["at_200m"]
    return (
        f"\n{figures['works']:,} works looked up in {figures['partitions']} partitions, {figures['awaited']:.0%} of them "
        "awaited; medians of rounds\n"
        f"at {FORECAST:,}, by lines (disk, memory) and lines over the logarithm (times): {found['disk_mib'] / 1024:,.0f} GiB, "
        f"{found['own_mib']:,.0f} MiB own, found in p50 {found['p50_us']:,.0f} us "
        f"(CPU {found['cpu_us']:,.0f} us), cold in p50 {found['cold_p50_us']:,.0f} us; sizes below a "
        "million\nsay little of memory, which write buffers fill first"
    )
