"""``python -m tests.convergence.articles``: the real articles and works in random order, half of the works after the papers.

All through the real stages, with the ledger's real stores, in this process and without Kafka. First a fresh run over what
is there at the end; then the same records in random order, and what the keys alone have put right is counted before the sweep.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.machine import describe
from reflink import jats
from reflink.catalog.reading import read_works
from reflink.entities import Paper, Work
from reflink.errors import ReflinkError
from reflink.evaluation.records import without_identifiers
from schemas import LinkEvent
from tests.convergence.comparison import Difference, differences, said, same
from tests.convergence.ledgers import LedgerProcess
from tests.convergence.pipeline import Clock, Pipeline
from tests.convergence.replicas import Replica
from tests.convergence.topics import PARTITIONS
from tests.data import find_shared_data, jats_folder
from workers.ledger.store import PartitionStore
from workers.ledger.worktable import WorkTable
from workers.parser import PaperVersion

_BATCH: Final = 512
#: No limit of the pace: what is woken counts here, not when.
_ALL_AT_ONCE: Final = 1e6
_EXAMPLES: Final = 20


class Line(Pipeline):
    """One worker of each kind with stores on disk; linker and fallback share one catalog."""

    def __init__(self, folder: Path, encoder: Any) -> None:
        self._folder = folder
        super().__init__(Clock(), encoder)
        shared = Replica(self.topics, vectors=True, trigrams=True, encoder=encoder)
        del self.linkers[1:], self.fallbacks[1:], self.ledgers[1:]
        for each in (*self.linkers, *self.fallbacks):
            each.replica, each.stage.follower, each.stage.catalog = shared, shared, shared.catalog
        self.ledgers = [
            LedgerProcess(self.topics, self.clock, _ALL_AT_ONCE, store=self._opened, works=lambda: self._table(folder))
        ]
        for partition in range(PARTITIONS):
            self.ledgers[0].assign(partition)
        self.seconds: Counter[str] = Counter()

    def _opened(self, partition: int) -> PartitionStore:
        return PartitionStore(self._folder / str(partition), stale_after_s=1e9)

    def _table(self, folder: Path) -> WorkTable:
        return WorkTable(folder / "works", topic_id=None, stale_after_s=1e9)

    def drain(self) -> None:
        """As ever, in batches."""
        ledger, quiet = self.ledgers[0], 0
        while quiet < 3:
            began = time.monotonic()
            busy = self.parse(64)
            busy |= self.linkers[0].replica.follow()
            busy |= self._spent("works", began, ledger.follow())
            for topic, partition in itertools.product(("references", "retries"), range(PARTITIONS)):
                began = time.monotonic()
                while self.link(0, (topic, partition), _BATCH):
                    busy = True
                self._spent("linker", began)
            for partition in range(PARTITIONS):
                began = time.monotonic()
                while self.fall_back(0, ("fallback", partition), _BATCH):
                    busy = True
                self._spent("fallback", began)
                began = time.monotonic()
                while ledger.take(partition, _BATCH):
                    busy = True
                self._spent("ledger", began)
            began = time.monotonic()
            while ledger.chore():
                busy = True
            self._spent("chores", began)
            self.clock.pass_(100.0)
            quiet = 0 if busy else quiet + 1

    def _spent(self, what: str, began: float, busy: bool = False) -> bool:
        self.seconds[what] += time.monotonic() - began  # type: ignore[assignment]
        return busy


def fresh(papers: Sequence[Paper], works: Sequence[Work], folder: Path, encoder: Any) -> Line:
    """Works first, in order, the papers' own among them; then the papers."""
    line = Line(folder, encoder)
    for work in (*works, *(paper.work() for paper in papers)):
        line.load(work)
    line.drain()
    for paper in papers:
        line.publish(PaperVersion(paper.id, 1, line.clock.ms, paper))
    line.drain()
    return line


def shuffled(papers: Sequence[Paper], works: Sequence[Work], folder: Path, encoder: Any, seed: int, chunks: int) -> Line:
    """Half of the works among the papers, half after them. What comes in one chunk, of ``chunks``, comes at once."""
    line, pick = Line(folder, encoder), random.Random(seed)
    papers, works = pick.sample(papers, len(papers)), pick.sample(works, len(works))
    half, among = len(works) // 2, max(1, chunks // 2)
    for number in range(among):
        for work in works[half * number // among : half * (number + 1) // among]:
            line.load(work)
        for paper in papers[len(papers) * number // among : len(papers) * (number + 1) // among]:
            line.publish(PaperVersion(paper.id, 1, line.clock.ms, paper))
        line.drain()
        print(f"chunk {number + 1}: {len(line.links()):,} outcomes", flush=True)
    for number in range(chunks - among):
        start, end = ((len(works) - half) * n // (chunks - among) for n in (number, number + 1))
        for work in works[half + start : half + end]:
            line.load(work)
        line.drain()
        print(f"chunk {among + number + 1}: retries so far {line.topics.position('linker', ('retries', 0)):,}", flush=True)
    return line


def first_outcomes(line: Line) -> dict[str, LinkEvent]:
    """What each reference was published as at first, before anything woke it."""
    found: dict[str, LinkEvent] = {}
    for key, value in line.published:
        if key is not None and value is not None and key.decode() not in found:
            found[key.decode()] = LinkEvent.from_json(value)
    return found


def compared(
    line: Line, right: Mapping[str, LinkEvent], first: Mapping[str, LinkEvent]
) -> tuple[dict[str, Any], list[Difference]]:
    """How much had to change since the first outcomes, and what of it is not as it should be now."""
    wrong = differences(line.links(), right)
    had = [key for key, link in right.items() if not same(first[key], link)]
    moved = [key for key in had if first[key].link.cited != right[key].link.cited]
    targets = sum(each.in_target for each in wrong)
    figures = {
        "references": len(right),
        "had to change": len(had),
        "had to change their target": len(moved),
        "differ": len(wrong),
        "differ in their target": targets,
        "share of changes made": round(1 - len(wrong) / max(1, len(had)), 5),
        "share of changes of target made": round(1 - targets / max(1, len(moved)), 5),
    }
    return figures, wrong


def read_papers(files: Sequence[Path]) -> list[Paper]:
    """Those that are papers, each id once."""
    found: dict[str, Paper] = {}
    for file in files:
        try:
            paper = jats.parse(file.read_bytes(), source=file.stem)
        except ReflinkError:
            continue
        found.setdefault(paper.id, paper)
    return list(found.values())


def cited_by(data: Path, files: Set[str]) -> set[str]:
    """The works that the references of these articles cite, as far as that is known."""
    with gzip.open(data / "references_dev.jsonl.gz") as lines:
        known = map(orjson.loads, lines)
        return {each["work"] for each in known if each.get("work") and each["file"] in files}


def some_works(works: Sequence[Work], cited: Set[str], most: int) -> list[Work]:
    """The cited ones first, others by chance."""
    kept = [work for work in works if work.id in cited][:most]
    others = [work for work in works if work.id not in cited]
    return [*kept, *random.Random(0).sample(others, min(most - len(kept), len(others)))]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when the links are not those of the fresh run after the sweep."""
    parser = argparse.ArgumentParser(prog="python -m tests.convergence.articles", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which order (1)")
    parser.add_argument(
        "--chunks", type=int, default=8, metavar="N", help="what comes in one of so many chunks comes at once (8)"
    )
    parser.add_argument("--semantic", action="store_true", help="with the encoder; vectors are kept in .cache/vectors")
    parser.add_argument("--withhold", action="store_true", help="references without their identifiers")
    parser.add_argument("--papers", type=int, metavar="N", help="the first so many files only")
    parser.add_argument("--works", type=int, metavar="N", help="so many works only: those that are cited, and others by chance")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the figures, for programs")
    options = parser.parse_args(arguments)
    if (data := find_shared_data()) is None:
        print("the real data is not here: set REFLINK_SHARED_DATA to the folder that holds works.jsonl.gz")
        return 2
    encoder = None
    if options.semantic:
        from tests.convergence.encoding import kept_encoder  # brings torch

        encoder = kept_encoder()
    files = sorted(jats_folder().glob("*.xml"))[: options.papers]
    papers = read_papers(files)
    if options.withhold:
        papers = [
            paper.model_copy(update={"references": tuple(map(without_identifiers, paper.references))}) for paper in papers
        ]
    works = [work for work in read_works(data / "works.jsonl.gz") if isinstance(work, Work)]
    own = {paper.id for paper in papers}
    # A paper's entry is its own; of a work loaded under the same id it would be chance which one came last.
    works = [work for work in works if work.id not in own]
    if options.works:
        works = some_works(works, cited_by(data, {file.name for file in files}), options.works)
    print(f"{len(papers):,} papers, {len(works):,} works", flush=True)
    told: dict[str, Any] = {"machine": describe(), "seed": options.seed, "chunks": options.chunks}
    told |= {"semantic": options.semantic, "withheld": options.withhold, "papers": len(papers), "works": len(works)}
    with tempfile.TemporaryDirectory() as temporary:
        right = fresh(papers, works, Path(temporary) / "fresh", encoder).links()
        told["fresh links"] = sum(link.link.cited is not None for link in right.values())
        print(f"fresh: {told['fresh links']:,} links of {len(right):,} references", flush=True)
        line = shuffled(papers, works, Path(temporary) / "shuffled", encoder, options.seed, options.chunks)
        told["judged again"] = sum(len(line.topics.read(place, 0)) for place in line.topics.places("retries"))
        first = first_outcomes(line)
        told["before the sweep"], missed = compared(line, right, first)
        print(json.dumps(told["before the sweep"], indent=2), flush=True)
        line.sweep(True)
        line.clock.pass_(1e6)
        line.drain()
        told["after the sweep"], wrong = compared(line, right, first)
        told["seconds"] = {what: round(seconds, 1) for what, seconds in line.seconds.items()}
    told["missed by the keys"] = [str(each) for each in missed[:_EXAMPLES]]
    told["wrong at the end"] = [f"{each}\n    first: {said(first.get(each.reference))}" for each in wrong[:_EXAMPLES]]
    if options.json:
        options.json.write_text(json.dumps(told, indent=2) + "\n")
    print(json.dumps(told, indent=2))
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
