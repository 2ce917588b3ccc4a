"""Measure what one of n ledgers holds: ``python -m benchmarks.ledger shares``.

Recombined works arrive in the topic ``catalog``, and recombined references wait (benchmarks/ledger/recombined.py). For each n,
a process of its own writes what the first of n ledgers restores: its share of the references, and the log of changes, which
every ledger reads. Before, at a smaller size, changes of cited works are propagated in all n shares: the references found must
be the same as with one ledger. Times are CPU time of the whole process, including RocksDB's threads: on a machine with other
load it is more reliable than elapsed time.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.ledger.recombined import BLOCK, POPULAR, REFERENCES_PER_PAPER, Cited, Paper, Recombined
from benchmarks.machine import disk_bytes, process_memory
from benchmarks.papers import real_references
from reflink.entities import Work
from schemas.links import PROPAGATION_KEY
from workers.ledger.catalog_following import WINDOW
from workers.ledger.change_propagation import propagate
from workers.ledger.stores.change_log import ChangeLog
from workers.ledger.stores.outcome_store import PartitionStore, Table, block_cache
from workers.ledger.view import Cursor, LedgerView, by_partition

#: Records that a fetch of the topic brings, rows that a restore writes at once, and works drawn at a time.
_FETCH: Final = 500
_ROWS: Final = 2000
_DRAWN: Final = 10_000
#: Changed works whose references are compared.
_CHANGED: Final = 300

Row = tuple[Table, str, bytes | None]


class Share:
    """The state of one of ``shares`` ledgers, in one store as large as all its partitions, and in the log of changes."""

    def __init__(self, made: Recombined, folder: Path, window: int) -> None:
        self._made, self._window = made, window
        self.log = ChangeLog(folder / "changes", topic_id=None, stale_after_s=1e12)
        self.store = PartitionStore(folder / "links", stale_after_s=1e12, cache=block_cache())

    def read_catalog(self, works: int) -> float:
        """Read this number of works as they come from the topic. Return the CPU seconds, excluding the generation of works."""
        seconds, offset = 0.0, 0
        for chunk in self._works(works):
            for start in range(0, len(chunk), _FETCH):
                records = [(offset + at, 0, work) for at, work in enumerate(chunk[start : start + _FETCH])]
                offset += len(records)
                began = time.process_time()
                self.log.apply(records, offset)
                self.log.trim(offset - self._window)
                seconds += time.process_time() - began
        return seconds

    def restore(self, references: int, share: int, shares: int) -> float:
        """Write the share of the references, as a restore reads them. Return the CPU seconds, excluding their generation."""
        waiting: list[Row] = []
        seconds = 0.0
        for paper in self._papers(references // REFERENCES_PER_PAPER, share, shares):
            waiting += [("links", reference, value) for reference, value in paper.links.items()]
            waiting.append(("manifests", paper.citing, paper.manifest))
            if len(waiting) >= _ROWS:
                seconds, waiting = seconds + self._write(waiting), []
        return seconds + self._write(waiting)

    def found(self, works: Sequence[Work]) -> set[str]:
        """Return the references that share a key with these works, which change now."""
        first = self.log.offset
        self.store.write([("manifests", PROPAGATION_KEY, Cursor(first).written())], {})
        self.log.apply([(first + at, 0, work) for at, work in enumerate(works)], first + len(works))
        found: set[str] = set()
        while (output := propagate(0, LedgerView({0: self.store}, self.log), 1000)) is not None:
            found.update(key for _, table, key in output.writes if table == "requested")  # type: ignore[misc]
            self.store.write(by_partition(output.writes)[0], {})  # type: ignore[arg-type]
        return found

    def close(self) -> None:
        self.log.close()
        self.store.close()

    def _write(self, rows: Sequence[Row]) -> float:
        began = time.process_time()
        self.store.write(rows, {"links": 1})
        return time.process_time() - began

    def _papers(self, papers: int, share: int, shares: int) -> Iterator[Paper]:
        for first in range(share * BLOCK, papers, shares * BLOCK):
            yield from self._made.papers(first, min(BLOCK, papers - first))

    def _works(self, number: int) -> Iterator[list[Work]]:
        for first in range(0, number, _DRAWN):
            rng = np.random.default_rng([self._made.seed, 2, first])
            drawn = self._made.works(rng, min(_DRAWN, number - first), POPULAR + first)
            yield [work_of(each, self._made) for each in drawn]


def work_of(cited: Cited, made: Recombined) -> Work:
    """Return the catalog's record of a recombined work."""
    authors = [made.parts.names[person][0] for person in cited["people"][:5]]
    fields = {name: cited[name] for name in ("title", "venue", "year", "volume", "issue")}
    ids = {"doi": cited["doi"], "pmid": cited["pmid"]}
    return Work.from_dict({"id": f"doi:{cited['doi']}", "ids": ids, "authors": authors, "fpage": cited["first_page"], **fields})


def measure(
    works: int, references: int, share: int, shares: int, window: int, folder: Path | None, real: int
) -> dict[str, float]:
    """Return what one of ``shares`` ledgers holds. To be run in a process of its own."""
    made = Recombined(list(islice(real_references(), real)))
    with tempfile.TemporaryDirectory(dir=folder) as name:
        before = process_memory()["RssAnon"]
        one = Share(made, Path(name), window)
        reading = one.read_catalog(works)
        log_disk = disk_bytes(Path(name) / "changes")
        restoring = one.restore(references, share, shares)
        figures = {
            "ledgers": shares, "references": references // shares, "works": works,
            "store_mb": disk_bytes(Path(name) / "links") / 1e6, "log_mb": log_disk / 1e6,
            "restore_cpu_s": restoring, "catalog_cpu_s": reading, "changes_per_cpu_s": works / max(reading, 1e-9),
            "memory_mb": (process_memory()["RssAnon"] - before) / 1e6,
        }  # fmt: skip
        one.close()
        return figures


def compare(references: int, ledgers: Sequence[int], folder: Path | None, real: int) -> dict[str, Any]:
    """Propagate the same changes in all shares of each number of ledgers. Raises AssertionError if they find others."""
    made = Recombined(list(islice(real_references(), real)))
    changed = [work_of(each, made) for each in made.popular[:_CHANGED]]
    expected: set[str] | None = None
    for shares in ledgers:
        found: set[str] = set()
        for share in range(shares):
            with tempfile.TemporaryDirectory(dir=folder) as name:
                one = Share(made, Path(name), WINDOW)
                one.restore(references, share, shares)
                found |= one.found(changed)
                one.close()
        expected = found if expected is None else expected
        assert found == expected, f"{shares} ledgers find {len(found)} references, one finds {len(expected)}"
    return {"references": references, "changes": len(changed), "found": len(expected or ()), "equal": list(ledgers)}


def run(
    works: int, references: int, ledgers: Sequence[int], compared: int, window: int, real: int, folder: Path | None = None
) -> dict[str, Any]:
    """Compare and measure; print a row for each number of ledgers."""
    equal = compare(compared, ledgers, folder, real)
    print(equal, flush=True)
    rows = []
    for shares in ledgers:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows.append(pool.apply(measure, (works, references, 0, shares, window, folder, real)))
        print("  ".join(f"{name} {value:,.0f}" for name, value in rows[-1].items()), flush=True)
    return {"comparison": equal, "window": window, "rows": rows}
