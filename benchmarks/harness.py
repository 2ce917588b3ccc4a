"""What the commands of the benchmarks share: the parser, common options, repeated timing, and the file of figures."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from reflink.catalog.reading import read_works
from reflink.entities import Work
from tests.data import find_shared_data


def parser(doc: str | None, *, figures: bool = True) -> argparse.ArgumentParser:
    """Return a parser whose help is the module's docstring, with the option ``--json`` if the command saves ``figures``."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if figures:
        add_json(made)
    return made


def add_json(made: argparse.ArgumentParser) -> None:
    """Add ``--json``, the file for ``save``."""
    made.add_argument("--json", type=Path, metavar="FILE", help="write the figures")


def add_protocol(made: argparse.ArgumentParser) -> None:
    """Add ``--works`` and ``--references``, the files of the evaluation protocol. Without the shared data both are required."""
    shared = find_shared_data()
    for name, file in (("works", "works.jsonl.gz"), ("references", "references_dev.jsonl.gz")):
        default = shared and shared / file
        made.add_argument(f"--{name}", type=Path, default=default, required=shared is None, help="default: the shared data's")


def add_catalog(made: argparse.ArgumentParser, *, profile: bool = True) -> None:
    """Add ``--works`` and ``--snapshot``, the catalog of started workers, and ``--profile``."""
    made.add_argument("--works", type=Path, default=Path("examples/works.jsonl"), help="the catalog")
    made.add_argument("--snapshot", type=Path, metavar="DIR", help="a folder built from the same works")
    if profile:
        made.add_argument("--profile", choices=["paper", "production"], default="production")


def works_of(path: Path) -> list[Work]:
    """Return the works of a file without its invalid lines."""
    return [work for work in read_works(path) if isinstance(work, Work)]


def numbers(text: str) -> list[int]:
    """Parse numbers separated by commas."""
    return [int(each) for each in text.split(",")]


def seconds(work: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Return the seconds of each of ``rounds`` calls, after one uncounted call."""
    taken = []
    for _ in range(rounds + 1):
        began = clock()
        work()
        taken.append(clock() - began)
    return taken[1:]


def save(path: Path | None, figures: Mapping[str, Any]) -> None:
    """Write the machine and the figures as JSON. Without a path, do nothing."""
    if path is not None:
        text = json.dumps({"machine": describe(), **figures}, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
