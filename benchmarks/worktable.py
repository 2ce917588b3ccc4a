"""What the ledger's table of works takes: ``python -m benchmarks.worktable [--catalog .cache/catalogs/full] [--json]``.

Puts the works of a catalog into an empty table as the topic would bring them, so many at a time, with the making of their keys
counted in; opens it again; then looks up keys of which some work changed and keys of which none did, and reads the log.
Processor time is of the whole process, RocksDB's own threads among them: on a busy machine it tells more than the clock.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from reflink.catalog import Catalog
from reflink.entities import Work
from reflink.keys import hashed, work_key, work_keys
from workers.ledger.worktable import WorkTable

LOOKED_UP = 20_000
KEYS = 6


def measure(catalog: Path, folder: Path, works: int, batch: int) -> dict[str, float]:
    """Figures by name."""
    source = iter(Catalog.open(catalog, vectors=False, trigrams=False).works)
    table = WorkTable(folder, topic_id=None, stale_after_s=1e9)
    memory, offset, seen = resident(), 0, list[Work]()
    applying, cpu, making = 0.0, 0.0, 0.0
    for chunk in chunks(islice(source, works or None), batch):
        records = [(offset + n, 0, work) for n, work in enumerate(chunk)]
        offset += len(chunk)
        before = time.process_time()
        applying += timed(lambda records=records: table.apply(records, records[-1][0] + 1))
        cpu += time.process_time() - before
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
        "memory_grown_mb": (resident() - memory) / 1e6,
    }
    table.close()
    opened = time.perf_counter()
    table = WorkTable(folder, topic_id=None, stale_after_s=1e9)
    figures["open_ms"] = (time.perf_counter() - opened) * 1e3
    figures["disk_bytes_per_work"] = sum(path.stat().st_blocks * 512 for path in folder.rglob("*")) / offset
    figures |= looked_up(table, seen, offset, batch)
    table.close()
    return figures


def looked_up(table: WorkTable, seen: Sequence[Work], offset: int, batch: int) -> dict[str, float]:
    """Microseconds of this process's processor a call."""
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


def timed(call: Callable[[], object]) -> float:
    """Seconds."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def resident() -> int:
    """Bytes of this process in memory, without the pages of mapped files: those of the catalog are not the table's."""
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon"))


def chunks(works: Iterator[Work], size: int) -> Iterator[list[Work]]:
    """So many at a time."""
    while chunk := list(islice(works, size)):
        yield chunk


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalog", type=Path, default=Path(".cache/catalogs/full"))
    parser.add_argument("--works", type=int, default=0, help="only so many of its works")
    parser.add_argument("--batch", type=int, default=500, help="works applied at a time: a fetch of the topic")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(arguments.catalog, Path(folder) / "works", arguments.works, arguments.batch)
    if arguments.json:
        print(json.dumps(figures))
        return 0
    print(describe())
    for name, value in figures.items():
        print(f"{name:32} {value:14,.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
