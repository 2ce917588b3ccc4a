"""The commands ``topics``, ``load`` and ``publish``: create the topics and fill them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reflink.cli.importing import add_reading, allowed, print_report, read_sources
from reflink.cli.inputs import add_follow_links, read_contents
from reflink.errors import BadRecord, ReflinkError
from reflink.terminal import complain
from workers.cli.command import AddCommand, report
from workers.config import settings as configuration
from workers.config.settings import KafkaSettings

_LOAD: Final = """examples:
  reflink-worker load works.jsonl.gz
  reflink-worker load --from medline /data/pubmed --state /data/state
  reflink-worker load --config sources.toml --state /data/state      as a daily job

With --from or --config only the works that changed since the last load are sent, and removed works are withdrawn. A killed load
continues when it is run again.

exit codes: 0 success; 1 records, lines or files could not be read, all others are loaded; 2 nothing was loaded"""


_DAY_S: Final = 86400


def add_to(command: AddCommand) -> None:
    """Add the commands ``topics``, ``load`` and ``publish``."""
    topics = command("topics", "create missing topics, and check the others", _topics)
    topics.add_argument(
        "--partitions",
        type=int,
        default=6,
        help="partitions of each topic but catalog, absence and dead-letters (default 6)",
    )
    topics.add_argument("--replication", type=int, default=-1, help="replication factor (default: the broker's)")

    load = command("load", "fill the catalog topic from works.jsonl[.gz], or from the files of sources", _load, epilog=_LOAD)
    load.add_argument("works", nargs="?", type=Path, metavar="WORKS", help="one work per line; see docs/events.md")
    load.add_argument(
        "--bind",
        type=Path,
        metavar="FOLDER",
        help="folder that `reflink catalog build` created from WORKS; workers can then start from it",
    )
    load.add_argument("--from", nargs="+", dest="source", metavar=("SOURCE", "PATH"), help="a source and its files and folders")
    load.add_argument("--config", type=Path, metavar="FILE", help="sources, rules and filters as for reflink catalog update")
    load.add_argument(
        "--state", type=Path, metavar="DIR", help="folder with what was read and loaded so far; for --from, --config"
    )
    add_reading(load)
    load.add_argument(
        "--metrics", type=Path, metavar="FILE", help="write metrics to a file for Prometheus's textfile collector"
    )
    load.add_argument("--pushgateway", metavar="URL", help="send metrics to a Pushgateway of Prometheus")
    load.add_argument("--quiet", action="store_true", help="no progress bar")

    publish = command("publish", "send papers: XML files, gzipped or not, folders, tar files", _publish)
    publish.add_argument("paths", nargs="+", metavar="PATH")
    add_follow_links(publish)
    publish.add_argument("--encoding", choices=["zstd", "gzip", "identity"], default="zstd", help="compression (default zstd)")
    publish.add_argument("--version", type=int, help="version of the papers (default: time of sending)")
    publish.add_argument(
        "--pointer-root",
        type=Path,
        metavar="FOLDER",
        help="folder for papers above the message limit: REFLINK_POINTER_ROOT of the parsers",
    )
    publish.add_argument("--quiet", action="store_true", help="no progress bar")


def _topics(arguments: argparse.Namespace) -> int:
    from workers.kafka.topics import TopicAdmin

    settings = configuration.read(KafkaSettings)
    with TopicAdmin(settings) as admin:
        for name, what in admin.create(arguments.partitions, arguments.replication).items():
            print(f"{settings.topic(name)}\t{what}")
    return 0


def _load(arguments: argparse.Namespace) -> int:
    sources = arguments.source is not None or arguments.config is not None
    if (arguments.works is not None) == sources or (arguments.source is not None and arguments.config is not None):
        raise BadRecord("load: give WORKS, --from SOURCE PATH or --config FILE")
    if not sources:
        return _load_works(arguments)
    if arguments.state is None or arguments.bind is not None:
        raise BadRecord("load: --from and --config need --state DIR, and do not allow --bind")
    return _load_sources(arguments)


def _load_sources(arguments: argparse.Namespace) -> int:
    from reflink.updating import State
    from reflink.updating.changes import count
    from reflink.updating.config import Config, read_config
    from workers.catalog.source_load import load_changes
    from workers.cli.progress import counting
    from workers.telemetry import load_metrics

    settings = configuration.read(KafkaSettings)
    if arguments.config is not None:
        config, folder = read_config(arguments.config), arguments.config.absolute().parent
    else:
        name, *paths = arguments.source
        config, folder = Config.of(name, paths), Path()
    started, success = time.time(), False
    try:
        with State(arguments.state) as state:
            report = read_sources(state, config, folder, arguments)
            with counting("works", quiet=arguments.quiet) as progress:
                put, removed = load_changes(state, settings, max_removed=allowed(config, arguments), progress=progress)
            works = count(state)
        success = report.flawless
        load_metrics.note_works(works, put, removed)
        ages = {each.name: each.max_age_days * _DAY_S for each in config.sources}
        for name, each in report.sources.items():
            faults = each.bad, len(each.damaged)
            load_metrics.note_source(name, vars(each.counts), *faults, each.newest, ages[name])
        return print_report(report, arguments, {"works": works, "works sent": put, "works withdrawn": removed})
    finally:
        load_metrics.note_end(started, success)
        load_metrics.deliver(arguments.metrics, arguments.pushgateway, settings.topic_prefix)


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


def _publish(arguments: argparse.Namespace) -> int:
    from workers.cli.progress import counting
    from workers.kafka.bulk_producer import Sender
    from workers.papers.publishing import publish, record_of

    settings = configuration.read(KafkaSettings)
    bad = 0
    with counting("papers", quiet=arguments.quiet) as progress, Sender(settings) as sender:
        for name, data in read_contents(arguments.paths, follow_links=arguments.follow_links):
            try:
                if isinstance(data, ReflinkError):
                    raise data
                record = record_of(
                    name,
                    data,
                    encoding=arguments.encoding,
                    version=arguments.version,
                    pointer_root=arguments.pointer_root,
                )
            except ReflinkError as error:
                bad += 1
                report(error)
                continue
            publish([record], sender)
            progress(sender.sent)
    print(f"{sender.sent} papers published to {settings.topic('papers')}" + (f", {bad} refused" if bad else ""))
    return 1 if bad else 0
