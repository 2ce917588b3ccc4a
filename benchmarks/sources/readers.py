"""Measure the speed and memory of the readers of sources."""

from __future__ import annotations

import gc
import gzip
import statistics
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import orjson

from benchmarks.sources.generate import write
from reflink.errors import BadRecord
from reflink.sources.crossref import Crossref
from reflink.sources.datacite import DataCite
from reflink.sources.openalex import OpenAlex
from reflink.sources.s2 import SemanticScholar
from reflink.sources.source import Source
from reflink.storage.decompression import decompressed
from tests.data import find_shared_data

SOURCES: Final[dict[str, Source]] = {each.name: each for each in (Crossref(), OpenAlex(), DataCite(), SemanticScholar())}
#: Shared files of each source.
_SHARED: Final = {"crossref": ("crossref",), "openalex": ("openalex/works_part_test.gz",),
                  "datacite": ("datacite/datacite_1k_records.jsonl.gz",)}  # fmt: skip
_AIM: Final = 10_000
_MAX_MEMORY: Final = 500e6
#: The file of the second measurement of memory is this many times as large.
_LARGER: Final = 4

Open = Callable[[IO[bytes]], IO[bytes]]


def measure(names: Sequence[str], folder: Path, records: int, rounds: int) -> tuple[dict[str, Any], bool]:
    """Print and return the figures of each source, and whether all reach the aim."""
    figures: dict[str, Any] = {}
    met = True
    for name in names:
        path = write(name, folder, records)
        found = _speeds(name, path, rounds)
        found["peak_mb"] = round(_peak(name, path) / 1e6)
        path.unlink()
        larger = write(name, folder, records * _LARGER)
        found[f"peak_mb_of_{_LARGER}_times_the_records"] = round(_peak(name, larger) / 1e6)
        larger.unlink()
        if name == "crossref":
            found["peak_mb_with_a_record_of_200_mb"] = round(max(_peak(name, each) for each in _oversized(folder)) / 1e6)
        aim = min(_AIM, found["gzip_orjson"] / 2)
        met = met and found["reader"] >= aim and found[f"peak_mb_of_{_LARGER}_times_the_records"] * 1e6 < _MAX_MEMORY
        found["aim"] = round(aim)
        shared = find_shared_data()
        if shared is not None and name in _SHARED:
            paths = [shared / "sources" / each for each in _SHARED[name]]
            found["shared_records"], found["shared_bad"] = _counts(SOURCES[name], paths)
        figures[name] = found
        print(
            name,
            " ".join(f"{key}={value if isinstance(value, str) else format(value, ',')}" for key, value in found.items()),
            flush=True,
        )
    return figures, met


def read(source: Source, paths: Sequence[Path]) -> int:
    """Read all records, and return their number."""
    return sum(1 for file in source.files(paths) for _ in source.read(file))


def _counts(source: Source, paths: Sequence[Path]) -> tuple[int, int]:
    found = [each for file in source.files(paths) for each in source.read(file)]
    return len(found), sum(isinstance(each, BadRecord) for each in found)


def _speeds(name: str, path: Path, rounds: int) -> dict[str, Any]:
    runs: dict[str, Callable[[], int]] = {
        "gzip_orjson": lambda: _parsed(path, _gzip),
        "isal_orjson": lambda: _parsed(path, _isal),
        "reader": lambda: read(SOURCES[name], [path]),
    }
    speeds: dict[str, list[float]] = {key: [] for key in runs}
    counts = {run() for run in runs.values()}
    if len(counts) != 1:
        raise AssertionError(f"{name}: the readers differ in the number of records: {counts}")
    for _ in range(rounds):
        for key, run in runs.items():
            gc.collect()
            began = time.process_time()
            number = run()
            speeds[key].append(number / (time.process_time() - began))
    found: dict[str, Any] = {key: round(statistics.median(each)) for key, each in speeds.items()}
    found["reader_range"] = f"{min(speeds['reader']):,.0f}-{max(speeds['reader']):,.0f}"
    return found


def _parsed(path: Path, open_: Open) -> int:
    """Decompress and parse all records with orjson alone, and return their number."""
    if path.suffix == ".tar":
        with tarfile.open(path) as archive:
            members = (archive.extractfile(member) for member in archive)
            return sum(len(orjson.loads(open_(member).read())["items"]) for member in members if member is not None)
    with path.open("rb") as stored:
        number = 0
        for line in open_(stored):
            orjson.loads(line)
            number += 1
    return number


def _gzip(stored: IO[bytes]) -> Any:
    return gzip.GzipFile(fileobj=stored)


def _isal(stored: IO[bytes]) -> Any:
    begin = stored.read(6)
    stored.seek(0)
    return decompressed(begin, stored)


def _oversized(folder: Path) -> Iterator[Path]:
    """Yield a file of JSON lines, and one of a list, with a record of 200 MB between others."""
    for name, begin, between, end in (("lines.jsonl.gz", b"", b"\n", b""), ("list.json.gz", b'{"items":[', b",", b"]}")):
        path = folder / name
        with gzip.open(path, "wb", 1) as file:
            file.write(begin + b'{"DOI":"10.5555/1"}' + between + b'{"DOI":"10.5555/2","title":["')
            for _ in range(200):
                file.write(b"words ]}, " * 100_000)
            file.write(b'"]}' + between + b'{"DOI":"10.5555/3"}' + end)
        yield path


def _peak(name: str, path: Path) -> int:
    """Return the peak memory in bytes of a process that reads the file."""
    # Not getrusage, whose maximum includes that of the process before it started this program.
    program = (
        "import sys; from pathlib import Path; from benchmarks.machine import process_memory; "
        "from benchmarks.sources.readers import SOURCES, read; "
        "read(SOURCES[sys.argv[1]], [Path(sys.argv[2])]); print(process_memory()['VmHWM'])"
    )
    done = subprocess.run([sys.executable, "-c", program, name, path], check=True, capture_output=True, text=True)
    return int(done.stdout)
