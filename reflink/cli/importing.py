"""The commands ``reflink catalog import``, ``update`` and ``sources``: works from the files of bibliographic databases."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import pydantic
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from reflink.catalog.filters import Filters
from reflink.cli import OK, SOME_FAILED
from reflink.cli.output import add_json, complain, console, table, write_json
from reflink.entity_base import bad_record
from reflink.errors import BadDump, StateFailed
from reflink.sources.registry import NAMES, source
from reflink.terminal import Terminal

if TYPE_CHECKING:
    from reflink.merging import Conflict
    from reflink.updating import Report, State
    from reflink.updating.config import Config

# Every command of reflink imports this module, so each function imports what needs much time only when it is called.

_IMPORT: Final = """An interrupted import continues when the same command is run again. Files that are broken or of other kinds
are reported, and cost nothing else.

examples:
  reflink catalog import medline pubmed/baseline pubmed/updatefiles --out works.jsonl.gz
  reflink catalog import crossref "April 2025 Public Data File from Crossref" --out works.jsonl.gz --jobs 4
  reflink catalog import bibtex library.bib --out works.jsonl

then:
  reflink catalog build works.jsonl.gz --out catalog/

exit codes: 0 success; 1 records or files could not be read (stderr names them), the works of all others are written;
2 nothing was written: files are missing, or too many works would be removed"""

_UPDATE: Final = """The configuration, e.g. sources.toml:
  [[sources]]
  name = "medline"
  paths = ["/data/pubmed/baseline", "/data/pubmed/updatefiles"]
  [[sources]]
  name = "crossref"
  paths = ["/data/crossref"]
  [filters]
  min_title = 10

Only files that are new or changed since the last run are read. Records of several sources that share an identifier become one
work. The state can be lost: the next run reads all files again.

examples:
  reflink catalog update sources.toml --state state/ --out works.jsonl.gz
  reflink catalog update sources.toml --state state/ --changes changes.jsonl      only what changed since the last run

exit codes: as of reflink catalog import"""


def add_to(commands: Any) -> None:
    """Add the subcommands ``import``, ``update``, ``provenance`` and ``sources``."""
    raw = argparse.RawDescriptionHelpFormatter
    about = "Convert the files of a bibliographic database to works as JSON lines."
    sub = commands.add_parser("import", help=about, description=about, epilog=_IMPORT, formatter_class=raw)
    sub.add_argument("source", choices=NAMES, metavar="SOURCE", help=", ".join(NAMES) + "; see reflink catalog sources")
    sub.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files and folders of the source")
    sub.add_argument("--out", type=Path, required=True, metavar="WORKS", help="JSON lines; compressed if the name ends in .gz")
    sub.add_argument("--rules", type=Path, metavar="FILE", help="TOML file with rules of merging; see docs/sources.md")
    _add_filters(sub)
    add_reading(sub)
    sub.set_defaults(action=_import)

    about = "Read what is new in the files of several sources, and write the works or the changes."
    sub = commands.add_parser("update", help=about, description=about, epilog=_UPDATE, formatter_class=raw)
    sub.add_argument("config", type=Path, metavar="CONFIG", help="TOML file with sources, rules and filters")
    sub.add_argument("--state", type=Path, required=True, metavar="DIR", help="folder with what was read so far")
    sub.add_argument("--out", type=Path, metavar="WORKS", help="write all works as JSON lines; compressed if it ends in .gz")
    sub.add_argument("--changes", type=Path, metavar="FILE", help="write the works that changed since the last --changes")
    add_reading(sub)
    sub.set_defaults(action=_update)

    about = "Show the source records of a work, and the record that each of its fields came from."
    example = "example:\n  reflink catalog provenance pmid:11846609 --state state/\n\nexit code 1: no record was found"
    sub = commands.add_parser("provenance", help=about, description=about, epilog=example, formatter_class=raw)
    sub.add_argument("name", metavar="ID", help="doi:10.…, pmid:…, pmcid:PMC…, arxiv:…, the id of a work, or 'SOURCE KEY'")
    sub.add_argument("--state", type=Path, required=True, metavar="DIR", help="the state of reflink catalog update")
    add_json(sub)
    sub.set_defaults(action=_provenance)

    about = "List the sources that can be imported."
    sub = commands.add_parser("sources", help=about, description=about)
    sub.set_defaults(action=_sources)


def _add_filters(sub: argparse.ArgumentParser) -> None:
    group = sub.add_argument_group("filters", "works to leave out; a work whose language, type or year is not known is kept")
    group.add_argument("--min-title", metavar="N", help="keep titles with at least N characters; the published method has 10")
    group.add_argument("--languages", metavar="CODES", help="keep works in these languages, separated by commas: en,de")
    group.add_argument("--detect-language", action="store_const", const="true", help="detect unknown languages from the title")
    group.add_argument("--types", metavar="TYPES", help="keep these of Crossref's types: journal-article,book-chapter")
    group.add_argument("--year-from", metavar="YEAR", help="keep works of this year and later")
    group.add_argument("--year-to", metavar="YEAR", help="keep works of this year and earlier")


def _filters(args: argparse.Namespace) -> Filters:
    names = ("min_title", "languages", "detect_language", "types", "year_from", "year_to")
    given = {name: value for name in names if (value := getattr(args, name)) is not None}
    lists = {name: tuple(given[name].split(",")) for name in ("languages", "types") if name in given}
    try:
        return Filters.model_validate({**given, **lists})
    except pydantic.ValidationError as error:
        raise bad_record("filters", error) from None


def add_reading(sub: argparse.ArgumentParser) -> None:
    """Add the options of commands that read sources."""
    jobs = min(4, os.cpu_count() or 1)
    sub.add_argument("--jobs", type=int, default=jobs, help="number of processes that read files (default %(default)s)")
    sub.add_argument("--again", action="store_true", help="read also the files that were read before")
    sub.add_argument("--complete", action="store_true", help="the files are all that the source has: remove its other records")
    sub.add_argument("--allow-shrink", action="store_true", help="allow that more than 5%% of the works are removed")
    sub.add_argument("--conflicts", type=Path, metavar="FILE", help="write identifiers of unlike records as JSON lines")
    sub.add_argument("--json", action="store_true", help="print the report as JSON")


def _sources(_: argparse.Namespace) -> int:
    rows = table((("source", None), ("files", 1)))
    for name in NAMES:
        rows.add_row(name, source(name).about)
    console().print(rows)
    return OK


def _provenance(args: argparse.Namespace) -> int:
    from reflink.updating import State
    from reflink.updating.provenance import provenance

    if not (args.state / "CURRENT").exists():  # of RocksDB
        raise StateFailed(f"{args.state}: there is no state; reflink catalog update makes one")
    with State(args.state) as state:
        found = provenance(state, args.name)
    if not found:
        complain(f"{args.state}: no record of {args.name}")
        return SOME_FAILED
    for merged in found:
        members = {each.name: each.work.to_dict() for each in merged.members}
        if args.json:
            write_json({"work": merged.work.to_dict(), "fields": merged.provenance, "records": members})
            continue
        rows = table((("field", None), ("value", 3), ("record", 2)))
        (first, *_) = members
        for name, value in merged.work.to_dict().items():
            origin = "" if name == "id" else merged.provenance.get(name, first)
            rows.add_row(name, value if isinstance(value, str) else orjson.dumps(value).decode(), origin)
        console().print(rows)
    return OK


def _import(args: argparse.Namespace) -> int:
    from reflink.merging import Rules, read_rules
    from reflink.updating import State
    from reflink.updating.config import Config
    from reflink.updating.output import write_works

    rules = Rules() if args.rules is None else read_rules(args.rules)
    config = Config.of(args.source, args.paths, rules, _filters(args))
    if args.out.is_dir():
        raise BadDump(f"{args.out}: a folder: name a file with --out")
    folder = args.out.absolute().with_name(f".{args.out.name}.importing")
    inputs = [args.source, *(str(path.absolute()) for path in args.paths)]
    with State(folder) as state:
        other = state.fact("inputs", inputs) != inputs
        state.set_fact("inputs", inputs)
    if other:  # left by an interrupted import of other files
        shutil.rmtree(folder)
    with State(folder) as state:
        report = read_sources(state, config, Path(), args)
        works = write_works(state, args.out, max_removed=allowed(config, args))
    shutil.rmtree(folder, ignore_errors=True)
    return print_report(report, args, {"works": works})


def _update(args: argparse.Namespace) -> int:
    from reflink.updating import State
    from reflink.updating.config import read_config
    from reflink.updating.output import write_changes, write_works

    config, done = read_config(args.config), dict[str, int]()
    with State(args.state) as state:
        report = read_sources(state, config, args.config.absolute().parent, args)
        if args.out is not None:
            done["works"] = write_works(state, args.out, max_removed=allowed(config, args))
        if args.changes is not None:
            share = allowed(config, args)
            done["changed works"], done["removed works"] = write_changes(state, args.changes, max_removed=share)
    return print_report(report, args, done)


def allowed(config: Config, args: argparse.Namespace) -> float:
    """Return the largest share of works that may be removed."""
    return 1.0 if args.allow_shrink else config.max_removed


def read_sources(state: State, config: Config, folder: Path, args: argparse.Namespace) -> Report:
    """Read the sources of a configuration, whose paths are relative to ``folder``, with the options of ``add_reading``."""
    from reflink.updating import Limits, update

    inputs = config.inputs(folder)
    if args.complete:
        inputs = [replace(each, complete=True) for each in inputs]
    with ExitStack() as stack:
        conflicts = None if args.conflicts is None else stack.enter_context(args.conflicts.open("wb"))

        def on_conflict(conflict: Conflict) -> None:
            if conflicts is not None:
                conflicts.write(conflict.to_json() + b"\n")

        return update(
            state,
            inputs,
            rules=config.rules,
            filters=config.filters,
            limits=Limits(allowed(config, args), args.jobs, args.again),
            on_fault=complain,
            on_conflict=on_conflict,
            progress=stack.enter_context(_progress()),
        )


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], object]]:
    """Show what is read in bytes, with the time that is left, and then the number of records merged."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total or None)
            bar.update(tasks[step], completed=done)

        yield show


def print_report(report: Report, args: argparse.Namespace, done: Mapping[str, int]) -> int:
    """Print what was read, and the numbers of what was done with the works; return the exit code."""
    if args.json:
        sources = {name: asdict(each) for name, each in report.sources.items()}
        write_json({"sources": sources, "settled": asdict(report.settled), **done})
        return OK if report.flawless else SOME_FAILED
    for name, each in report.sources.items():
        counts = ", ".join(f"{number} {what}" for what, number in vars(each.counts).items() if number)
        complain(f"{name}: {each.read} files read, {each.known} known; records: {counts or 'none'}")
        if each.removed:
            complain(f"{name}: {each.removed} records removed, which the newest edition lacks")
        if each.bad or each.damaged:
            complain(f"warning: {name}: {each.bad} records and {len(each.damaged)} files could not be read")
    for reason, number in report.settled.filtered.most_common():
        complain(f"{number} works left out: {reason}")
    if report.settled.conflicts:
        complain(f"{report.settled.conflicts} identifiers of unlike records; --conflicts FILE lists them")
    complain(", ".join(f"{number} {what}" for what, number in done.items()) or "nothing is written without --out or --changes")
    return OK if report.flawless else SOME_FAILED
