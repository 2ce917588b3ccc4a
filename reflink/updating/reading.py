"""Read the files of sources, several side by side, into batches of encoded records.

Files arrive in any order and interleaved; the records of one file arrive in its order. Reading processes are spawned, since the
state's threads do not survive a fork.
"""

from __future__ import annotations

import multiprocessing
import queue
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from typing import Final, NamedTuple

from reflink.catalog.filters import Filters
from reflink.errors import ReflinkError
from reflink.sources.source import Source, SourceFile, SourceRecord
from reflink.updating.encoded import Encoded, encode

#: Number of records per batch, and of batches that wait for each process.
_BATCH: Final = 1000
_WAITING: Final = 4
#: Maximum number of faults per file that are reported; all are counted.
MAX_SHOWN: Final = 20
#: How often to look for a process that has ended without a word, in seconds.
_CHECK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Task:
    """A file to read, and its source."""

    source: Source
    file: SourceFile


class Batch(NamedTuple):
    """Records of the task with this number, and the faults between them. ``ended``: it is the last batch of the file.

    ``damage``: why the rest of the file could not be read.
    """

    task: int
    records: list[Encoded]
    faults: list[str]
    bad: int = 0
    ended: bool = False
    damage: str | None = None


def read_all(tasks: Sequence[Task], filters: Filters, jobs: int) -> Iterator[Batch]:
    """Yield the batches of all files; ``jobs`` processes read, with 1 this process itself."""
    if jobs <= 1 or len(tasks) <= 1:
        for number, task in enumerate(tasks):
            yield from _read(number, task, filters)
    else:
        yield from _read_side_by_side(tasks, filters, min(jobs, len(tasks)))


def _read(number: int, task: Task, filters: Filters) -> Iterator[Batch]:
    name, records, faults, bad, shown, damage = task.source.name, list[Encoded](), list[str](), 0, 0, None
    try:
        for each in task.source.read(task.file):
            if isinstance(each, SourceRecord):
                records.append(encode(name, each, filters))
            else:
                bad += 1
                if shown < MAX_SHOWN:
                    shown += 1
                    faults.append(str(each))
            if len(records) == _BATCH:
                yield Batch(number, records, faults, bad)
                records, faults, bad = [], [], 0
    except (ReflinkError, OSError) as error:
        damage = str(error)
    yield Batch(number, records, faults, bad, True, damage)


def _work(tasks: Queue[tuple[int, Task] | None], results: Queue[Batch], filters: Filters) -> None:
    """Read files until a None arrives: the body of a process."""
    while (task := tasks.get()) is not None:
        for batch in _read(*task, filters):
            results.put(batch)


def _read_side_by_side(tasks: Sequence[Task], filters: Filters, jobs: int) -> Iterator[Batch]:
    context = multiprocessing.get_context("spawn")
    waiting: Queue[tuple[int, Task] | None] = context.Queue()
    results: Queue[Batch] = context.Queue(_WAITING * jobs)
    for task in enumerate(tasks):
        waiting.put(task)
    for _ in range(jobs):
        waiting.put(None)
    processes = [context.Process(target=_work, args=(waiting, results, filters), daemon=True) for _ in range(jobs)]
    for process in processes:
        process.start()
    open_files = set(range(len(tasks)))
    try:
        while open_files:
            try:
                batch = results.get(timeout=_CHECK_S)
            except queue.Empty:
                yield from _lost(processes, open_files, results)
                continue
            if batch.ended:
                open_files.discard(batch.task)
            yield batch
    finally:
        for process in processes:
            process.terminate()


def _lost(processes: Sequence[BaseProcess], open_files: set[int], results: Queue[Batch]) -> Iterator[Batch]:
    """End the remaining files if no process is left, e.g. since the system killed them for want of memory."""
    if any(process.is_alive() for process in processes):
        return
    with suppress(queue.Empty):
        while True:
            batch = results.get(timeout=_CHECK_S)
            if batch.ended:
                open_files.discard(batch.task)
            yield batch
    codes = sorted({process.exitcode for process in processes if process.exitcode})
    for task in sorted(open_files):
        yield Batch(task, [], [], 0, True, f"the reading process ended with {codes}: read the file again with --jobs 1")
    open_files.clear()
