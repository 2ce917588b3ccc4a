"""``reflink-worker``: the processes, and the tools around their topics."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from reflink.errors import NotAPaper, ReflinkError
from workers import settings as configuration
from workers.errors import WorkerError
from workers.settings import KafkaSettings, WorkerSettings

_EPILOG: Final = """\
Every setting is an environment variable REFLINK_… or a line of the TOML file that REFLINK_CONFIG names;
`reflink-worker settings` lists them. Workers log JSON lines to standard error and serve /metrics, /health/live
and /health/ready. Exit codes: 0 drained, 1 failed, 2 bad settings or usage, 3 wrong topic, 4 slot taken, 5 fenced,
6 flood of dead letters, 7 stalled, 8 refused by the broker, 9 no broker answers.

first steps:
  reflink-worker topics --partitions 6
  reflink-worker load works.jsonl.gz
  reflink-worker parser & reflink-worker linker & reflink-worker fallback & reflink-worker ledger &
  reflink-worker publish papers/
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The command. Returns its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except WorkerError as error:
        print(f"reflink-worker: {type(error).__name__}: {error}", file=sys.stderr)
        return error.exit_code
    except ReflinkError as error:
        print(f"reflink-worker: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 141
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"reflink-worker: {where}{error.strerror or error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reflink-worker",
        description="Runs reflink on Kafka: papers in, links out.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, text: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    command("parser", "run a parser worker: papers to references", _worker(_parser_stage, configuration.ParserSettings))
    command("linker", "run a linker worker: identifiers and meaning", _worker(_linker_stage, configuration.LinkerSettings))
    command("fallback", "run a fallback worker: trigrams", _worker(_fallback_stage, configuration.FallbackSettings))
    command("ledger", "run a ledger worker: one outcome per reference", _worker(_ledger_stage, configuration.LedgerSettings))

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

    command("settings", "list every setting, as docs/configuration.md", _settings)
    command("metrics", "list every metric, as docs/metrics.md", _metrics)
    schemas = command("schemas", "write the JSON Schema of every event", _schemas)
    schemas.add_argument("folder", type=Path, metavar="FOLDER")

    demo = command("demo", "the whole pipeline on this machine, with a Kafka of its own", _demo)
    from workers.local import demo as local_demo

    local_demo.add_arguments(demo)
    return parser


# Workers. Imported where they run: a parser must not wait for torch.


def _worker(make: Callable[[Any], Any], model: type[WorkerSettings]) -> Callable[[argparse.Namespace], int]:
    def run(_: argparse.Namespace) -> int:
        from workers import logs
        from workers.runtime import Runtime, run_until_signalled

        settings = configuration.read(model)
        stage = make(settings)
        logs.set_up(settings.log_level, worker=stage.name, slot=settings.slot)
        try:
            run_until_signalled(Runtime(stage, settings))
            code = 0
        except ReflinkError as error:
            print(f"reflink-worker: {type(error).__name__}: {error}", file=sys.stderr)
            code = error.exit_code if isinstance(error, WorkerError) else 1
        sys.stderr.flush()
        # Not by way of the interpreter's end: threads of native libraries that still run then abort the process, and the
        # exit code, by which an operator knows what happened, would be lost.
        os._exit(code)

    return run


def _parser_stage(settings: configuration.ParserSettings) -> Any:
    from workers.parser import ParserStage

    return ParserStage(settings)


def _linker_stage(settings: configuration.LinkerSettings) -> Any:
    from workers.linker import LinkerStage

    return LinkerStage(settings)


def _fallback_stage(settings: configuration.FallbackSettings) -> Any:
    from workers.fallback import FallbackStage

    return FallbackStage(settings)


def _ledger_stage(settings: configuration.LedgerSettings) -> Any:
    from workers.ledger import LedgerStage

    return LedgerStage(settings)


# Tools


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


def _settings(_: argparse.Namespace) -> int:
    from workers.reference import settings_page

    print(settings_page(), end="")
    return 0


def _metrics(_: argparse.Namespace) -> int:
    from workers.reference import metrics_page

    print(metrics_page(), end="")
    return 0


def _schemas(arguments: argparse.Namespace) -> int:
    from schemas.export import write_schemas

    for path in write_schemas(arguments.folder):
        print(path)
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from workers.local import demo

    return demo.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
