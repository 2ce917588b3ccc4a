"""Measure whole imports: from the files of a source through the state to works as JSON lines, in one process."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

_PROGRAM = """
import json, sys, time
from pathlib import Path
from benchmarks.machine import process_memory
from reflink.merging import Rules
from reflink.sources.registry import source
from reflink.updating import Input, State, update
from reflink.updating.output import write_works
name, path, folder, compare = sys.argv[1:]
inputs, rules = [Input(source(name), (Path(path),))], Rules(compare=compare == "compare")
began = time.process_time()
with State(Path(folder) / "state") as state:
    update(state, inputs, rules=rules)
    works = write_works(state, Path(folder) / "works.jsonl.gz")
seconds = time.process_time() - began
with State(Path(folder) / "state") as state:
    began = time.process_time()
    update(state, inputs, rules=rules)
    again = time.process_time() - began
size = sum(file.stat().st_size for file in (Path(folder) / "state").iterdir())
print(json.dumps([works, seconds, again, size, process_memory()["VmHWM"]]))
"""


def measure(files: Mapping[str, tuple[Path, int]], folder: Path, rounds: int) -> dict[str, Any]:
    """Print and return the figures of importing each source's file, which has this number of records, with and without compare.

    Records per second of processor time (median), seconds of an update without new files, bytes of the state per record, and
    the peak memory of the process.
    """
    figures: dict[str, Any] = {}
    for name, (path, records) in files.items():
        for how in ("identifiers", "compare"):
            runs = [_run(name, path, folder / f"{name}-{how}-{number}", how) for number in range(rounds)]
            speeds = [records / seconds for _, seconds, *_ in runs]
            works, _, again, size, peak = runs[-1]
            figures[f"{name} {how}"] = found = {
                "records": records,
                "works": works,
                "records_per_second": round(statistics.median(speeds)),
                "range": f"{min(speeds):,.0f}-{max(speeds):,.0f}",
                "update_without_new_files_s": round(again, 3),
                "state_bytes_per_record": round(size / records),
                "peak_mb": round(peak / 1e6),
            }
            print(name, how, " ".join(f"{key}={value}" for key, value in found.items()), flush=True)
    return figures


def _run(name: str, path: Path, folder: Path, how: str) -> tuple[int, float, float, int, int]:
    folder.mkdir()
    command = [sys.executable, "-c", _PROGRAM, name, str(path), str(folder), how]
    done = subprocess.run(command, check=True, capture_output=True)
    works, seconds, again, size, peak = orjson.loads(done.stdout)
    return int(works), float(seconds), float(again), int(size), int(peak)
