"""The command that makes a catalog snapshot from the topic: snapshot."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from pathlib import Path
from typing import Final

from workers import settings as configuration
from workers.cli.command import AddCommand, ended_by_sigterm
from workers.settings import FallbackSettings, LinkerSettings

log = logging.getLogger(__name__)

_EPILOG: Final = """\
Goes on from DIR/current, reads the catalog topic up to the end that it has now, writes DIR/<time>-<offset> and points
DIR/current at it. Workers with REFLINK_CATALOG_SNAPSHOT=DIR/current take it at their next start; those that run need
nothing. Model, modes and precision are the settings of linker (REFLINK_MODEL, REFLINK_PRECISION, ...) and fallback
(REFLINK_LEXICAL_MODE). Where nothing is new, nothing is written; run it at least once in three days, since what is
older than three and a half is refused. A killed run leaves DIR/current as it was; the next one cleans up.

  reflink-worker snapshot --out catalogs                          as often as wished, from a CronJob for example
  reflink-worker snapshot --out catalogs --from built/            the first: with vectors of `reflink catalog build`

Exit codes: 0 done or nothing new, 143 ended by SIGTERM, else as the workers'. Disk: DIR holds N + 1 while one is written,
and needs a file system with symbolic links and locks. Memory: docs/performance.md says what 265,158 works take.
"""
#: Between two log lines on the way.
_LOG_EVERY_S: Final = 10.0


def add_to(command: AddCommand) -> None:
    """Adds snapshot."""
    snapshot = command("snapshot", "make a catalog snapshot from the topic, without stopping anything", _snapshot)
    snapshot.epilog, snapshot.formatter_class = _EPILOG, argparse.RawDescriptionHelpFormatter
    snapshot.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of snapshots, made if absent")
    snapshot.add_argument("--keep", type=_kept, default=3, metavar="N", help="how many stay, 2 at least (default 3)")
    snapshot.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FOLDER",
        help="where DIR holds none: a snapshot to begin with if it is bound to the topic, else to take vectors from",
    )
    snapshot.add_argument("--json", action="store_true", help="the result as an object")
    snapshot.add_argument("--quiet", action="store_true", help="no progress")


def _kept(text: str) -> int:
    from reflink.catalog.generations import LEAST_KEPT

    if not text.isdigit() or int(text) < LEAST_KEPT:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from {LEAST_KEPT} on: readers may be opening the former one")
    return int(text)


def _snapshot(arguments: argparse.Namespace) -> int:
    from workers import logs
    from workers.linker import load_encoder
    from workers.progress import counting
    from workers.snapshotting import make

    settings = configuration.read(LinkerSettings)
    lexical_mode = configuration.read(FallbackSettings).lexical_mode
    watched = sys.stderr.isatty()
    logs.set_up("WARNING" if watched or arguments.quiet else settings.log_level, worker="snapshot")
    told = time.monotonic()
    with ended_by_sigterm(), counting("events taken in", quiet=arguments.quiet) as show:

        def progress(taken: int, total: int) -> None:
            nonlocal told
            show(taken)
            if taken == total or time.monotonic() - told > _LOG_EVERY_S:
                told = time.monotonic()
                log.info("events taken in", extra={"taken": taken, "of": total})

        made = make(
            arguments.out,
            settings,
            load_encoder(settings, settings.precision),
            lexical_mode=lexical_mode,
            keep=arguments.keep,
            source=arguments.source,
            progress=progress,
        )
    if arguments.json:
        print(json.dumps({**vars(made), "folder": str(made.folder), "seconds": round(made.seconds, 3)}))
    else:
        print(f"{made.folder} {made.what}: {made.works} works at offset {made.offset}, {made.events} events taken in, ", end="")
        print(f"{made.seconds:.1f} s")
    return 0
