"""Measure the ledger's work for a paper with many references: ``python -m benchmarks.ledger.large_papers``.

Each paper has a second version with the same text, so that its state names all its references as kept: the most expensive case.
Measured on a real store: a batch of one outcome; a batch of 40 events of one outcome each (per event); a reference that the
sweep re-evaluates; and an outcome that is the first of its reference in the second version (10 outcomes per event), which
rewrites the state. Times are processor time of this thread.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks import harness
from benchmarks.machine import describe
from reflink.entities import Link, Reference
from schemas import SCHEMA_VERSION, ManifestEvent, Outcome, OutcomesEvent
from schemas.links import PaperState
from workers.config.settings import LedgerSettings
from workers.ledger.stage import LedgerStage
from workers.ledger.stores.change_log import ChangeLog
from workers.ledger.stores.outcome_store import PartitionStore
from workers.ledger.view import LedgerEvent
from workers.stage import Output

_CITING: Final = "doi:10.5555/reflink.large.paper.12345"
_EVENTS: Final = 40
_ROUNDS: Final = 20


class OneLedger:
    """The ledger's stage on one partition, without Kafka."""

    def __init__(self, folder: Path) -> None:
        self.stage = LedgerStage(LedgerSettings(state_dir=folder, sweep_per_s=1e6, sweep_every_h=0))
        self.stage.catalog = self._log = ChangeLog(folder / "changes", topic_id=None, stale_after_s=1e9)
        self.stage.stores[0] = PartitionStore(folder / "store", stale_after_s=1e9)
        self._written = 0

    def take(self, *events: ManifestEvent | OutcomesEvent) -> float:
        """Handle a batch and write it to the store; return the seconds of processor time."""
        batch = [LedgerEvent(0, event) for event in events]
        started = time.thread_time()
        self._commit(self.stage.handle(batch, self.stage.view(batch)))
        return time.thread_time() - started

    def sweep(self) -> float:
        """Run the next background task that re-evaluates references; return the seconds per reference."""
        self._log.apply([], max(1_000_000, self._log.offset) + 1)
        asked = 0
        while not asked:
            started = time.thread_time()
            output = self.stage.background_task()
            if output is None:
                raise RuntimeError("the sweep has nothing to do")
            self._commit(output)
            seconds, asked = time.thread_time() - started, sum(output.observed.requested.values())
        return seconds / asked

    def _commit(self, output: Output) -> None:
        self._written += len(output.messages)
        self.stage.committed(output, {("links", 0): self._written, ("manifests", 0): self._written})

    def close(self) -> None:
        self.stage.close()
        self._log.close()


def manifest(version: int, count: int) -> ManifestEvent:
    """Return the manifest of a paper with ``count`` references."""
    names = tuple(f"{_CITING}#B{number}.1" for number in range(count))
    return ManifestEvent(
        schema_version=SCHEMA_VERSION, kind="manifest", citing=_CITING, paper_version=version, arrived=1, references=names
    )


def outcomes(version: int, offset: int, numbers: Sequence[int]) -> OutcomesEvent:
    """Return the event with the outcomes of these references, decided at a catalog offset."""
    items = []
    for number in numbers:
        name = f"{_CITING}#B{number}.1"
        reference = Reference(id=name, citing=_CITING, position=number + 1, raw_text=f"A. Title {number} of it. 1999.")
        link = Link(reference=name, citing=_CITING, cited=None, unresolved="no-candidate")
        items.append(Outcome(reference=reference, link=link))
    return OutcomesEvent(
        schema_version=SCHEMA_VERSION,
        kind="outcomes",
        citing=_CITING,
        paper_version=version,
        arrived=1,
        catalog_offset=offset,
        judged=1,
        items=tuple(items),
    )


def measured(count: int, folder: Path) -> list[float]:
    """Return milliseconds: of a batch of one outcome, an event among 40, a swept reference, a first outcome of a version."""
    ledger = OneLedger(folder)
    ledger.take(manifest(1, count), outcomes(1, 0, range(count)))
    ledger.take(manifest(2, count))
    first = [ledger.take(outcomes(2, 0, range(start, start + 10))) / 10 for start in range(0, min(count, 200), 10)]
    ledger.take(outcomes(2, 0, range(count)))
    kept = len(PaperState.from_json(ledger.stage.stores[0].get("manifests", _CITING) or b"").kept)
    if kept != count:
        raise RuntimeError(f"{kept} of {count} references are kept")
    last = range(count - 1, max(-1, count - 1 - _EVENTS), -1)
    one = [ledger.take(outcomes(2, 1 + number, [count - 1])) for number in range(_ROUNDS)]
    many = [ledger.take(*(outcomes(2, 30 + number, [each]) for each in last)) / len(last) for number in range(_ROUNDS)]
    asked = [ledger.sweep() for _ in range(_ROUNDS)]
    ledger.close()
    return [statistics.median(each) * 1000 for each in (one, many, asked, first)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = harness.parser(__doc__, figures=False)
    parser.add_argument("--references", type=int, nargs="+", default=[100, 1000, 20_000], metavar="N")
    args = parser.parse_args(arguments)
    print(describe())
    print("references | batch of one outcome | an event among 40 | asked by the sweep | first of a version   (ms, medians)")
    for count in args.references:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{count:10,} | " + " | ".join(f"{each:.2f}" for each in measured(count, Path(folder))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
