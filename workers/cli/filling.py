"""The commands that make topics and fill them: topics, load, publish, withdraw."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from reflink.errors import NotAPaper, ReflinkError
from workers import settings as configuration
from workers.cli.command import AddCommand
from workers.settings import KafkaSettings


def add_to(command: AddCommand) -> None:
    """Adds topics, load, publish and withdraw."""
    topics = command("topics", "create what is missing of the topics, and check the rest", _topics)
    topics.add_argument("--partitions", type=int, default=6, help="of each topic but catalog and dead-letters (default 6)")
    topics.add_argument("--replication", type=int, default=-1, help="replication factor (default: the broker's)")

    load = command("load", "fill the catalog topic from works.jsonl[.gz]", _load)
    load.add_argument("works", type=Path, metavar="WORKS", help="a work a line; see docs/events.md")
    load.add_argument(
        "--bind",
        type=Path,
        metavar="FOLDER",
        help="a folder that `reflink catalog build` made of the same file: workers can then start from it",
    )
    load.add_argument("--quiet", action="store_true", help="no progress bar")

    publish = command("publish", "send papers: XML files, gzipped or not, folders, tars", _publish)
    publish.add_argument("paths", nargs="+", metavar="PATH")
    publish.add_argument("--encoding", choices=["zstd", "gzip", "identity"], default="zstd", help="default zstd")
    publish.add_argument("--version", type=int, help="the papers' version (default: the time of sending)")
    publish.add_argument(
        "--pointer-root",
        type=Path,
        metavar="FOLDER",
        help="where papers above the message limit go; the parsers' REFLINK_POINTER_ROOT",
    )
    publish.add_argument("--quiet", action="store_true", help="no progress bar")

    withdraw = command("withdraw", "withdraw papers: their links go, and they leave the catalog", _withdraw)
    withdraw.add_argument("ids", nargs="+", metavar="ID", help="work ids, as links name them: doi:…, pmid:…, pmcid:…, arxiv:…")


def _topics(arguments: argparse.Namespace) -> int:
    from workers.topics import TopicAdmin

    settings = configuration.read(KafkaSettings)
    with TopicAdmin(settings) as admin:
        for name, what in admin.create(arguments.partitions, arguments.replication).items():
            print(f"{settings.topic(name)}\t{what}")
    return 0


def _load(arguments: argparse.Namespace) -> int:
    from reflink.catalog.reading import read_works
    from reflink.entities import Work
    from workers.loading import load, load_and_bind
    from workers.progress import counting

    settings = configuration.read(KafkaSettings)
    bad = 0

    def works() -> Iterator[Work]:
        nonlocal bad
        for each in read_works(arguments.works):
            if isinstance(each, Work):
                yield each
            else:
                bad += 1
                print(f"reflink-worker: {each}", file=sys.stderr)

    with counting("works", quiet=arguments.quiet) as progress:
        if arguments.bind is not None:
            count = load_and_bind(works(), arguments.bind, settings, progress)
        else:
            count = load(works(), settings, progress)
    print(f"{count} works loaded into {settings.topic('catalog')}" + (f", {bad} lines refused" if bad else ""))
    return 1 if bad else 0


def _publish(arguments: argparse.Namespace) -> int:
    from workers.progress import counting
    from workers.publishing import publish, record_of
    from workers.sending import Sender

    settings = configuration.read(KafkaSettings)
    bad = 0
    with counting("papers", quiet=arguments.quiet) as progress, Sender(settings) as sender:
        for name, data in _contents(arguments.paths):
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
                print(f"reflink-worker: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            publish([record], sender)
            progress(sender.sent)
    print(f"{sender.sent} papers published to {settings.topic('papers')}" + (f", {bad} refused" if bad else ""))
    return 1 if bad else 0


def _contents(paths: Sequence[str]) -> Iterator[tuple[str, bytes | ReflinkError]]:
    import tarfile
    import zlib

    from reflink.cli.inputs import read_contents

    for path in paths:
        try:
            yield from read_contents([path])
        except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
            yield path, NotAPaper(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")


def _withdraw(arguments: argparse.Namespace) -> int:
    from workers.sending import Sender

    settings = configuration.read(KafkaSettings)
    if odd := [each for each in arguments.ids if ":" not in each]:
        print(f"reflink-worker: {odd[0]!r} is not a work id (doi:…, pmid:…, pmcid:…, arxiv:…)", file=sys.stderr)
        return 2
    with Sender(settings) as sender:
        for work_id in arguments.ids:
            sender.send("papers", work_id.encode(), None)
    print(f"{sender.sent} papers withdrawn")
    return 0
