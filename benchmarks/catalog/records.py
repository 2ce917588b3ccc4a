"""Measure the works of a catalog on disk: bytes, lookups, and the memory and time of writing them.

    python -m benchmarks.catalog.records [--works FILE] [--millions 1,5,20] [--pairs 40] [--folder DIR] [--json FILE]

Sizes and lookup times are measured on the real works. Lookups are compared with plain JSON lines, mapped, with an offset of 8
bytes per row; caches are empty, rows drawn at random. Then catalogs of ``--millions`` works are written and deleted again,
each by a process of its own: the real works repeated under other identifiers, with titles, authors and volumes exchanged among
them. One repeated work in 50 keeps its PMID, which it then shares with the original. Seconds count only ``WorksWriter``;
memory is the memory of the process, with 1 GB for the works to draw from; ``grown`` is its growth while writing. Finally the
benchmark builds a table of ``--pairs`` million keys without works, to measure the memory and time of the table alone.
"""

from __future__ import annotations

import json
import mmap
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.machine import describe, process_memory
from reflink.catalog.mapped import MappedWorks
from reflink.catalog.writing import WorksWriter
from reflink.entities import Work
from reflink.storage.hashtable import HashTableBuilder
from tests.data import find_shared_data

_MILLION: Final = 1_000_000
_LOOKUPS: Final = 20_000
_CHUNK: Final = 10_000
_SHARING: Final = 50


def recombined(works: Sequence[Work], count: int) -> Iterator[Work]:
    """Yield ``count`` works: the given ones, then repetitions with other identifiers and exchanged fields."""
    draw, size = Random(1), len(works)
    for number in range(count):
        copy, at = divmod(number, size)
        work = works[at]
        if copy:
            ids = {kind: f"{value}~{copy}" for kind, value in work.ids if value}
            if number % _SHARING == 0 and work.ids.pmid:
                ids["pmid"] = work.ids.pmid
            title, authors, volume = (works[draw.randrange(size)] for _ in range(3))
            exchanged = {"title": title.title, "authors": authors.authors, "volume": volume.volume}
            work = work.model_copy(update={"id": f"{work.id}~{copy}", "ids": work.ids.model_copy(update=ids), **exchanged})
        yield work


class PeakMemory:
    """A thread that records the largest anonymous memory of this process, in bytes."""

    def __init__(self) -> None:
        self.before = self.peak = process_memory()["RssAnon"]
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            self.peak = max(self.peak, process_memory()["RssAnon"])

    def stop(self) -> None:
        """End the thread."""
        self._done.set()
        self._thread.join()


def write(works: Sequence[Work], count: int, folder: Path) -> dict[str, float]:
    """Write ``count`` works to the folder; return the figures."""
    made = recombined(works, count)
    spent = {"wall": 0.0, "processor": 0.0}
    memory = PeakMemory()

    def timed(step: Callable[[], object]) -> None:
        wall, processor = time.perf_counter(), time.process_time()
        step()
        spent["wall"] += time.perf_counter() - wall
        spent["processor"] += time.process_time() - processor

    def append(chunk: Sequence[Work]) -> None:
        for work in chunk:
            writer.append(work)

    writer = WorksWriter(folder)
    for start in range(0, count, _CHUNK):
        chunk = [next(made) for _ in range(min(_CHUNK, count - start))]
        timed(partial(append, chunk))
    appended = dict(spent)
    timed(lambda: writer.__exit__(None, None, None))
    memory.stop()
    base, size = MappedWorks.open(folder), sum(path.stat().st_size for path in folder.iterdir())
    return {
        "works": count,
        "s of processor a million works": spent["processor"] / count * _MILLION,
        "of these after the last work": (spent["processor"] - appended["processor"]) / count * _MILLION,
        "s a million works": spent["wall"] / count * _MILLION,
        "MB of memory grown": (memory.peak - memory.before) / 1e6,
        "MB of memory": memory.peak / 1e6,
        "bytes a work": size / count,
        "works kept": len(base),
        "works with another canonical work": sum(base.canonical(row) != row for row in range(len(base))),
    }


def build_table(pairs: int, folder: Path) -> dict[str, float]:
    """Build a table of distinct keys with a temporary file in the folder; return the figures."""
    memory, begin = PeakMemory(), time.process_time()
    builder = HashTableBuilder(folder=folder)
    for row in range(pairs):
        builder.add(f"doi:10.1000/{row}", row)
    added = time.process_time()
    table = builder.build()
    built = time.process_time()
    shared = sum(1 for _ in table.shared())
    scanned = time.process_time()
    memory.stop()
    return {
        "pairs": pairs,
        "s of processor a million pairs, adding": (added - begin) / pairs * _MILLION,
        "s of processor a million pairs, building": (built - added) / pairs * _MILLION,
        "s of processor a million pairs, looking for shared keys": (scanned - built) / pairs * _MILLION,
        "MB of memory grown": (memory.peak - memory.before) / 1e6,
        "bytes a pair": sum(array.nbytes for array in table.arrays().values()) / pairs,
        "groups of equal hashes": shared,
    }


def plain_lines(works: Sequence[Work], folder: Path) -> tuple[Callable[[int], Work], int]:
    """Write JSON lines; return the lookup by row in the mapped file, and the bytes of the lines and of their offsets."""
    path, lines = folder / "plain.jsonl", [work.to_json() + b"\n" for work in works]
    path.write_bytes(b"".join(lines))
    offsets = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return lambda row: Work.from_json(data[int(offsets[row]) : int(offsets[row + 1]) - 1]), path.stat().st_size + offsets.nbytes


def microseconds(lookup: Callable[[Any], object], keys: Sequence[Any], before: Callable[[], None] = lambda: None) -> float:
    """Return the processor time of a lookup in µs: the minimum of three rounds, each after ``before``."""
    best = float("inf")
    for _ in range(3):
        before()
        start = time.process_time()
        for key in keys:
            lookup(key)
        best = min(best, time.process_time() - start)
    return best / len(keys) * _MILLION


def lookups(works: Sequence[Work], folder: Path) -> tuple[Table, dict[str, Any]]:
    """Return the sizes of the files and the costs of lookups, as a table and as figures."""
    with WorksWriter(folder / "works") as writer:
        for work in works:
            writer.append(work)
    base = MappedWorks.open(folder / "works")
    plain, plain_bytes = plain_lines(works, folder)
    rows = Random(3).choices(range(len(base)), k=_LOOKUPS)
    names = [base.work(row).id for row in rows]
    figures: dict[str, Any] = {
        "works": len(base),
        "bytes a work": {path.name: path.stat().st_size / len(base) for path in sorted((folder / "works").iterdir())},
        "bytes a work, plain lines and offsets": plain_bytes / len(base),
        "µs a work by row": microseconds(base.work, rows, base.forget),
        "µs a work by row, plain lines": microseconds(plain, rows),
        "µs in order of rows": microseconds(base.work, range(min(_LOOKUPS, len(base))), base.forget),
        "µs a row by id": microseconds(base.find, names, base.forget),
        "µs an absent id": microseconds(base.find, [f"{name}~" for name in names], base.forget),
    }
    table = Table("", "", title=f"{len(base):,} real works")
    for name, size in figures["bytes a work"].items():
        table.add_row(f"bytes a work, {name}", f"{size:.2f}")
    table.add_row("bytes a work, all files", f"{sum(figures['bytes a work'].values()):.2f}")
    for name, value in figures.items():
        if isinstance(value, float):
            table.add_row(name, f"{value:.2f}")
    return table, figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = harness.parser(__doc__)
    shared = find_shared_data()
    parser.add_argument("--works", type=Path, default=shared and shared / "works.jsonl.gz", required=shared is None)
    parser.add_argument("--millions", type=lambda text: [float(each) for each in text.split(",") if each], default="1,5,20")
    parser.add_argument("--folder", type=Path, help="where catalogs are written (default: the folder for temporary files)")
    parser.add_argument("--pairs", type=float, default=40.0, help="millions of keys of a table built alone")
    parser.add_argument("--only", type=int, metavar="WORKS", help="write this number of works and print the figures as JSON")
    parser.add_argument("--only-pairs", type=int, metavar="KEYS", help="build a table of this number of keys, print figures")
    args = parser.parse_args(arguments)
    if args.only_pairs:
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            print(json.dumps(build_table(args.only_pairs, Path(folder))))
        return
    works = harness.works_of(args.works)
    if args.only:
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            print(json.dumps(write(works, args.only, Path(folder) / "works")))
        return
    console = Console()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        shown, figures = lookups(works, Path(folder))
    console.print(describe(), shown, sep="\n")
    written = []
    steps = [f"--only={round(millions * _MILLION)}" for millions in args.millions]
    for step in (*steps, *([f"--only-pairs={round(args.pairs * _MILLION)}"] if args.pairs else [])):
        command = [sys.executable, "-m", "benchmarks.catalog.records", "--works", str(args.works), step]
        command += [] if args.folder is None else [f"--folder={args.folder}"]
        written.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
        table = Table("written", "")
        for name, value in written[-1].items():
            table.add_row(name, f"{value:,.0f}" if value == int(value) else f"{value:,.2f}")
        console.print(table)
    harness.save(args.json, {"real": figures, "written": written})


if __name__ == "__main__":
    main()
