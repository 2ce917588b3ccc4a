"""The command ``load``: fill the catalog topic, from works or from the files of sources."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Final, NoReturn

from reflink.cli.importing import add_reading, allowed, print_report, read_sources
from reflink.errors import BadDump, BadRecord, StateFailed
from reflink.terminal import complain
from workers.cli.command import AddCommand
from workers.config import settings as configuration
from workers.config.settings import KafkaSettings
from workers.errors import BadSettings, LoadRefused, StoreFailed

_EPILOG: Final = """examples:
  reflink-worker load works.jsonl.gz
  reflink-worker load --from medline /data/pubmed --state /data/state
  reflink-worker load --config sources.toml --state /data/state      as a daily job

With --from or --config only the works that changed since the last load are sent, and removed works are withdrawn. A killed load
continues when it is run again. `reflink catalog sources` lists the sources, and `reflink catalog update --help` shows a
configuration.

exit codes: 0 success; 1 records, lines or files could not be read, the others are loaded; 12 nothing was loaded: files are
missing, or too many works would be removed; else as the workers'"""

_DAY_S: Final = 86400


def add_to(command: AddCommand) -> None:
    """Add the command ``load``."""
    load = command("load", "fill the catalog topic from works.jsonl[.gz], or from the files of sources", _load_works, _EPILOG)
    given = load.add_mutually_exclusive_group(required=True)
    given.add_argument("works", nargs="?", type=Path, metavar="WORKS", help="one work per line; see docs/events.md")
    given.add_argument("--from", nargs="+", dest="source", metavar=("SOURCE", "PATH"), help="a source, its files and folders")
    given.add_argument("--config", type=Path, metavar="FILE", help="sources, rules and filters as for reflink catalog update")
    bound = "folder that `reflink catalog build` created from WORKS; workers can then start from it"
    load.add_argument("--bind", type=Path, metavar="FOLDER", help=bound)
    load.add_argument("--state", type=Path, metavar="DIR", help="folder with what was read and loaded; for --from and --config")
    add_reading(load)
    textfile = "write metrics to a file for Prometheus's textfile collector"
    load.add_argument("--metrics", type=Path, metavar="FILE", help=textfile)
    load.add_argument("--pushgateway", metavar="URL", help="send metrics to a Pushgateway of Prometheus")
    load.add_argument("--quiet", action="store_true", help="no progress bar")
    load.set_defaults(run=partial(_load, load.error))


def _load(wrong: Callable[[str], NoReturn], arguments: argparse.Namespace) -> int:
    if arguments.works is not None:
        return _load_works(arguments)
    if arguments.state is None or arguments.bind is not None:
        wrong("--from and --config need --state DIR, and do not allow --bind")
    return _load_sources(arguments)


def _load_sources(arguments: argparse.Namespace) -> int:
    from reflink.updating import State
    from reflink.updating.changes import count
    from reflink.updating.config import Config, read_config
    from reflink.updating.update import newest_of
    from workers.catalog.source_load import load_changes
    from workers.cli.progress import counting
    from workers.telemetry import load_metrics

    settings = configuration.read(KafkaSettings)
    try:
        if arguments.config is not None:
            config, folder = read_config(arguments.config), arguments.config.absolute().parent
        else:
            name, *paths = arguments.source
            config, folder = Config.of(name, paths), Path()
    except (BadRecord, OSError) as error:
        raise BadSettings(str(error)) from None
    ages = {each.name: each.max_age_days * _DAY_S for each in config.sources}
    started, success = time.time(), False
    try:
        with State(arguments.state) as state:
            for name, age in ages.items():  # so that the metrics of a refused load have them
                load_metrics.note_age(name, newest_of(state, name), age)
            report = read_sources(state, config, folder, arguments)
            with counting("works", quiet=arguments.quiet) as progress:
                put, removed = load_changes(state, settings, max_removed=allowed(config, arguments), progress=progress)
            works = count(state)
        success = not any(each.damaged for each in report.sources.values())
        load_metrics.note_works(works, put, removed)
        for name, each in report.sources.items():
            load_metrics.note_records(name, vars(each.counts), each.bad + each.bad_before, len(each.damaged))
            load_metrics.note_age(name, each.newest, ages[name])
        return print_report(report, arguments, {"works": works, "works sent": put, "works withdrawn": removed})
    except BadDump as error:
        raise LoadRefused(str(error)) from None
    except StateFailed as error:
        raise StoreFailed(str(error)) from None
    finally:
        load_metrics.note_end(started, success)
        try:
            load_metrics.deliver(arguments.metrics, arguments.pushgateway, settings.topic_prefix)
        except (OSError, ValueError, HTTPException) as error:  # must not hide the result of the load
            complain(f"reflink-worker: the metrics could not be delivered: {error}")


def _load_works(arguments: argparse.Namespace) -> int:
    from reflink.catalog.reading import read_works
    from reflink.entities import Work
    from workers.catalog.bulk_load import load, load_and_bind
    from workers.cli.progress import counting

    settings = configuration.read(KafkaSettings)
    bad = 0

    def works() -> Iterator[Work]:
        nonlocal bad
        for each in read_works(arguments.works):
            if isinstance(each, Work):
                yield each
            else:
                bad += 1
                complain(f"reflink-worker: {each}")

    with counting("works", quiet=arguments.quiet) as progress:
        if arguments.bind is not None:
            count = load_and_bind(works(), arguments.bind, settings, progress)
        else:
            count = load(works(), settings, progress)
    print(f"{count} works loaded into {settings.topic('catalog')}" + (f", {bad} lines refused" if bad else ""))
    return 1 if bad else 0
