"""The command ``export``: write the current links to files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from reflink.graph import CONTEXTS, FORMATS
from reflink.terminal import complain
from workers.cli.command import AddCommand, add_output, ended_by_sigterm, settings_of, tool_logs
from workers.config.settings import KafkaSettings

_EPILOG: Final = """\
Reads the topic links while workers run, without a consumer group, and writes the newest record of each reference:
links.parquet (needs pyarrow), citations.csv (OpenCitations' columns), links.jsonl (as in the topic), and manifest.json with
cluster, topic, offsets, time and counts. DIR appears when it is complete. Until then, and after a kill, the files are in a
hidden folder beside it, which the next export to DIR removes. docs/consuming.md explains as of which moment links are.

  reflink-worker export --out graph-2026-11                         all three formats
  reflink-worker export --out graph-2026-11 --format csv jsonl --json
  reflink-worker export --out graph-2026-11 --format parquet contexts    also contexts.jsonl: where references are mentioned

Exit codes: 0 done, 1 the disk is full, or unreadable records are missing from the files and listed in unreadable.jsonl,
143 ended by SIGTERM, else as the workers'. Disk: the files, and a compressed copy of all links until they are written.
"""


def add_to(command: AddCommand) -> None:
    """Add the command ``export``."""
    export = command("export", "write the current links as Parquet, CSV and JSON lines", _export, _EPILOG)
    export.add_argument("--out", type=Path, required=True, metavar="DIR", help="an empty or new folder")
    export.add_argument(
        "--format", nargs="+", choices=(*FORMATS, CONTEXTS), default=FORMATS, help=f"default: {' '.join(FORMATS)}"
    )
    export.add_argument(
        "--wait",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="maximum wait for a moment without open transactions (default 10); the manifest has the result",
    )
    add_output(export, "print the manifest as a JSON object")


def _export(arguments: argparse.Namespace) -> int:
    from workers.cli.progress import phases
    from workers.tools.link_export import export

    settings = settings_of(arguments, KafkaSettings)
    tool_logs("export", quiet=arguments.quiet)
    names = {"read": "offsets read", "written": "references written"}
    with ended_by_sigterm(), phases("exporting", names, quiet=arguments.quiet) as progress:
        manifest = export(settings, arguments.out, arguments.format, wait_s=arguments.wait, progress=progress)
    unreadable = manifest["unreadable"]
    if arguments.json:
        print(json.dumps({"folder": str(arguments.out), **manifest}))
    else:
        files = ", ".join(f"{name} {file['bytes'] / 1e6:,.1f} MB" for name, file in manifest["files"].items())
        print(
            f"{arguments.out}: {manifest['references']} references, {manifest['linked']} linked, as of "
            f"{manifest['source']['as_of']}, {manifest['seconds']:.1f} s: {files}"
        )
    if not manifest["source"]["whole_transactions"]:
        complain(
            f"reflink-worker: no moment without an open transaction within {arguments.wait:g} s: the files may have some "
            "links of a transaction without its other papers' links; use a longer --wait, or export while workers write less",
        )
    if unreadable:
        complain(f"reflink-worker: {unreadable} records cannot be read: {arguments.out}/unreadable.jsonl")
    return 1 if unreadable else 0
