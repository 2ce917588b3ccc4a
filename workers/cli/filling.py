"""The commands ``topics`` and ``publish``: create the topics, and send papers."""

from __future__ import annotations

import argparse
from pathlib import Path

from reflink.cli.inputs import add_follow_links, add_format, read_contents
from reflink.errors import ReflinkError
from workers.cli.command import AddCommand, report
from workers.config import settings as configuration
from workers.config.settings import KafkaSettings


def add_to(command: AddCommand) -> None:
    """Add the commands ``topics`` and ``publish``."""
    topics = command("topics", "create missing topics, and check the others", _topics)
    topics.add_argument(
        "--partitions",
        type=int,
        default=6,
        help="partitions of each topic but catalog, absence and dead-letters (default 6)",
    )
    topics.add_argument("--replication", type=int, default=-1, help="replication factor (default: the broker's)")

    publish = command("publish", "send papers of any format: files, gzipped or not, folders, tar files", _publish)
    publish.add_argument("paths", nargs="+", metavar="PATH")
    add_format(publish)
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
                    format_name=arguments.format_name,
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
