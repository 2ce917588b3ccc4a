"""Catalogs of several sizes, each the beginning of the next larger one, and the references that are searched in all of them.

The real works come first, those that references cite before the others; works made from them follow (benchmarks.scale.works).
Some references are held out: no catalog has the works they cite, and no work is made from these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import orjson

from benchmarks.lexical.corpus import split
from benchmarks.scale.real import Pool
from benchmarks.scale.works import added
from benchmarks.semantic.search import synthetic
from reflink.catalog.build import build
from reflink.entities import Reference, Work
from reflink.evaluation.records import read_queries, read_works
from reflink.evaluation.worlds import Groups
from reflink.semantic.index import KIND
from reflink.storage import checksums, flatfiles

#: Dimension of the default encoder's vectors.
DIM: Final = 384


class Protocol(NamedTuple):
    """``works``: all works of a catalog, the cited works first. ``present``: references to works of the catalog. ``absent``:
    references whose works are held out.
    """

    works: list[Work]
    present: list[Reference]
    absent: list[Reference]


def digest(works: Path, references: Path, held_out: int) -> str:
    """Return a name of what the works of a catalog depend on, beside their count: 16 digits of a digest of the contents."""
    inputs = (checksums.sha256(works), checksums.sha256(references), str(held_out))
    return hashlib.sha256(" ".join(inputs).encode()).hexdigest()[:16]


def protocol(works: Path, references: Path, held_out: int) -> Protocol:
    """Read the files of the evaluation protocol; hold out the works that ``held_out`` references cite. Raises BadRecord."""
    listings = list(read_works(works))
    without, present, removed = split(list(read_queries(references)), Groups.read(listings), held_out)
    targets = {query.truth for query in present}
    kept = [listing.work for listing in listings if listing.work.id not in removed]
    kept.sort(key=lambda work: work.id not in targets)
    return Protocol(kept, [query.reference for query in present], [query.reference for query in without])


def write(real: Sequence[Work], count: int, path: Path) -> None:
    """Write ``count`` works as JSON lines: the real ones, then works made from all real ones."""
    with path.open("wb") as file:
        for work in real[:count]:
            file.write(work.to_json() + b"\n")
        if count > len(real):
            for each in added(Pool(real), count - len(real)):
                file.write(orjson.dumps(each.record, option=orjson.OPT_APPEND_NEWLINE))


def make(works: Path, references: Path, held_out: int, count: int, folder: Path) -> None:
    """Build a catalog of ``count`` works in ``folder``, and synthetic vectors beside it, unless the folder has them."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "catalog").exists():
        lines = folder / "works.jsonl"
        write(protocol(works, references, held_out).works, count, lines)
        build(lines, folder / "catalog", encoder=None)
        lines.unlink()
    if not (folder / "vectors").exists():
        arrays = synthetic(np.random.default_rng(5), count, DIM)
        flatfiles.save(folder / "vectors", KIND, {"dim": DIM}, arrays)


def are_made(folder: Path) -> bool:
    """Whether both are in the folder."""
    return (folder / "catalog").exists() and (folder / "vectors").exists()
