"""Draws the pictures of docs/dashboards.md: real workers under load for some minutes, scraped by a real Prometheus.

    python -m tests.helm --papers .cache/jats --works works.jsonl.gz [--pace 12] --out docs

Papers arrive at a pace, then four times as fast for a minute, then at the pace again. The catalog contains the works that
these papers cite, and one in two hundred of the others. A minute before the end, one work in ten is added, and a few others
are removed. Needs the extra bench (matplotlib). ``--engine`` draws the dashboard of a search engine, without it the others.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from helm.dashboards.pictures import main as draw
from reflink.catalog.reading import read_works
from reflink.entities import Work
from reflink.jats import parse
from tests.data import ROOT
from tests.helm.expressions import DASHBOARDS, RULES
from tests.helm.observed import Observed, observed
from workers.catalog.bulk_load import load
from workers.config.settings import FallbackSettings, LinkerSettings
from workers.demo import catalogs
from workers.demo.papers import Published, publish_wave, waves
from workers.devkit.broker import Broker
from workers.devkit.ports import free_port
from workers.devkit.search_engine import SearchEngine
from workers.kafka.bulk_producer import Sender

#: Minutes and multiple of the pace.
PHASES = ((2.0, 1.0), (1.0, 4.0), (2.0, 1.0))
#: When the catalog changes.
LATER_S = 60 * (sum(minutes for minutes, _ in PHASES) - 1)
#: Time after the load in which the last links are published.
AFTER_S = 15.0
#: Share of the works without a citation that the catalog contains: one in this many.
OTHERS = 200
#: Shares of the works that are added late, and then removed: one in this many.
LATE, LEAVING = 10, 100
EXAMPLES = ROOT / "examples" / "papers"
EVERY_S = 2


def due(pace: float) -> Iterator[float]:
    """Yield the seconds from the beginning until each paper is sent."""
    begun = 0.0
    for minutes, times in PHASES:
        count = int(minutes * pace * times)
        yield from (begun + minutes * 60 * number / count for number in range(count))
        begun += minutes * 60


def chosen(papers: Path, count: int, to: Path) -> list[Path]:
    """Link ``count`` papers, spread over a folder, into the new folder ``to``; return them."""
    found = sorted(each for each in papers.iterdir() if each.is_file())
    kept = found[:: max(1, len(found) // count)][:count]
    to.mkdir()
    for each in kept:
        (to / each.name).symlink_to(each.resolve())
    return kept


def catalog_of(papers: Sequence[Path], works: Path, to: Path) -> Path:
    """Write the works that the papers cite by an identifier, and some others, to the file ``to``; return it."""
    references = (reference for path in papers for reference in parse(path.read_bytes()).references)
    cited = set(itertools.chain.from_iterable(reference.ids.keys() for reference in references))
    known = set(Work.model_fields)
    with to.open("wb") as file:
        for number, work in enumerate(each for each in read_works(works) if isinstance(each, Work)):
            if number % OTHERS == 0 or not cited.isdisjoint(work.ids.keys()):
                # Without unknown fields, as in a catalog: a catalog is bound to a topic of equal works.
                file.write(Work(**work.model_dump(include=known)).to_json() + b"\n")
    return to


def held_back(works: Path, late: Path) -> None:
    """Move one in ``LATE`` works from a file to another."""
    lines = works.read_bytes().splitlines(keepends=True)
    late.write_bytes(b"".join(lines[::LATE]))
    works.write_bytes(b"".join(line for number, line in enumerate(lines) if number % LATE))


def change(works: Path, late: Path, running: Observed) -> None:
    """Load the late works, and remove some of the others."""
    load((each for each in read_works(late) if isinstance(each, Work)), running.kafka)
    with Sender(running.kafka) as sender:
        for work in itertools.islice(read_works(works), 0, None, LEAVING):
            if isinstance(work, Work):
                sender.send("catalog", work.id.encode(), None, partition=0)


def send(running: Observed, papers: Path, pace: float, later: Callable[[], None]) -> None:
    """Send papers at the pace, independently of the workers; call ``later`` a minute before the end. Raises WorkerDied."""
    pointers, published = Path(running.pipeline.settings["pointer_root"]), Published()
    with Sender(running.kafka) as sender:
        # The examples contain files that are not papers: some dead letters, at once with the last real paper.
        examples = (publish_wave(wave, sender, published, pointer_root=pointers) for wave in waves(EXAMPLES))
        real = publish_wave(papers, sender, published, pointer_root=pointers, follow_links=True)
        started, waiting = time.monotonic(), True
        for at in due(pace):
            running.pipeline.check()
            time.sleep(max(0.0, started + at - time.monotonic()))
            next(real, None)
            sender.flush()
            if waiting and at >= LATER_S:
                waiting = False
                later()
        for _ in itertools.chain(*examples):
            sender.flush()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.helm", description=__doc__.partition("\n")[0])
    parser.add_argument("--papers", type=Path, required=True, help="a folder of JATS files")
    parser.add_argument("--works", type=Path, required=True, help="works to choose the catalog from")
    parser.add_argument("--pace", type=float, default=12.0, help="papers a minute in quiet times")
    parser.add_argument("--out", type=Path, required=True, help="where the pictures go")
    parser.add_argument("--engine", action="store_true", help="with a search engine and an indexer; draw only their dashboard")
    parser.add_argument("--hold", type=float, default=0.0, metavar="MINUTES", help="how long Prometheus stays afterwards")
    given = parser.parse_args(argv)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        papers = chosen(given.papers, len(list(due(given.pace))), folder / "papers")
        works = catalog_of(papers, given.works, folder / "works.jsonl")
        held_back(works, folder / "late.jsonl")
        engine = stack.enter_context(SearchEngine.start()).urls if given.engine else []
        snapshot = None if engine else catalogs.build(works, folder, LinkerSettings(), FallbackSettings(), print)
        broker = stack.enter_context(Broker.start(port=free_port()))
        watched = observed(broker.address, folder, works, snapshot=snapshot, engine=engine, every_s=EVERY_S, rules=RULES)
        running = stack.enter_context(watched)
        print(f"Prometheus: {running.prometheus.url}", flush=True)
        send(running, folder / "papers", given.pace, partial(change, works, folder / "late.jsonl", running))
        time.sleep(AFTER_S)
        minutes = sum(each for each, _ in PHASES) + AFTER_S / 60
        boards = folder / "dashboards"
        boards.mkdir()
        for path in DASHBOARDS:
            if (path.stem == "engine") == given.engine:
                shutil.copy(path, boards)
        where = ["--dashboards", str(boards), "--out", str(given.out)]
        done = draw(["--prometheus", running.prometheus.url, "--minutes", f"{minutes:g}", *where])
        time.sleep(given.hold * 60)
    return done


if __name__ == "__main__":
    sys.exit(main())
