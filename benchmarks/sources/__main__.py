"""Measure the readers of sources on one core.

    python -m benchmarks.sources [readers] [--source NAME…] [--records 50000] [--rounds 5] [--json FILE]
    python -m benchmarks.sources imports [--records 50000] [--rounds 3] [--json FILE]
    python -m benchmarks.sources gunzip [--json FILE]
    python -m benchmarks.sources generate NAME RECORDS FOLDER

readers   Records a second of each reader, from the file to `SourceRecord`, beside decompression and parsing alone: gzip of the
          standard library with orjson.loads of each line (or file of Crossref's dump), and the same with reflink's
          decompression. On made-up files with sizes as in the real ones (benchmarks/sources/moulds.py). Medians of alternating
          rounds, in seconds of processor time. Then the peak memory of a process that reads a file, and of one that reads four
          times as many records; and the numbers of records and of bad records in the shared files. medline is measured on a
          shared file of the baseline, beside lxml's iterparse without reading any field.
imports   Records a second of processor time of whole imports, from the files through the state to works as JSON lines, in one
          process; with records joined by identifiers only, and also by comparing them. Made-up files of Crossref and
          OpenAlex, and a real one of PubMed.
gunzip    Bytes a second of gzip of the standard library, isal as reflink uses it, and zlib-ng if it is installed.
generate  Write made-up records of a source into a folder.

The exit code is 1 if a reader misses the aim: 10,000 records a second, or half of gunzip and orjson alone, whichever is less,
and less than 500 MB; for medline 5,000 records a second.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks import harness
from benchmarks.sources import gunzip, imports, medline, readers
from benchmarks.sources.generate import write
from benchmarks.sources.moulds import MOULDS
from tests.data import find_shared_data

SOURCES: Final = (*MOULDS, "medline")


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments().parse_args(["readers"] if not (argv or sys.argv[1:]) else argv)
    if arguments.what == "generate":
        print(write(arguments.source, arguments.folder, arguments.records))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if arguments.what == "gunzip":
            harness.save(arguments.json, gunzip.measure(Path(folder), arguments.rounds))
            return 0
        if arguments.what == "imports":
            files = {
                name: (write(name, Path(folder), arguments.records), arguments.records) for name in ("crossref", "openalex")
            }
            if shared := find_shared_data():
                files["medline"] = (shared / medline.FILE, medline.RECORDS)
            harness.save(arguments.json, imports.measure(files, Path(folder), arguments.rounds))
            return 0
        made_up = [name for name in arguments.source if name in MOULDS]
        figures, met = readers.measure(made_up, Path(folder), arguments.records, arguments.rounds)
    shared = find_shared_data()
    if "medline" in arguments.source and shared is not None:
        figures["medline"], reached = medline.measure(shared, arguments.rounds)
        met = met and reached
    harness.save(arguments.json, {"records_per_second": figures})
    return 0 if met else 1


def _arguments() -> argparse.ArgumentParser:
    made = harness.parser(__doc__, figures=False)
    commands = made.add_subparsers(dest="what", required=True)
    for name in ("readers", "imports", "gunzip"):
        sub = commands.add_parser(name)
        rounds = 3 if name == "imports" else 5
        sub.add_argument("--rounds", type=int, default=rounds, help="measurements of each figure (default %(default)s)")
        harness.add_json(sub)
        if name == "readers":
            sub.add_argument("--source", nargs="+", choices=SOURCES, default=SOURCES)
        if name != "gunzip":
            sub.add_argument("--records", type=int, default=50_000, help="of each made-up file")
    sub = commands.add_parser("generate")
    sub.add_argument("source", choices=tuple(MOULDS))
    sub.add_argument("records", type=int)
    sub.add_argument("folder", type=Path)
    return made


if __name__ == "__main__":
    sys.exit(main())
