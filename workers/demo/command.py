"""``reflink-worker demo`` (and ``make demo``): run the whole pipeline on this machine, from papers to links that change."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from reflink.cli.inputs import add_follow_links
from reflink.errors import ReflinkError
from reflink.terminal import complain
from workers.devkit.requirements import BOOTSTRAP, URLS, missing_needs
from workers.signals import handling

# Every command of reflink-worker imports this module, so ``run`` imports its own dependencies only when it is called.

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
_EPILOG: Final = f"""\
Starts its own Kafka broker on loopback, which needs Java >= 17 and, for the first time, Maven; or uses the brokers of
{BOOTSTRAP}. Folders directly under PATH whose names begin with a number and a dash are
published one after the other. With the examples in profile production, a second act follows: papers and works arrive,
change and are withdrawn, and a curator overrides links.

Exit codes: 0 all outcomes are as expected, 1 they are not, or the demo failed.
"""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Raised for a signal that ends the demo. It is not an Exception, so that no handler treats it as a failure of its own."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the demo."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "--papers", type=Path, metavar="PATH", help="a JATS file, or a folder or tar of JATS files (default: examples/papers)"
    )
    add_follow_links(parser)
    parser.add_argument(
        "--catalog", type=Path, metavar="FILE", help="works as JSON lines, optionally .gz (default: examples/works.jsonl)"
    )
    parser.add_argument(
        "--source",
        metavar="SOURCE",
        help="the catalog is a file or folder of this source, which is imported first (reflink catalog sources)",
    )
    parser.add_argument(
        "--expected",
        type=Path,
        metavar="FILE",
        help="expected outcomes (default: examples/expected.json for the examples in profile production, else none)",
    )
    parser.add_argument(
        "--snapshot", type=Path, metavar="DIR", help="a folder that `reflink catalog build` created from the catalog"
    )
    parser.add_argument("--profile", choices=["paper", "production"], help="how references are decided (default: production)")
    parser.add_argument(
        "--engine",
        choices=["opensearch"],
        help=f"search candidates in a local OpenSearch, or in the engine of {URLS}, instead of vectors and trigrams",
    )
    parser.add_argument("--no-second-act", action="store_true", help="skip the second act")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the broker's data, the workers' state and logs in this folder"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the summary as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the demo and return the exit code. Raises ReflinkError after stopping everything."""
    if missing := list(missing_needs(os.environ)):
        for line in missing:
            complain(f"reflink-worker: {line}")
        return 1
    papers, catalog, expected = chosen(arguments)
    from workers.demo import catalogs
    from workers.demo.demonstration import Demonstration
    from workers.devkit.jars import default_cache

    if arguments.source is not None:
        catalog = catalogs.imported(arguments.source, catalog, default_cache())
    if arguments.engine is not None and not os.environ.get(URLS):
        from workers.devkit.search_engine import bring

        bring()  # refuses an unsuitable Java before anything is started
    try:
        with signals_interrupt():
            return Demonstration(
                papers=papers,
                catalog=catalog,
                expected=expected,
                snapshot=arguments.snapshot,
                profile=arguments.profile,
                engine=arguments.engine,
                keep=arguments.keep,
                json=arguments.json,
                brokers=os.environ.get(BOOTSTRAP) or None,
                second_act=second_act(arguments),
                follow_links=arguments.follow_links,
            ).run()
    except Interrupted as signalled:
        complain(f"reflink-worker: {signalled}: the demo has stopped all its processes")
        return signalled.exit_code


def chosen(arguments: argparse.Namespace) -> tuple[Path, Path, Path | None]:
    """Return the papers, the catalog and the expected outcomes, with defaults. Raises ReflinkError if a path does not exist."""
    papers: Path = arguments.papers or EXAMPLES / "papers"
    catalog: Path = arguments.catalog or EXAMPLES / "works.jsonl"
    expected: Path | None = arguments.expected
    if expected is None and is_of_examples(arguments):
        expected = EXAMPLES / "expected.json"
    given = {"papers": papers, "catalog": catalog, "expected": expected, "snapshot": arguments.snapshot}
    for option, path in given.items():
        if path is not None and not path.exists():
            raise ReflinkError(f"--{option}: {path} does not exist")
    if arguments.engine is not None and arguments.profile == "paper":
        raise ReflinkError("--engine: the profile paper searches vectors and trigrams")
    if arguments.source is not None and arguments.catalog is None:
        raise ReflinkError("--source: name the files of the source with --catalog")
    if arguments.json is not None and not arguments.json.absolute().parent.is_dir():
        raise ReflinkError(f"--json: the folder of {arguments.json} does not exist")
    keep: Path | None = arguments.keep
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise ReflinkError(f"--keep: {keep} is not empty: choose a new folder")
    return papers, catalog, expected


def is_of_examples(arguments: argparse.Namespace) -> bool:
    """Return whether the expected outcomes of the examples apply to this run."""
    return arguments.papers is None and arguments.catalog is None and arguments.profile != "paper"


def second_act(arguments: argparse.Namespace) -> Path | None:
    """Return the folder of scenes; the scenes exist for the examples only."""
    return EXAMPLES / "second-act" if is_of_examples(arguments) and not arguments.no_second_act else None


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Raise Interrupted here for the first SIGINT, SIGTERM or SIGHUP; ignore later ones, so that cleanup completes."""

    interrupted = False

    def interrupt(number: int, _: object) -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            raise Interrupted(number)

    with handling(interrupt, *_SIGNALS):
        yield
