"""``python -m tests.campaigns.convergence.articles``: real articles and works in random order, half of the works last.

All records pass through the real stages and the ledger's real stores, in this process and without Kafka. The first run is a
fresh run over all records. The second run receives the same records in random order; before its sweep the program counts how
many outcomes the blocking keys alone have corrected.
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
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
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
from tests.campaigns.convergence.comparison import Difference, differences, outcome_line, same
from tests.campaigns.convergence.ledgers import LedgerProcess
from tests.campaigns.convergence.pipeline import Clock, Pipeline
from tests.campaigns.convergence.replicas import Replica
from tests.campaigns.convergence.topics import PARTITIONS
from tests.campaigns.reporting import write_json
from tests.data import find_shared_data, jats_folder
from workers.ledger.stores.change_log import ChangeLog
from workers.ledger.stores.outcome_store import PartitionStore

_BATCH: Final = 512
#: Re-evaluations per second: practically no limit, because only their number matters here, not their time.
_ALL_AT_ONCE: Final = 1e6
_EXAMPLES: Final = 20


class DiskPipeline(Pipeline):
    """One worker of each kind with stores on disk; linker and fallback share one catalog."""

    def __init__(self, folder: Path, encoder: Any) -> None:
        self._folder = folder
        super().__init__(Clock(), encoder)
        shared = Replica(self.topics, vectors=True, trigrams=True, encoder=encoder)
        del self.linkers[1:], self.fallbacks[1:], self.ledgers[1:]
        for each in (*self.linkers, *self.fallbacks):
            each.replica = shared
            each.start()
        self.ledgers = [LedgerProcess(self.topics, self.clock, _ALL_AT_ONCE, store=self._opened, log=lambda: self._log(folder))]
        for partition in range(PARTITIONS):
            self.ledgers[0].assign(partition)
        self.seconds: Counter[str] = Counter()

    def _opened(self, partition: int) -> PartitionStore:
        return PartitionStore(self._folder / str(partition), stale_after_s=1e9)

    def _log(self, folder: Path) -> ChangeLog:
        return ChangeLog(folder / "changes", topic_id=None, stale_after_s=1e9)

    def drain(self) -> None:
        """Process everything, in batches, until three rounds in a row have no work."""
        ledger, quiet = self.ledgers[0], 0
        while quiet < 3:
            busy = self.parse(64) | self.linkers[0].replica.follow() | self._timed("works", ledger.follow)
            for place in itertools.product(("references", "retries"), range(PARTITIONS)):
                busy |= self._timed("linker", partial(self.link, 0, place, _BATCH))
            for partition in range(PARTITIONS):
                busy |= self._timed("fallback", partial(self.fall_back, 0, ("fallback", partition), _BATCH))
                busy |= self._timed("ledger", partial(ledger.take, partition, _BATCH))
            busy |= self._timed("background tasks", ledger.background_task)
            self.clock.advance(100.0)
            quiet = 0 if busy else quiet + 1

    def _timed(self, what: str, step: Callable[[], bool]) -> bool:
        """Repeat the step until it has nothing to do. Return whether it did anything."""
        began, busy = time.monotonic(), False
        while step():
            busy = True
        self.seconds[what] += time.monotonic() - began  # type: ignore[assignment]
        return busy


def fresh(papers: Sequence[Paper], works: Sequence[Work], folder: Path, encoder: Any) -> DiskPipeline:
    """Run the works in order, then the works of the papers, then the papers."""
    pipeline = DiskPipeline(folder, encoder)
    for work in (*works, *(paper.work() for paper in papers)):
        pipeline.load(work)
    pipeline.drain()
    for paper in papers:
        pipeline.publish(paper.id, 1, paper)
    pipeline.drain()
    return pipeline


def shuffled(
    papers: Sequence[Paper], works: Sequence[Work], folder: Path, encoder: Any, seed: int, chunks: int
) -> DiskPipeline:
    """Run the records in random order, half of the works among the papers and half after them.

    They arrive in ``chunks`` chunks, and each chunk arrives at once.
    """
    pipeline, pick = DiskPipeline(folder, encoder), random.Random(seed)
    papers, works = pick.sample(papers, len(papers)), pick.sample(works, len(works))
    half, among = len(works) // 2, max(1, chunks // 2)
    for number in range(among):
        for work in works[half * number // among : half * (number + 1) // among]:
            pipeline.load(work)
        for paper in papers[len(papers) * number // among : len(papers) * (number + 1) // among]:
            pipeline.publish(paper.id, 1, paper)
        pipeline.drain()
        print(f"chunk {number + 1}: {len(pipeline.links()):,} outcomes", flush=True)
    for number in range(chunks - among):
        start, end = ((len(works) - half) * n // (chunks - among) for n in (number, number + 1))
        for work in works[half + start : half + end]:
            pipeline.load(work)
        pipeline.drain()
        print(f"chunk {among + number + 1}: retries so far {pipeline.topics.position('linker', ('retries', 0)):,}", flush=True)
    return pipeline


def first_outcomes(pipeline: DiskPipeline) -> dict[str, LinkEvent]:
    """Return the first published outcome of each reference, before any re-evaluation."""
    found: dict[str, LinkEvent] = {}
    for key, value in pipeline.published:
        if key is not None and value is not None and key.decode() not in found:
            found[key.decode()] = LinkEvent.from_json(value)
    return found


def compared(
    pipeline: DiskPipeline, right: Mapping[str, LinkEvent], first: Mapping[str, LinkEvent]
) -> tuple[dict[str, Any], list[Difference]]:
    """Return figures of the changes since the first outcomes, and the outcomes that still differ from ``right``."""
    wrong = differences(pipeline.links(), right)
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
    """Return the papers in the files, each id once; skip files that are not papers."""
    found: dict[str, Paper] = {}
    for file in files:
        try:
            paper = jats.parse(file.read_bytes(), source=file.stem)
        except ReflinkError:
            continue
        found.setdefault(paper.id, paper)
    return list(found.values())


def cited_by(data: Path, files: Set[str]) -> set[str]:
    """Return the ids of the works that the references of these articles cite, as far as known."""
    with gzip.open(data / "references_dev.jsonl.gz") as lines:
        known = map(orjson.loads, lines)
        return {each["work"] for each in known if each.get("work") and each["file"] in files}


def some_works(works: Sequence[Work], cited: Set[str], limit: int) -> list[Work]:
    """Return at most ``limit`` works: the cited works first, then others drawn at random."""
    kept = [work for work in works if work.id in cited][:limit]
    others = [work for work in works if work.id not in cited]
    return [*kept, *random.Random(0).sample(others, min(limit - len(kept), len(others)))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if the links after the sweep differ from the fresh run, 2 without the real data, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.convergence.articles", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the order (1)")
    parser.add_argument(
        "--chunks", type=int, default=8, metavar="N", help="number of chunks; the records of a chunk arrive at once (8)"
    )
    parser.add_argument("--semantic", action="store_true", help="with the encoder; its vectors are cached in .cache/vectors")
    parser.add_argument("--withhold", action="store_true", help="remove the identifiers of the references")
    parser.add_argument("--papers", type=int, metavar="N", help="use only the first N files")
    parser.add_argument("--works", type=int, metavar="N", help="use only N works: cited works, then others at random")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report to this file")
    options = parser.parse_args(arguments)
    if (data := find_shared_data()) is None:
        print("the real data is missing: set REFLINK_SHARED_DATA to the folder that contains works.jsonl.gz")
        return 2
    encoder: Any = None
    if options.semantic:
        from tests.campaigns.convergence.encoding import CachedEncoder  # imports torch

        encoder = CachedEncoder()
    files = sorted(jats_folder().glob("*.xml"))[: options.papers]
    papers = read_papers(files)
    if options.withhold:
        papers = [
            paper.model_copy(update={"references": tuple(map(without_identifiers, paper.references))}) for paper in papers
        ]
    works = [work for work in read_works(data / "works.jsonl.gz") if isinstance(work, Work)]
    own = {paper.id for paper in papers}
    # A paper supplies its own work; with another work under the same id, the order of arrival would decide which one is valid.
    works = [work for work in works if work.id not in own]
    if options.works:
        works = some_works(works, cited_by(data, {file.name for file in files}), options.works)
    print(f"{len(papers):,} papers, {len(works):,} works", flush=True)
    report: dict[str, Any] = {"machine": describe(), "seed": options.seed, "chunks": options.chunks}
    report |= {"semantic": options.semantic, "withheld": options.withhold, "papers": len(papers), "works": len(works)}
    with tempfile.TemporaryDirectory() as temporary:
        right = fresh(papers, works, Path(temporary) / "fresh", encoder).links()
        report["fresh links"] = sum(link.link.cited is not None for link in right.values())
        print(f"fresh: {report['fresh links']:,} links of {len(right):,} references", flush=True)
        pipeline = shuffled(papers, works, Path(temporary) / "shuffled", encoder, options.seed, options.chunks)
        report["re-evaluated"] = sum(len(pipeline.topics.read(place, 0)) for place in pipeline.topics.places("retries"))
        first = first_outcomes(pipeline)
        report["before the sweep"], missed = compared(pipeline, right, first)
        print(json.dumps(report["before the sweep"], indent=2), flush=True)
        pipeline.sweep(True)
        pipeline.clock.advance(1e6)
        pipeline.drain()
        report["after the sweep"], wrong = compared(pipeline, right, first)
        report["seconds"] = {what: round(seconds, 1) for what, seconds in pipeline.seconds.items()}
    report["missed by the keys"] = [str(each) for each in missed[:_EXAMPLES]]
    report["wrong at the end"] = [f"{each}\n    first: {outcome_line(first.get(each.reference))}" for each in wrong[:_EXAMPLES]]
    write_json(options.json, report)
    print(json.dumps(report, indent=2))
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
