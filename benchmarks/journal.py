"""What the journal of poison that kills costs: ``python -m benchmarks.journal``.

A batch is written down and struck out twice (decoding, handling), and asked for suspects record by record while it is taken.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.machine import describe
from workers.journal import Journal
from workers.stage import Received

BATCHES = 5000


def main() -> None:
    print(describe())
    for size, partitions in ((1, 1), (512, 1), (512, 12)):
        per = size // partitions + 1
        batch = [Received("references", n // per, n, b"key", b"value", (), 0) for n in range(size)]
        with tempfile.TemporaryDirectory() as folder, Journal(Path(folder), "bench", deaths=3) as journal:
            hand, asked = [], []
            for _ in range(BATCHES):
                started = time.perf_counter()
                hand_of_batch = journal.hand(batch)
                for _ in range(2):
                    with hand_of_batch:
                        pass
                journal.passed(batch)
                ended = time.perf_counter()
                for record in batch:
                    journal.suspect(record)
                asked.append(time.perf_counter() - ended)
                hand.append(ended - started)
        rare = statistics.quantiles(hand, n=100)[98]
        print(
            f"{size:4} records of {partitions:2} partitions: {statistics.median(hand) * 1e6:.1f} µs a batch for the hand "
            f"(99%: {rare * 1e6:.0f} µs), {statistics.median(asked) * 1e6:.1f} µs for suspects"
        )


if __name__ == "__main__":
    main()
