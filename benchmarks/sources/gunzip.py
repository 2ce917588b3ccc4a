"""Compare libraries that decompress gzip."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.sources.generate import write
from reflink.sources.files import opened

_RECORDS = 30_000


def measure(folder: Path, rounds: int) -> dict[str, Any]:
    """Print and return megabytes of content a second of each library, reading lines."""
    path = write("openalex", folder, _RECORDS)
    with opened(path) as content:
        size = sum(map(len, content))
    runs: dict[str, Callable[[], None]] = {"gzip": lambda: _read(gzip.GzipFile(path)), "isal": lambda: _read_opened(path)}
    if importlib.util.find_spec("zlib_ng") is not None:
        gzip_ng: Any = importlib.import_module("zlib_ng.gzip_ng")
        runs["zlib-ng"] = lambda: _read(gzip_ng.GzipNGFile(path))
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.process_time()
            run()
            seconds[name].append(time.process_time() - began)
    figures = {name: round(size / statistics.median(each) / 1e6) for name, each in seconds.items()}
    for name, speed in figures.items():
        print(f"{name:8} {speed:6,} MB/s")
    return {"gunzip_mb_per_second": figures}


def _read(file: Any) -> None:
    with file:
        for _ in file:
            pass


def _read_opened(path: Path) -> None:
    with opened(path) as content:
        for _ in content:
            pass
