"""The command ``snapshot``: make a catalog snapshot from the topic."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from pathlib import Path
from typing import Final

from workers.cli.command import AddCommand, add_output, ended_by_sigterm
from workers.config import settings as configuration
from workers.config.settings import FallbackSettings, LinkerSettings

log = logging.getLogger(__name__)

_EPILOG: Final = """\
Continues from DIR/current, reads the catalog topic up to its current end, writes DIR/<time>-<offset> and points DIR/current
to it. Workers with REFLINK_CATALOG_SNAPSHOT=DIR/current open it at their next start; running workers are not affected.
Model, modes and precision are settings of the linker (REFLINK_MODEL, REFLINK_PRECISION, ...) and of the fallback
(REFLINK_LEXICAL_MODE). With REFLINK_ENGINE=opensearch the snapshot has neither vectors nor trigrams. Without new events the
command writes nothing. Run it at least every three days: workers refuse snapshots older than three and a half days. A killed
run does not change DIR/current; the next run removes its files.

  reflink-worker snapshot --out catalogs                          e.g. from a CronJob
  reflink-worker snapshot --out catalogs --from built/            the first, with the vectors of `reflink catalog build`

Exit codes: 0 done or nothing new, 143 ended by SIGTERM, else as the workers'. Disk: N + 1 snapshots while one is written;
DIR needs a file system with symbolic links and locks. Memory: see docs/performance.md.
"""
#: Time between two progress lines in the log.
_LOG_EVERY_S: Final = 10.0


def add_to(command: AddCommand) -> None:
    """Add the command ``snapshot``."""
    snapshot = command("snapshot", "make a catalog snapshot from the topic while the workers run", _snapshot, _EPILOG)
    snapshot.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of snapshots; created if missing")
    snapshot.add_argument(
        "--keep", type=_kept, default=3, metavar="N", help="number of snapshots to keep, at least 2 (default 3)"
    )
    snapshot.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FOLDER",
        help="if DIR has no snapshot: one to continue from if it is bound to the topic, else to reuse vectors from",
    )
    add_output(snapshot, "print the result as a JSON object", prefix=False)


def _kept(text: str) -> int:
    from reflink.catalog.generations import LEAST_KEPT

    if not text.isdigit() or int(text) < LEAST_KEPT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number >= {LEAST_KEPT}: workers may be opening the previous snapshot"
        )
    return int(text)


def _snapshot(arguments: argparse.Namespace) -> int:
    from workers.catalog.snapshot_building import make
    from workers.cli.progress import counting
    from workers.linking.encoders import load_encoder
    from workers.telemetry import logs

    settings = configuration.read(LinkerSettings)
    native = settings.engine == "native"
    lexical_mode = configuration.read(FallbackSettings).lexical_mode if native else None
    watched = sys.stderr.isatty()
    logs.set_up("WARNING" if watched or arguments.quiet else settings.log_level, worker="snapshot")
    logged_at = time.monotonic()
    with ended_by_sigterm(), counting("events applied", quiet=arguments.quiet) as show:

        def progress(taken: int, total: int) -> None:
            nonlocal logged_at
            show(taken)
            if taken == total or time.monotonic() - logged_at > _LOG_EVERY_S:
                logged_at = time.monotonic()
                log.info("events applied", extra={"applied": taken, "of": total})

        made = make(
            arguments.out,
            settings,
            load_encoder(settings, settings.precision) if native else None,
            lexical_mode=lexical_mode,
            keep=arguments.keep,
            source=arguments.source,
            progress=progress,
        )
    if arguments.json:
        print(json.dumps({**vars(made), "folder": str(made.folder), "seconds": round(made.seconds, 3)}))
    else:
        print(f"{made.folder} {made.what}: {made.works} works at offset {made.offset}, {made.events} events applied, ", end="")
        print(f"{made.seconds:.1f} s")
    return 0
