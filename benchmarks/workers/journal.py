"""Measure the cost of the journal that finds records which crash the process: ``python -m benchmarks.workers.journal``.

A batch is written and deleted twice (decoding, handling), and each record is checked for suspicion while it is taken.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.machine import describe
from workers.records import Received
from workers.runtime.crash_journal import Journal

BATCHES = 5000


def main() -> None:
    print(describe())
    for size, partitions in ((1, 1), (512, 1), (512, 12)):
        per = size // partitions + 1
        batch = [Received("references", n // per, n, b"key", b"value", (), 0) for n in range(size)]
        with tempfile.TemporaryDirectory() as folder, Journal(Path(folder), "bench", deaths=3) as journal:
            writing, checking = [], []
            for _ in range(BATCHES):
                started = time.perf_counter()
                in_flight = journal.in_flight(batch)
                for _ in range(2):
                    with in_flight:
                        pass
                journal.passed(batch)
                ended = time.perf_counter()
                for record in batch:
                    journal.suspect(record)
                checking.append(time.perf_counter() - ended)
                writing.append(ended - started)
        rare = statistics.quantiles(writing, n=100)[98]
        print(
            f"{size:4} records of {partitions:2} partitions: {statistics.median(writing) * 1e6:.1f} µs to write a batch "
            f"(99%: {rare * 1e6:.0f} µs), {statistics.median(checking) * 1e6:.1f} µs to check its records"
        )


if __name__ == "__main__":
    main()
