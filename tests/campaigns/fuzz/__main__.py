"""``python -m tests.campaigns.fuzz``: a campaign of mutations, the replay of one input, or atheris."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from reflink.formats.registry import NAMES
from tests.campaigns.fuzz.mutations import Input
from tests.campaigns.reporting import write_json
from tests.data import find_shared_data, jats_folder

if TYPE_CHECKING:
    from tests.campaigns.fuzz.campaign import Subject

_EPILOG = """examples:
  python -m tests.campaigns.fuzz --runs 1000000 --jobs 2 --json fuzz.json   a campaign; a seed gives the same inputs
  python -m tests.campaigns.fuzz --format tei --runs 100000                 a campaign with papers of another format
  python -m tests.campaigns.fuzz --replay 1:4711 --save input.xml           write, run and check input 4711 of seed 1
  python -m tests.campaigns.fuzz --check input.xml                          run and check any file
  python -m tests.campaigns.fuzz guided --minutes 30                        atheris: inputs that find new paths in the parser

The laws for every input are in tests/campaigns/fuzz/checks.py. Exit code 1: a law was broken; the folder --finds has minimised
inputs that break it."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 without finds, 1 with finds, 2 if it could not run."""
    options = _options(arguments)
    articles: Path | None = options.articles
    if articles is None and find_shared_data() is not None:
        articles = jats_folder()
    if articles is None:
        print(
            "the real articles are missing (REFLINK_SHARED_DATA, or --articles FOLDER): made-up articles are used instead",
            file=sys.stderr,
        )
    if options.command == "guided":
        return _guided(options, articles)
    if options.check:
        item = Input(-1, options.check.read_bytes(), options.check.name, None, "file", ())
        return _check(_subject(options, articles), item)
    if options.replay:
        return _replay(options, articles)
    return _campaign(options, articles)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.fuzz", description="Fuzzes the parsers with broken, hostile and strange papers.",
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("command", nargs="?", choices=("mutate", "guided"), default="mutate", help="default: mutate")
    parser.add_argument("--format", choices=NAMES, default="jats", help="format of the papers (jats); guided always takes jats")
    parser.add_argument("--runs", type=int, default=1_000_000, metavar="N", help="number of inputs (1,000,000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the inputs (1)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first input (0)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (1); guided always uses one")
    parser.add_argument("--minutes", type=float, metavar="M", help="maximum duration")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the summary to this file")
    finds = Path(".cache/fuzz")
    parser.add_argument(
        "--finds", type=Path, default=finds, metavar="DIR", help=f"folder for inputs that break a law ({finds})"
    )
    parser.add_argument("--articles", type=Path, metavar="DIR", help="folder of articles (*.xml), instead of the shared data")
    parser.add_argument("--replay", metavar="SEED:NUMBER", help="check only this input")
    parser.add_argument("--save", type=Path, metavar="FILE", help="with --replay: write the input to this file")
    parser.add_argument("--check", type=Path, metavar="FILE", help="check only this file")
    return parser.parse_args(arguments)


def _campaign(options: argparse.Namespace, articles: Path | None) -> int:
    from tests.campaigns.fuzz.campaign import Campaign, Plan, Tally, save

    console = Console(stderr=True)
    plan = Plan(options.seed, options.runs, max(options.jobs, 1), options.minutes, options.first)
    columns = (TextColumn("fuzzing"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]:,.0f}/s"),
               TextColumn("{task.fields[finds]} kinds of find"), TimeElapsedColumn(), TimeRemainingColumn())  # fmt: skip
    # No refresh thread, because the campaign forks processes.
    with Progress(*columns, console=console, auto_refresh=False) as bar:
        task = bar.add_task("", total=plan.runs, rate=0.0, finds=0)

        def progress(tally: Tally) -> None:
            elapsed = bar.tasks[0].elapsed or 1.0
            bar.update(task, completed=tally.runs, rate=tally.runs / elapsed, finds=len(tally.signatures), refresh=True)

        campaign = Campaign(_subject(options, articles), plan, progress)
        tally = campaign.run()
    save(tally.finds, options.finds, plan.seed)
    for find in tally.finds:
        print(f"{plan.seed}:{find.number} {find.detail[:300]}\n    {find.data[:300]!r}")
    return _report(campaign.summary(), options, bool(tally.signatures))


def _guided(options: argparse.Namespace, articles: Path | None) -> int:
    from tests.campaigns.fuzz.guided import NoAtheris, guided

    try:
        summary = guided(articles, seed=options.seed, runs=options.runs, minutes=options.minutes, finds=options.finds)
    except NoAtheris as error:
        print(error, file=sys.stderr)
        return 2
    return _report(summary, options, bool(summary["finds"]))


def _report(summary: dict[str, Any], options: argparse.Namespace, found: bool) -> int:
    print(json.dumps(summary, indent=1))
    write_json(options.json, summary)
    if found:
        print(f"{len(summary['finds'])} kinds of find: see {options.finds}", file=sys.stderr)
    return 1 if found else 0


def _replay(options: argparse.Namespace, articles: Path | None) -> int:
    seed, _, number = options.replay.partition(":")
    if not (seed.isdecimal() and number.isdecimal()):
        print(f"--replay {options.replay}: not SEED:NUMBER, e.g. 1:4711", file=sys.stderr)
        return 2
    subject = _subject(options, articles)
    item = subject.generate(int(seed), int(number))
    mutations = ", ".join(item.mutations) or "none"
    print(f"base {item.base}, mutations {mutations}, source {item.source!r}, limits {item.limits}, {len(item.data)} bytes")
    if options.save:
        options.save.write_bytes(item.data)
    return _check(subject, item)


def _subject(options: argparse.Namespace, articles: Path | None) -> Subject:
    """Return the parser of the format that the options name."""
    from tests.campaigns.fuzz.campaign import Articles
    from tests.campaigns.fuzz.samples import Samples
    from tests.campaigns.fuzz.seeds import Corpus

    return Articles(Corpus.read(articles)) if options.format == "jats" else Samples.of(options.format)


def _check(subject: Subject, item: Input) -> int:
    from tests.campaigns.fuzz.checks import Broken

    try:
        outcome = subject.check(item)
    except Broken as broken:
        print(f"{broken.signature} | {broken}")
        return 1
    print(f"{outcome.name}: {outcome.references} references, {outcome.seconds * 1000:.1f} ms, read twice: {outcome.confirmed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
