"""Time reflink.jats beside a bare lxml parse of the same bytes and pubmed_parser, in one run on one core.

    python -m benchmarks.parsing.speed --json parsing_speed.json

Rounds alternate, and the printed figures are medians of the rounds. pubmed_parser (pip install 'reflink-stream[bench]') reads
the same articles from files with its article and its reference function; if it is not installed, a message says so.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import io
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from lxml import etree

from benchmarks import harness
from reflink import jats
from tests.data import jats_folder


def bare(articles: list[tuple[Path, bytes]]) -> int:
    """Parse each article with lxml's defaults. Returns the number of failures."""
    failed = 0
    for _, data in articles:
        try:
            etree.fromstring(data)
        except etree.XMLSyntaxError:
            failed += 1
    return failed


def ours(articles: list[tuple[Path, bytes]]) -> int:
    for path, data in articles:
        jats.parse(data, source=path.name, infer=False)
    return 0


def inferring(articles: list[tuple[Path, bytes]]) -> int:
    for path, data in articles:
        jats.parse(data, source=path.name)
    return 0


def pubmed_parser(articles: list[tuple[Path, bytes]]) -> int:
    """Run both functions of pubmed_parser on each file. Returns the number of files on which one of them raises."""
    return len(articles) - len(read_by_pubmed_parser(articles))


def read_by_pubmed_parser(articles: list[tuple[Path, bytes]]) -> list[tuple[Path, bytes]]:
    """Return the articles that pubmed_parser reads without an exception."""
    import pubmed_parser  # imported here because it is not a dependency

    read = []
    with contextlib.redirect_stdout(io.StringIO()):
        for article in articles:
            with contextlib.suppress(Exception):
                pubmed_parser.parse_pubmed_xml(str(article[0]))
                pubmed_parser.parse_pubmed_references(str(article[0]))
                read.append(article)
    return read


def timed(run: Callable[[list[tuple[Path, bytes]]], int], articles: list[tuple[Path, bytes]]) -> tuple[float, int]:
    """Return seconds of processor time, and failures."""
    gc.collect()
    start = time.process_time()
    failed = run(articles)
    return time.process_time() - start, failed


def memory(articles: list[tuple[Path, bytes]], passes: int) -> list[float]:
    """Return the MiB that the process holds after each pass over all articles."""
    held = []
    for _ in range(passes):
        ours(articles)
        gc.collect()
        held.append(psutil.Process().memory_info().rss / 2**20)
    return held


def main() -> None:
    parser = harness.parser(__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every n-th article (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    arguments = parser.parse_args()
    articles = [(path, path.read_bytes()) for path in sorted(jats_folder().glob("*.xml"))[:: arguments.every]]
    runs: dict[str, Callable[[list[tuple[Path, bytes]]], int]]
    runs = {"lxml": bare, "reflink": ours, "reflink, inferring": inferring}
    if importlib.util.find_spec("pubmed_parser") is None:
        print("pubmed_parser is not installed: pip install 'reflink-stream[bench]'", file=sys.stderr)
    else:
        runs["pubmed_parser"] = pubmed_parser
    ours(articles[:5])  # compiles, or loads compiled kernels
    inferring(articles[:50])
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    failures: dict[str, int] = {}
    for _round in range(arguments.rounds):
        for name, run in runs.items():
            took, failures[name] = timed(run, articles)
            seconds[name].append(took)
    report: dict[str, Any] = {"articles": len(articles), "rounds": arguments.rounds}
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    print(
        f"{len(articles)} articles, {sum(len(data) for _, data in articles) / 1e6:.1f} MB, {arguments.rounds} rounds, one core"
    )
    print(f"{'':20} {'papers/s':>9} {'of lxml':>8} {'x pubmed_parser':>16} {'failed':>7}")
    for name, median in medians.items():
        ratio = {other: medians[other] / median for other in ("lxml", "pubmed_parser") if other in medians}
        per_second = len(articles) / median
        times = ratio.get("pubmed_parser", float("nan"))
        print(f"{name:20} {per_second:9.0f} {ratio['lxml']:8.3f} {times:16.2f} {failures[name]:7}")
        report[name] = {"papers_per_second": per_second, "failed": failures[name], **{f"to_{k}": v for k, v in ratio.items()}}
    if "pubmed_parser" in runs and failures["pubmed_parser"]:
        both = read_by_pubmed_parser(articles)
        times = [timed(pubmed_parser, both)[0] / timed(ours, both)[0] for _ in range(arguments.rounds)]
        report["times_pubmed_parser_where_it_reads"] = statistics.median(times)
        print(f"on the {len(both)} articles that pubmed_parser reads: reflink x {statistics.median(times):.2f}")
    report["memory_mib"] = memory(articles, 4)
    print("memory after each of 4 more passes, MiB:", *(f"{held:.0f}" for held in report["memory_mib"]))
    harness.save(arguments.json, report)


if __name__ == "__main__":
    main()
