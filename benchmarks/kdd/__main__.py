"""Render a corpus with known edges as the sources and abstracts of KDD Cup 2003, and evaluate reflink on it.

Needs the shared data. Writes the corpus into a temporary folder, or into --folder, which must not exist.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import orjson

from benchmarks.harness import add_protocol, parser, save
from benchmarks.kdd.corpus import PAPERS, write
from reflink.cli import main as reflink


def main() -> int:
    made = parser(__doc__)
    add_protocol(made)
    made.add_argument("--papers", type=int, help="max number of citing papers (default: all with a true edge)")
    made.add_argument("--collection", type=int, default=PAPERS, help=f"papers in the collection (default: {PAPERS}, the cup's)")
    made.add_argument("--seed", type=int, default=1, help="of the styles (default: 1)")
    made.add_argument("--folder", type=Path, help="write the corpus here and keep it")
    made.add_argument("options", nargs="*", help="further options of reflink evaluate kdd, behind --")
    args = made.parse_args()
    if args.folder and args.folder.exists():
        made.error(f"argument --folder: {args.folder} exists")
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch) / "corpus"
        counts = write(
            args.works, args.references, folder, papers=args.papers, collection=args.collection, seed=args.seed
        )  # fmt: skip
        print(*(f"{name} {count}" for name, count in counts.items()), sep="  ")
        figures, began = Path(scratch) / "figures.json", time.perf_counter()
        code = reflink([
            "evaluate", "kdd", "--papers", str(folder / "papers"), "--metadata", str(folder / "abstracts"),
            "--edges", str(folder / "edges"), "--json", str(figures), *args.options,
        ])  # fmt: skip
        seconds = time.perf_counter() - began
        print(f"{seconds:.0f} s")
        if figures.exists():
            save(args.json, {"corpus": counts, "seconds": round(seconds, 1), **orjson.loads(figures.read_bytes())})
    return code


if __name__ == "__main__":
    sys.exit(main())
