"""The command that writes the current links as files: export."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reflink.graph import FORMATS
from workers import settings as configuration
from workers.cli.command import AddCommand, ended_by_sigterm
from workers.settings import KafkaSettings

if TYPE_CHECKING:
    from workers.exporting import Phase

log = logging.getLogger(__name__)

_EPILOG: Final = """\
Reads the topic links beside running workers, in no group, and writes the newest record of each reference: links.parquet
(needs pyarrow), citations.csv (OpenCitations' columns) and links.jsonl (as in the topic), with manifest.json, which names
cluster, topic, offsets, time and counts. DIR has its name when all of it is whole; until then, and after a kill, a hidden
folder beside it, which the next export into the same DIR removes. docs/consuming.md says what one moment means.

  reflink-worker export --out graph-2026-11                         all three formats
  reflink-worker export --out graph-2026-11 --format csv jsonl --json

Exit codes: 0 done, 1 records that could not be read are left out and listed in unreadable.jsonl, or the disk is full;
143 ended by SIGTERM, else as the workers'. Disk: the files, and once more all links, compressed, until they are written.
"""
#: Between two log lines on the way.
_LOG_EVERY_S: Final = 10.0


def add_to(command: AddCommand) -> None:
    """Adds export."""
    export = command("export", "write the current links as Parquet, CSV and JSON lines", _export)
    export.epilog, export.formatter_class = _EPILOG, argparse.RawDescriptionHelpFormatter
    export.add_argument("--out", type=Path, required=True, metavar="DIR", help="a folder that is absent or empty")
    export.add_argument("--format", nargs="+", choices=FORMATS, default=FORMATS, help=f"default: {' '.join(FORMATS)}")
    export.add_argument("--prefix", help="of the topic (default: REFLINK_TOPIC_PREFIX)")
    export.add_argument(
        "--wait",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="at most, for a moment at which no transaction is open (default 10); the manifest says whether one came",
    )
    export.add_argument("--json", action="store_true", help="the manifest as an object")
    export.add_argument("--quiet", action="store_true", help="no progress")


def _export(arguments: argparse.Namespace) -> int:
    from workers import logs
    from workers.exporting import export
    from workers.progress import counting

    settings = configuration.read(KafkaSettings)
    if arguments.prefix is not None:
        settings = settings.model_copy(update={"topic_prefix": arguments.prefix})
    watched = sys.stderr.isatty()
    logs.set_up("WARNING" if watched or arguments.quiet else "INFO", worker="export")
    # It complains when a large batch keeps its loop for a tenth of a second, as reading all at once does.
    logging.getLogger("kafka.net.selector").setLevel(logging.ERROR)
    with ended_by_sigterm(), ExitStack() as bars:
        shown, told = None, time.monotonic()
        show = None

        def progress(phase: Phase, done: int, total: int | None) -> None:
            nonlocal shown, show, told
            if phase != shown or show is None:
                bars.close()
                what = "offsets read" if phase == "read" else "references written"
                shown, show = phase, bars.enter_context(counting(what, quiet=arguments.quiet, total=total))
            show(done)
            if time.monotonic() - told > _LOG_EVERY_S:
                told = time.monotonic()
                log.info("exporting", extra={phase: done, "of": total})

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
        print(
            f"reflink-worker: no moment without an open transaction came within {arguments.wait:g} s: links of different "
            "papers may be a transaction apart; --wait longer, or export while less is written",
            file=sys.stderr,
        )
    if unreadable:
        print(f"reflink-worker: {unreadable} records cannot be read: {arguments.out}/unreadable.jsonl", file=sys.stderr)
    return 1 if unreadable else 0
