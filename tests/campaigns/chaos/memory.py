"""``python -m tests.campaigns.chaos.memory --seconds 120``: which memory of a linker grows, and how much can be freed.

Links real references, drawn at random, against a catalog that does not change, in one process, without Kafka. Reports
separately the resident memory, the used and the free part of glibc's heap, and the memory that Python has allocated; at the
end it returns free pages to the system. Linux with glibc only.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import random
import sys
import time
import tracemalloc
from collections.abc import Sequence
from typing import Final

import psutil

from benchmarks.papers import real_papers
from reflink.catalog import Catalog
from reflink.catalog.reading import read_works
from reflink.entities import Work
from reflink.linking.linker import semantic_step
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from reflink.semantic import Encoder
from tests.data import shared_data

_WORKS: Final = 100
_PAPERS: Final = 40
_BATCH: Final = 60
_EVERY_S: Final = 10.0


class _Heap(ctypes.Structure):
    """glibc's ``struct mallinfo2``."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; print a line every ten seconds, and two at the end."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.chaos.memory", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120, metavar="S", help="duration (120)")
    seconds = parser.parse_args(arguments).seconds
    libc = ctypes.CDLL("libc.so.6")
    libc.mallinfo2.restype = _Heap
    encoder = Encoder(precision="fp32")
    catalog = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision, lexical_mode=None)
    works = (work for work in read_works(shared_data() / "works.jsonl.gz") if isinstance(work, Work))
    catalog.add_encoded(list(itertools.islice(works, _WORKS)), encoder)
    papers, choice = itertools.islice(real_papers(), _PAPERS), random.Random(7)
    references = [each for _, _, cited in papers for each in cited]
    tracemalloc.start()
    began, reported, count = time.monotonic(), 0.0, 0

    def report(what: str) -> None:
        heap, mb = libc.mallinfo2(), 1 << 20
        print(
            f"{what}: resident {psutil.Process().memory_info().rss / mb:.0f} MB, heap in use {heap.uordblks / mb:.0f}, "
            f"heap kept free {heap.fordblks / mb:.0f}, Python {tracemalloc.get_traced_memory()[0] / mb:.1f}",
            flush=True,
        )

    while (now := time.monotonic() - began) < seconds:
        semantic_step(choice.sample(references, _BATCH), NativeCandidates(catalog, encoder), Policy())
        count += _BATCH
        if now - reported >= _EVERY_S:
            reported = now
            report(f"{now:.0f} s, {count:,} references")
    report("end")
    libc.malloc_trim(0)
    report("after the return of free pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
