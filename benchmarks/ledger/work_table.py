"""Measure the ledger's table of works: ``python -m benchmarks.ledger.work_table [--catalog FOLDER] [--json FILE]``.

Puts the works of a catalog into an empty table in chunks, as the topic would bring them, including the computation of their
keys, and opens it again. Processor time is of the whole process, including RocksDB's threads: on a machine with other load it
is more reliable than wall time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from workers.ledger.stores.work_table import WorkTable

from benchmarks import harness
from benchmarks.machine import describe, disk_bytes, process_memory
from reflink.blocking.keys import hashed, work_key, work_keys
from reflink.catalog import Catalog
from reflink.entities import Work


def measure(catalog: Path, folder: Path, works: int, batch: int) -> dict[str, float]:
    """Return the figures by name."""
    source = iter(Catalog.open(catalog, vectors=False, trigrams=False).works)
    table = WorkTable(folder, topic_id=None, stale_after_s=1e9)
    memory, offset = process_memory()["RssAnon"], 0
    applying, cpu, making = 0.0, 0.0, 0.0
    for chunk in chunks(islice(source, works or None), batch):
        records = [(offset + n, 0, work) for n, work in enumerate(chunk)]
        offset += len(chunk)
        before, began = time.process_time(), time.perf_counter()
        table.apply(records, records[-1][0] + 1)
        applying, cpu = applying + time.perf_counter() - began, cpu + time.process_time() - before
        before = time.process_time()
        for work in chunk:
            _ = [hashed(key) for key in (*work_keys(work), work_key(work.id))]
        making += time.process_time() - before
    figures = {
        "works": offset,
        "works_per_s": offset / applying,
        "works_per_cpu_s": offset / cpu,
        "cpu_us_per_work": cpu / offset * 1e6,
        "of_which_keys_us": making / offset * 1e6,
        "memory_grown_mb": (process_memory()["RssAnon"] - memory) / 1e6,
    }
    table.close()
    opened = time.perf_counter()
    table = WorkTable(folder, topic_id=None, stale_after_s=1e9)
    figures["open_ms"] = (time.perf_counter() - opened) * 1e3
    figures["disk_bytes_per_work"] = disk_bytes(folder) / offset
    table.close()
    return figures


def chunks(works: Iterator[Work], size: int) -> Iterator[list[Work]]:
    """Yield lists of ``size`` works; the last may be shorter."""
    while chunk := list(islice(works, size)):
        yield chunk


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    parser.add_argument("--catalog", type=Path, default=Path(".cache/catalogs/full"))
    parser.add_argument("--works", type=int, default=0, help="maximum number of its works (0: all)")
    parser.add_argument("--batch", type=int, default=500, help="works applied at a time: a fetch of the topic")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(arguments.catalog, Path(folder) / "works", arguments.works, arguments.batch)
    print(describe())
    for name, value in figures.items():
        print(f"{name:32} {value:14,.1f}")
    harness.save(arguments.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
