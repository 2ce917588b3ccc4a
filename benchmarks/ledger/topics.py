"""Fill ``links`` and ``manifests`` with papers whose references wait, from several processes."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from benchmarks.ledger.recombined import BLOCK, REFERENCES_PER_PAPER, Marked, Recombined
from workers.config.settings import KafkaSettings
from workers.kafka.bulk_producer import Sender
from workers.kafka.topics import partition_of

PARTITIONS: Final = 12
PROCESSES: Final = 2


def fill(
    kafka: KafkaSettings, made: Recombined, references: int, marked: Sequence[Marked] = (), processes: int = PROCESSES
) -> float:
    """Send ``references`` waiting references with the marked ones spread evenly; return the seconds. Raises SystemExit."""
    began = time.monotonic()
    fork = multiprocessing.get_context("fork")  # shares the loaded data
    workers = [fork.Process(target=_send, args=(kafka, made, *part)) for part in parts(references, marked, processes)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    if any(each.exitcode for each in workers):
        raise SystemExit("the links could not be sent")
    return time.monotonic() - began


def parts(references: int, marked: Sequence[Marked], processes: int) -> list[tuple[int, int, Sequence[Marked]]]:
    """Return first paper, number of papers and marked references of each process."""
    papers = references // REFERENCES_PER_PAPER
    blocks = -(-papers // BLOCK)
    edges = [min(papers, BLOCK * (blocks * number // processes)) for number in range(processes + 1)]
    shares = [len(marked) * edge // max(1, papers) for edge in edges]
    return [
        (first, last - first, marked[begin:end])
        for (first, last), (begin, end) in zip(pairwise(edges), pairwise(shares), strict=True)
        if last > first
    ]


def placed(references: int, marked: Sequence[Marked], processes: int = PROCESSES) -> dict[str, Marked]:
    """Return the marked references by the ids under which ``fill`` sends them."""
    return {
        id_: mark
        for first, count, chosen in parts(references, marked, processes)
        for id_, mark in Recombined.placed(first, count, chosen).items()
    }


def _send(kafka: KafkaSettings, made: Recombined, first: int, count: int, marked: Sequence[Marked]) -> None:
    with Sender(kafka) as sender:
        for paper in made.papers(first, count, marked):
            citing = paper.citing.encode()
            partition = partition_of(citing, PARTITIONS)
            for reference, value in paper.links.items():
                sender.send("links", reference.encode(), value, partition=partition)
            sender.send("manifests", citing, paper.manifest, partition=partition)
