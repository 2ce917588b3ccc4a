"""Evaluate reflink on third-party labels, beside the published figures.

    python -m benchmarks.labels [--set NAME|all] [--data DIR] [--json FILE] [--limit N]

glutton    17,015 citations as GROBID read them from PDF, with DOIs: linked into the works of the shared data, in which most
           have no target, and into works made of the citations themselves; the text alone, and with fields.
fuzzycat   318 pairs of records: same work or not. The verdict on each pair, in both directions, at 0.5.
pubmed     85,218 citations as mere text from PubMed's reference lists, 62% of them without title and authors.
anystyle   1,514 citations with labelled fields: the fields found in the text, cross-validated
           (benchmarks.parsing.crossvalidation).
grobid     the same for the citations of grobid_citation.
dblp-acm   2,616 records of DBLP linked into 2,294 of ACM; and the verdict on Ditto's test pairs, structured and dirty.

Identifiers are never used. Nothing was trained on these sets, except the verdict on pubmed, which judges no citing paper that
it was trained on; 137 of glutton's citations begin like one that the verdict was trained on. Figures are percent with 95%
intervals in brackets: Wilson's for shares, F1 by resampling. The last lines of each table state which figures compare with the
peers' and which do not. --json has every wrong link with its evidence too.

Vectors are kept under --cache, which starts as a copy of the vectors that `reflink evaluate` keeps under .cache/vectors. With
that copy a first run encodes some 30,000 texts, ten minutes on two cores; without it, also the 265,158 works. The exit code is
2 without data, 0 otherwise.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks import harness
from benchmarks.labels import dblp_acm, fields, fuzzycat, glutton, pubmed
from benchmarks.labels.linking import Library
from benchmarks.labels.report import Table
from tests.data import find_shared_data

#: Cache of vectors of `reflink evaluate`, which covers the shared data's works.
KNOWN: Final = Path(".cache/vectors")
SETS: Final = ("fuzzycat", "anystyle", "grobid", "pubmed", "dblp-acm", "glutton")
#: Sets that need no vectors.
PLAIN: Final = ("fuzzycat", "pubmed", *fields.SETS)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments().parse_args(argv)
    data = arguments.data or find_shared_data()
    if data is None or not (data / "benchmarks").is_dir():
        print(
            "no data: name the folder with works.jsonl.gz and benchmarks/ with --data, or REFLINK_SHARED_DATA", file=sys.stderr
        )
        return 2
    console = Console() if sys.stdout.isatty() else Console(width=200)
    library: Library | None = None
    measured = {}
    for name in SETS if arguments.set == "all" else (arguments.set,):
        if name not in PLAIN and library is None:
            Library.seed(arguments.cache, KNOWN)
            library = Library.of(arguments.cache)
        table = _measure(name, data, library, arguments.limit, arguments.cache)
        table.show(console)
        measured[name] = table.to_dict()
        # After each set, because the last one is long.
        harness.save(arguments.json, {"verdict": _verdict(), "sets": measured})
    return 0


def _measure(name: str, data: Path, library: Library | None, limit: int | None, cache: Path) -> Table:
    if name in fields.SETS:
        return fields.table(name, limit)
    if name == "pubmed":
        return pubmed.measure(data, cache)
    if library is None or name == "fuzzycat":
        return fuzzycat.measure(data)
    if name == "dblp-acm":
        return dblp_acm.measure(data, library, limit)
    return glutton.measure(data, library, limit)


def _verdict() -> str:
    """Return a checksum of the verdict's model."""
    return hashlib.sha256(resources.files("reflink.verdict").joinpath("model.json").read_bytes()).hexdigest()[:12]


def _arguments() -> argparse.ArgumentParser:
    parser = harness.parser(__doc__)
    parser.add_argument("--set", choices=(*SETS, "all"), default="all", help="which labels (default: %(default)s)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with works.jsonl.gz and benchmarks/")
    parser.add_argument("--limit", type=int, metavar="N", help="max number of references or pairs of each set but pubmed")
    parser.add_argument(
        "--cache", type=Path, default=Path(".cache/labels"), help="vectors encoded before (default: %(default)s)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
