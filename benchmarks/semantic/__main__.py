"""Measure the semantic engine; the compared variants run side by side in one run.

    python -m benchmarks.semantic encode [--texts 3000] [--rounds 3] [--no-rivals] [--json FILE]
    python -m benchmarks.semantic precision [--precision bf16] [--device cpu] [--json FILE]
    python -m benchmarks.semantic search --snapshot FOLDER [--large 2000000] [--json FILE]

encode: texts/s, cosine, latency, breakdown, by length, budget and batch. Compared with sentence-transformers, and with
ONNX Runtime, OpenVINO and torch's int8 if they are installed. precision: its effect on the results, on all queries of the
protocol (benchmarks/semantic/precision.py). search: the exact index (benchmarks/semantic/search.py).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import harness
from benchmarks.machine import describe
from tests.data import find_shared_data


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__, figures=False)
    sections = parser.add_subparsers(dest="section", required=True)
    encode = sections.add_parser("encode", help="the encoder")
    encode.add_argument("--references", type=Path, help="references of the protocol (default: the shared data's)")
    encode.add_argument("--texts", type=int, default=3000, help="how many are encoded (default: %(default)s)")
    encode.add_argument("--rounds", type=int, default=3, help="parts measured in turns; figures are medians")
    encode.add_argument("--no-rivals", action="store_true", help="only sentence-transformers and reflink")
    search = sections.add_parser("search", help="the index")
    search.add_argument("--snapshot", type=Path, required=True, help="a catalog's folder, or a saved index's")
    search.add_argument("--large", type=int, default=0, help="also a made catalog of so many works")
    precision = sections.add_parser("precision", help="what a precision costs in answers")
    precision.add_argument("--precision", default="bf16", choices=["fp32", "bf16", "fp16"])
    precision.add_argument("--device", default="cpu", help="torch device of all vectors")
    precision.add_argument(
        "--cache", type=Path, default=Path(".cache/exact"), help="where vectors are kept (default: %(default)s)"
    )
    for section in (encode, precision, search):
        harness.add_json(section)
    arguments = parser.parse_args(argv)
    print(describe())
    if arguments.section == "search":
        from benchmarks.semantic.search import measure as measure_search

        figures = measure_search(arguments.snapshot, large=arguments.large)
    elif arguments.section == "precision":
        from benchmarks.semantic.precision import measure as measure_precision

        if (shared := find_shared_data()) is None:
            print("no data: set REFLINK_SHARED_DATA", file=sys.stderr)
            return 2
        works, references = shared / "works.jsonl.gz", shared / "references_dev.jsonl.gz"
        figures = measure_precision(works, references, arguments.precision, arguments.cache, arguments.device)
    else:
        from benchmarks.semantic.encode import measure as measure_encode

        shared = find_shared_data()
        file = arguments.references or (shared and shared / "references_dev.jsonl.gz")
        if file is None:
            print("no references: name a file with --references, or set REFLINK_SHARED_DATA", file=sys.stderr)
            return 2
        figures = measure_encode(file, arguments.texts, arguments.rounds, rivals=not arguments.no_rivals)
    harness.save(arguments.json, {arguments.section: figures})
    return 0


if __name__ == "__main__":
    sys.exit(main())
