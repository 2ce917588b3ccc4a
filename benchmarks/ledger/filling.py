"""The ledger's stores at growing numbers of waiting references: writing, size, memory, finding, opening."""

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

from benchmarks.ledger.real import choose_arrivals, real_references
from benchmarks.ledger.recombined import REFERENCES_PER_PAPER, Paper, Recombined
from benchmarks.ledger.topics import PARTITIONS
from reflink.entities import Work
from reflink.keys import hashed, work_key, work_keys
from workers.ledger.store import PartitionStore, Table
from workers.topics import partition_of

#: As many as a consumer gives at a time.
ROWS: Final = 2000
WORKS: Final = 2000
#: Of the works that are looked up, those that a reference waits for.
SHARE: Final = 0.2
ROUNDS: Final = 3
MILLION: Final = 1_000_000
FORECAST: Final = 200 * MILLION
FAR: Final = 1e12
#: The first of the papers that hold the marked references.
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
    """One for each partition, written as a ledger that is brought up from its topics writes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stores: list[PartitionStore] = []
        self.waiting: list[list[tuple[Table, str, bytes | None]]] = [[] for _ in range(PARTITIONS)]
        self.written = [0] * PARTITIONS
        #: Those given so far, written or not.
        self.references = 0
        self.seconds = 0.0
        self.open()

    def open(self) -> float:
        """All of them; seconds until each has answered."""
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
        """How many references of all partitions have a key of the work: what waking asks for."""
        keys = [*map(hashed, work_keys(work)), hashed(work_key(work.id))]
        return len({each for store in self.stores for key in store.borne(keys) for each in store.references(key)})

    def bytes(self) -> int:
        """On disk, as blocks taken."""
        return sum(path.stat().st_blocks * 512 for path in self.folder.rglob("*") if path.is_file())

    def forget_pages(self) -> None:
        """Has the kernel drop what it keeps of the files in memory."""
        os.sync()
        for path in self.folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def own_mib() -> float:
    """Memory that this process has for itself alone."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    return int(found.group(1)) / 1024 if found else 0.0


@dataclass
class Found:
    """Microseconds of each work, and of the processor alone; works that found a reference, and references found."""

    times: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    works: int = 0
    references: int = 0


def look_up(stores: Stores, works: Sequence[Work]) -> Found:
    """Each work by itself, as it arrives."""
    found = Found()
    for work in works:
        began, cpu = time.perf_counter(), time.thread_time()
        number = stores.find(work)
        found.cpu.append((time.thread_time() - cpu) * 1e6)
        found.times.append((time.perf_counter() - began) * 1e6)
        found.works, found.references = found.works + (number > 0), found.references + number
    return found


def measure(stores: Stores, works: Sequence[Work], base_mib: float) -> dict[str, Any]:
    """The figures as it stands, medians of rounds. ``cold``: after the kernel has dropped what it keeps of the files."""
    rounds = [look_up(stores, works) for _ in range(ROUNDS + 1)][1:]
    figures: dict[str, Any] = {
        "references": stores.references,
        "rows_per_s": sum(stores.written) / stores.seconds,
        "disk_mib": stores.bytes() / 2**20,
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
    """Writes papers until the stores have so many references."""
    while stores.references < until and (paper := next(papers, None)) is not None:
        stores.add(paper.citing, [("links", reference, value) for reference, value in paper.links.items()])
        stores.add(paper.citing, [("manifests", paper.citing, paper.manifest)])
    stores.flush()


def head_text() -> str:
    """The names of the columns."""
    return " ".join(f"{name:>{re.findall('[0-9]+', form)[0]}}" for name, _, form in COLUMNS)


def row_text(row: dict[str, Any]) -> str:
    """One line of the table."""
    return " ".join(format(row[name], form) for _, name, form in COLUMNS)


def quantile(values: Sequence[float], share: float) -> float:
    return float(np.quantile(values, share))


def fits(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """At 200 million: disk and memory by a line through the sizes, medians and means of finding by a line over their logarithm.

    Not the 99th percentiles, which a compaction in the wrong moment makes.
    """
    sizes = np.array([row["references"] for row in rows], float)

    def at(name: str, scale: Any) -> float:
        slope, rest = np.polyfit(scale(sizes), [row[name] for row in rows], 1)
        return float(slope * scale(np.array(float(FORECAST))) + rest)

    linear = ("disk_mib", "own_mib")
    found = {name: at(name, lambda size: size) for name in linear}
    return found | {name: at(name, np.log2) for name in ("p50_us", "cpu_us", "cold_p50_us")}


def run(references: int, sizes: Sequence[int], folder: Path | None = None) -> dict[str, Any]:
    """Fills up to ``references`` and measures at each of ``sizes`` on the way, and at the end."""
    real = real_references()
    arrivals = choose_arrivals(real, WORKS, SHARE)
    made = Recombined(real)
    stops = sorted({size for size in sizes if size < references} | {references})
    with tempfile.TemporaryDirectory(dir=folder) as name:
        base = own_mib()
        stores = Stores(Path(name))
        rows = []
        # The marked ones first, so that they are there at every size.
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
    """What 200 million would take by the fits."""
    found = figures["at_200m"]
    return (
        f"\n{figures['works']:,} works looked up in {figures['partitions']} partitions, {figures['awaited']:.0%} of them "
        "awaited; medians of rounds\n"
        f"at {FORECAST:,}, by lines (disk, memory) and lines over the logarithm (times): {found['disk_mib'] / 1024:,.0f} GiB, "
        f"{found['own_mib']:,.0f} MiB own, found in p50 {found['p50_us']:,.0f} us "
        f"(CPU {found['cpu_us']:,.0f} us), cold in p50 {found['cold_p50_us']:,.0f} us; sizes below a "
        "million\nsay little of memory, which write buffers fill first"
    )
