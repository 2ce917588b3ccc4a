"""Measure the reader of PubMed's files on a file of the baseline, beside lxml's iterparse alone."""

from __future__ import annotations

import gc
import gzip
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from lxml import etree

from reflink.sources.registry import source
from reflink.sources.source import Source

_AIM: Final = 5_000
#: The shared file, and its number of records.
FILE: Final = "medline/pubmed20n0014.xml.gz"
RECORDS: Final = 30_000


def measure(shared: Path, rounds: int) -> tuple[dict[str, Any], bool]:
    """Print and return records a second of both, medians of alternating rounds, and whether the aim is reached."""
    path, reader = shared / FILE, source("medline")
    runs: dict[str, Callable[[], int]] = {"gzip_iterparse": lambda: iterated(path), "reader": lambda: read(reader, path)}
    if len(counts := {run() for run in runs.values()}) != 1:
        raise AssertionError(f"medline: the readers differ in the number of records: {counts}")
    speeds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            gc.collect()
            began = time.process_time()
            number = run()
            speeds[name].append(number / (time.process_time() - began))
    found: dict[str, Any] = {name: round(statistics.median(each)) for name, each in speeds.items()}
    found["aim"] = _AIM
    print("medline", " ".join(f"{name}={value:,}" for name, value in found.items()), flush=True)
    return found, found["reader"] >= _AIM


def iterated(path: Path) -> int:
    """Parse the records one by one, read no field, and return their number."""
    number = 0
    with gzip.open(path) as content:
        for _, element in etree.iterparse(content, tag=("PubmedArticle", "PubmedBookArticle")):
            number += 1
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
    return number


def read(reader: Source, path: Path) -> int:
    """Read all records, and return their number."""
    return sum(1 for file in reader.files([path]) for _ in reader.read(file))
