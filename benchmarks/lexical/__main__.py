"""Measure the lexical engine beside plain counting over posting lists and other engines, in one run on one core.

    python -m benchmarks.lexical [--sizes 265158,1000000,5270000] [--modes Raw,TVLY] [--queries 512] [--peers]
                                 [--json FILE] [--plot docs/lexical.svg]

Catalogs: the real works of the shared data, and works recombined from them (recombined.py). Queries: its real references, as
the protocol defines them. Without target: no catalog contains the works they cite or other works of their groups. With target
and seed: the cited work is given as a seed, as the semantic search usually finds it. Queries are searched singly and in batches
of 64 and 256. Every score is compared with that of plain counting; the exit code is 1 if one differs, 2 without data.

Texts, trigrams and indexes are kept in --cache: some 2 GB for a million works in two modes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from benchmarks import harness
from benchmarks.lexical import building, counting, measure, peers, report
from benchmarks.lexical.corpus import Corpus
from benchmarks.machine import describe
from reflink.lexical import LexicalIndex
from reflink.text import Mode
from tests.data import find_shared_data

#: Number of texts per chunk that a peer receives.
CHUNK = 100_000


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments().parse_args(argv)
    data = arguments.data or find_shared_data()
    if data is None:
        print("no data: name a folder with --data, or set REFLINK_SHARED_DATA", file=sys.stderr)
        return 2
    works, references = data / "works.jsonl.gz", data / "references_dev.jsonl.gz"
    print(describe())
    corpus = Corpus.prepare(works, references, arguments.cache, max(arguments.sizes), arguments.modes, arguments.held_out)
    print(
        f"{corpus.about['real']:,} real works; {corpus.about['held_out']:,} references are held out, and with them "
        f"{corpus.about['removed']:,} works"
    )
    for mode in arguments.modes:
        print(report.likeness(mode, corpus.about["likeness"][mode]))
    if arguments.peers and (absent := peers.missing()):
        print(f"peers that are not installed: {', '.join(absent)}")
    results: list[dict[str, Any]] = []
    for count in sorted(arguments.sizes):
        for mode in arguments.modes:
            results.append(run(corpus, mode, count, arguments))
            # After each result, because a run is long.
            harness.save(arguments.json, {"corpus": corpus.about, "results": results})
    if len(arguments.sizes) > 1:
        print(f"\n{report.growth(results)}")
    if arguments.plot:
        from benchmarks.lexical.plots import curve

        curve(results, arguments.plot)
    return 1 if any(each["search"]["wrong"] for each in results) else 0


def run(corpus: Corpus, mode: Mode, count: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure one catalog in one mode, and print it."""
    print(f"\n{count:,} works, mode {mode}", flush=True)
    folder, built = building.built(corpus, mode, count, rebuild=arguments.rebuild)
    opened = building.apart(building.opened, corpus, mode, folder, arguments.queries)
    print(report.building(count, built, opened), flush=True)
    codes, offsets = corpus.trigrams(mode, count)
    lists = counting.postings(codes, offsets)
    without, present = (corpus.queries(mode, target, arguments.queries) for target in (False, True))
    index = LexicalIndex.open(folder, mode=mode)
    search = measure.measure(index, lists, without, present, arguments.rounds).figures()
    queries = {measure.WITHOUT: len(without), measure.WITH: len(present)}
    print(report.searches(search, queries, arguments.rounds), flush=True)
    result = {
        "works": count, "mode": mode, "queries": queries, "rounds": arguments.rounds, "built": built, "opened": opened,
        "search": search,
    }  # fmt: skip
    if arguments.peers:
        texts = (texts for _, texts in corpus.texts(mode, count, CHUNK))
        result["peers"] = peers.measure(index, texts, codes, offsets, lists, without, present, corpus.folder / "tantivy")
        print(report.peers(result["peers"]), flush=True)
    return result


def _arguments() -> argparse.ArgumentParser:
    parser = harness.parser(__doc__)
    parser.add_argument("--sizes", type=harness.numbers, default="265158,1000000,5270000", help="works (default: %(default)s)")
    parser.add_argument("--modes", type=_modes, default="Raw,TVLY", help="of the texts (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=512, help="of each kind (default: %(default)s)")
    parser.add_argument("--held-out", type=int, default=1500, help="queries without target to draw from (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="figures are medians of so many (default: %(default)s)")
    parser.add_argument("--peers", action="store_true", help="measure other engines too")
    parser.add_argument("--data", type=Path, help="folder with works.jsonl.gz and references_dev.jsonl.gz")
    parser.add_argument(
        "--cache", type=Path, default=Path(".cache/lexical"), help="what is made is kept here (default: %(default)s)"
    )
    parser.add_argument("--rebuild", action="store_true", help="build the indexes anew, which measures it")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw cost against size, SVG")
    return parser


def _modes(text: str) -> list[str]:
    modes = text.split(",")
    if unknown := set(modes) - {mode for mode in get_args(Mode) if "A" not in mode}:
        raise argparse.ArgumentTypeError(f"unknown mode {', '.join(sorted(unknown))}")
    return modes


if __name__ == "__main__":
    sys.exit(main())
