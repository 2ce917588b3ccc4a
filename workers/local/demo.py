"""``reflink-worker demo`` (and ``make demo``): the whole pipeline on this machine, from papers to links that change."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from reflink.errors import ReflinkError

# Every worker's command line loads this module: what the run itself needs is imported when it runs.

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
BOOTSTRAP: Final = "REFLINK_KAFKA_BOOTSTRAP_SERVERS"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asked for the end. Not an Exception, so that nothing on the way takes it for a failure of its own."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the demo."""
    parser.epilog = (
        "Starts a Kafka of its own on loopback (Java >= 17, and Maven to bring it the first time), or uses the one of "
        f"{BOOTSTRAP}. Folders directly under PATH whose names begin with a number and a dash are published one after the "
        "other. With the examples in profile production, a second act follows: papers and works come, change and go, and a "
        "curator speaks. Exit code 0: all is as expected; 1: it is not, or something failed."
    )
    parser.add_argument(
        "--papers", type=Path, metavar="PATH", help="a JATS file, or a folder or tar of such (default: examples/papers)"
    )
    parser.add_argument(
        "--catalog", type=Path, metavar="FILE", help="works as JSON lines, .gz or not (default: examples/works.jsonl)"
    )
    parser.add_argument(
        "--expected",
        type=Path,
        metavar="FILE",
        help="outcomes to compare with (default: examples/expected.json for the examples in profile production, else none)",
    )
    parser.add_argument(
        "--snapshot", type=Path, metavar="DIR", help="a folder that `reflink catalog build` made of the catalog"
    )
    parser.add_argument("--profile", choices=["paper", "production"], help="how references are judged (default: production)")
    parser.add_argument("--no-second-act", action="store_true", help="the papers alone")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the broker's data, the workers' state and logs there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the summary as JSON, too")


def run(arguments: argparse.Namespace) -> int:
    """Runs it; returns the exit code. Raises ReflinkError, with everything stopped."""
    if missing := list(missing_needs(os.environ)):
        for line in missing:
            print(f"reflink-worker: {line}", file=sys.stderr)
        return 1
    papers, catalog, expected = chosen(arguments)
    from workers.local.demonstration import Demonstration

    try:
        with signals_interrupt():
            return Demonstration(
                papers=papers,
                catalog=catalog,
                expected=expected,
                snapshot=arguments.snapshot,
                profile=arguments.profile,
                keep=arguments.keep,
                json=arguments.json,
                brokers=os.environ.get(BOOTSTRAP) or None,
                second_act=second_act(arguments),
            ).run()
    except Interrupted as signalled:
        print(f"reflink-worker: {signalled}: everything that was started is stopped", file=sys.stderr)
        return signalled.exit_code


def chosen(arguments: argparse.Namespace) -> tuple[Path, Path, Path | None]:
    """Papers, catalog and expected outcomes, with their defaults. Raises ReflinkError when one is not there."""
    papers: Path = arguments.papers or EXAMPLES / "papers"
    catalog: Path = arguments.catalog or EXAMPLES / "works.jsonl"
    expected: Path | None = arguments.expected
    if expected is None and is_of_examples(arguments):
        expected = EXAMPLES / "expected.json"
    for option, path in (
        ("--papers", papers),
        ("--catalog", catalog),
        ("--expected", expected),
        ("--snapshot", arguments.snapshot),
    ):
        if path is not None and not path.exists():
            raise ReflinkError(f"{option}: {path} does not exist")
    if arguments.json is not None and not arguments.json.absolute().parent.is_dir():
        raise ReflinkError(f"--json: the folder of {arguments.json} does not exist")
    keep: Path | None = arguments.keep
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise ReflinkError(f"--keep: {keep} is not empty: choose a new folder")
    return papers, catalog, expected


def is_of_examples(arguments: argparse.Namespace) -> bool:
    """Whether the run is one that expectations were written down for."""
    return arguments.papers is None and arguments.catalog is None and arguments.profile != "paper"


def second_act(arguments: argparse.Namespace) -> Path | None:
    """The folder of scenes, which are about the examples alone."""
    return EXAMPLES / "second-act" if is_of_examples(arguments) and not arguments.no_second_act else None


def missing_needs(environment: Mapping[str, str]) -> Iterator[str]:
    """A line for each thing that is missing, but for Python, which pip saw to. Java and Maven are for a broker of our own."""
    if any(importlib.util.find_spec(name) is None for name in ("torch", "sentence_transformers")):
        yield "the encoder's packages are missing: pip install 'reflink-stream[semantic]', or use `make demo`"
    if environment.get(BOOTSTRAP):
        return
    from workers.local.broker import default_cache, java
    from workers.local.errors import LocalSetupError

    try:
        java()
    except LocalSetupError as error:
        yield str(error)
    if shutil.which("mvn") is None and not any(default_cache().glob("kafka-*")):
        yield f"Maven is needed to bring Kafka's jars and `mvn` was not found: install Maven, or set {BOOTSTRAP}"


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP raise Interrupted here, once: what is then being stopped is not interrupted again."""

    def interrupt(number: int, _: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    before = {each: signal.signal(each, interrupt) for each in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
