"""Measure the ledger's stores at growing numbers of waiting references: the rate of writing, the disk and the memory."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.ledger.recombined import REFERENCES_PER_PAPER, Paper, Recombined
from benchmarks.ledger.topics import PARTITIONS
from benchmarks.machine import disk_bytes, process_memory
from benchmarks.papers import real_references
from workers.kafka.topics import partition_of
from workers.ledger.stores.outcome_store import PartitionStore, Table

#: Number of records that a consumer returns at once.
ROWS: Final = 2000
#: Column and its format.
COLUMNS: Final = {"references": "14,", "rows_per_s": "14,.0f", "disk_bytes_each": "16,.0f", "own_mib": "10,.0f"}


class Stores:
    """One store per partition, written as a ledger writes them when it restores from its topics."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stores = [PartitionStore(folder / str(number), stale_after_s=1e12) for number in range(PARTITIONS)]
        self.waiting: list[list[tuple[Table, str, bytes | None]]] = [[] for _ in range(PARTITIONS)]
        self.written = [0] * PARTITIONS
        #: Number of references added, written or not.
        self.references = 0
        self.seconds = 0.0

    def close(self) -> None:
        for store in self.stores:
            store.close()

    def fill(self, papers: Iterator[Paper], until: int) -> None:
        """Write papers until the stores have ``until`` references."""
        while self.references < until and (paper := next(papers, None)) is not None:
            partition = partition_of(paper.citing.encode(), PARTITIONS)
            self.waiting[partition] += [("links", reference, value) for reference, value in paper.links.items()]
            self.waiting[partition].append(("manifests", paper.citing, paper.manifest))
            self.references += len(paper.links)
            if len(self.waiting[partition]) >= ROWS:
                self._write(partition)
        for partition in range(PARTITIONS):
            self._write(partition)

    def _write(self, partition: int) -> None:
        rows, self.waiting[partition] = self.waiting[partition], []
        began = time.perf_counter()
        self.written[partition] += len(rows)
        self.stores[partition].write(rows, {"links": self.written[partition]})
        self.seconds += time.perf_counter() - began

    def figures(self) -> dict[str, float]:
        """Return the figures at the current size."""
        return {
            "references": self.references,
            "rows_per_s": sum(self.written) / self.seconds,
            "disk_bytes_each": disk_bytes(self.folder) / self.references,
            "own_mib": process_memory()["RssAnon"] / 2**20,
        }


def run(references: int, sizes: Sequence[int], folder: Path | None = None) -> dict[str, Any]:
    """Fill the stores up to ``references``; print the figures at each of ``sizes`` on the way, and at the end."""
    made = Recombined(list(real_references()))
    papers = made.papers(0, references // REFERENCES_PER_PAPER)
    rows = []
    print(" ".join(f"{name:>{form.partition(',')[0]}}" for name, form in COLUMNS.items()), flush=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        stores = Stores(Path(name))
        for size in sorted({size for size in sizes if size < references} | {references}):
            stores.fill(papers, size)
            rows.append(stores.figures())
            print(" ".join(format(rows[-1][column], form) for column, form in COLUMNS.items()), flush=True)
        stores.close()
    return {"partitions": PARTITIONS, "sizes": rows}
