"""Measure the ledger's table of works: ``python -m benchmarks.ledger.work_table [--catalog FOLDER] [--json FILE]``.

Puts the works of a catalog into an empty table in chunks, as the topic would bring them, including the computation of their
keys; opens it again; then looks up keys of which some work changed and keys of which none did, and reads the log. Processor
time is of the whole process, including RocksDB's threads: on a machine with other load it is more reliable than wall time.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.machine import describe, disk_bytes, process_memory
from reflink.blocking.keys import hashed, work_key, work_keys
from reflink.catalog import Catalog
from reflink.entities import Work
from workers.ledger.stores.work_table import WorkTable

LOOKED_UP = 20_000
KEYS = 6


def measure(catalog: Path, folder: Path, works: int, batch: int) -> dict[str, float]:
    """Return the figures by name."""
    source = iter(Catalog.open(catalog, vectors=False, trigrams=False).works)
    table = WorkTable(folder, topic_id=None, stale_after_s=1e9)
    memory, offset, seen = process_memory()["RssAnon"], 0, list[Work]()
    applying, cpu, making = 0.0, 0.0, 0.0
    for chunk in chunks(islice(source, works or None), batch):
        records = [(offset + n, 0, work) for n, work in enumerate(chunk)]
        offset += len(chunk)
        before, began = time.process_time(), time.perf_counter()
        table.apply(records, records[-1][0] + 1)
        applying, cpu = applying + time.perf_counter() - began, cpu + time.process_time() - before
        seen += chunk[:: max(1, batch // 50)]
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
    figures |= looked_up(table, seen, offset, batch)
    table.close()
    return figures


def looked_up(table: WorkTable, seen: Sequence[Work], offset: int, batch: int) -> dict[str, float]:
    """Return microseconds of this process's processor time per call."""
    draw = random.Random(1)
    present = [[hashed(key) for key in work_keys(draw.choice(seen))][:KEYS] for _ in range(LOOKED_UP)]
    absent = [[draw.randbytes(8) for _ in range(KEYS)] for _ in range(LOOKED_UP)]
    ids = [draw.choice(seen).id for _ in range(LOOKED_UP)]
    starts = [draw.randrange(max(1, offset - batch)) for _ in range(200)]
    calls: dict[str, tuple[Callable[[Any], object], Sequence[Any]]] = {
        "changed_since_present_us": (lambda keys: table.changed_since(keys, 0), present),
        "changed_since_absent_us": (lambda keys: table.changed_since(keys, 0), absent),
        "get_us": (table.get, ids),
        "canonical_us": (table.canonical, ids),
        "alive_us": (table.alive, ids),
        "changes_of_1_us": (lambda start: table.changes(start, 1), starts),
        f"changes_of_{batch}_us": (lambda start: table.changes(start, batch), starts),
    }
    figures = {}
    for name, (call, arguments) in calls.items():
        before = time.process_time()
        for each in arguments:
            call(each)
        figures[name] = (time.process_time() - before) / len(arguments) * 1e6
    return figures


def chunks(works: Iterator[Work], size: int) -> Iterator[list[Work]]:
    """Yield lists of ``size`` works; the last may be shorter."""
    while chunk := list(islice(works, size)):
        yield chunk


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    parser.add_argument("--catalog", type=Path, default=Path(".cache/catalogs/full"))
    parser.add_argument("--works", type=int, default=0, help="only so many of its works")
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
