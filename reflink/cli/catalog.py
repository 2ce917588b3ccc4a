"""The command ``reflink catalog``: import works, build a snapshot, describe it, look up works in it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from reflink.blocking.locators import RULES
from reflink.catalog import Catalog, snapshot
from reflink.catalog.build import build
from reflink.catalog.doubtful import LIST
from reflink.cli import OK, SOME_FAILED, importing
from reflink.cli.models import add_model, load_encoder
from reflink.cli.output import add_json, complain, console, describe, identifiers, table, write_json
from reflink.entities import ID_KINDS, Ids, Work
from reflink.errors import BadRecord
from reflink.identifiers import NORMALISERS, extract
from reflink.terminal import Terminal
from reflink.text import MODES, normalise, work_text

NAME: Final = "catalog"
HELP: Final = """Import works from bibliographic databases, build a catalog of them, describe it, and look up works in it.

examples:
  reflink catalog import medline pubmed/ --out works.jsonl.gz
  reflink catalog build works.jsonl.gz --out catalog/
  reflink catalog info catalog/
  reflink catalog find catalog/ --id doi:10.1006/meth.2001.1262"""

_BUILD: Final = """A line of works.jsonl. It needs an id or an identifier; the other fields are optional:
  {"doi": "10.1006/meth.2001.1262", "pmid": "11846609", "title": "Analysis of relative gene expression data using …",
   "authors": ["Livak", "Schmittgen"], "venue": "Methods", "year": 2001, "volume": "25", "fpage": "402"}

The same command resumes a build that was killed. Works that share an identifier are treated as one work.

examples:
  reflink catalog build works.jsonl.gz --out catalog/
  reflink catalog build new.jsonl --out catalog-2/ --vectors-from catalog/     encodes only new texts
  reflink catalog build works.jsonl --out catalog/ --no-vectors                no vectors, needs no model"""

#: Maximum number of invalid lines that are reported; all are counted.
_SHOWN: Final = 10

#: Seconds from which the remaining time is estimated: several chunks of texts to encode, each of which may take 20 s.
_PACE_S: Final = 180.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands ``import``, ``update``, ``sources``, ``build``, ``info`` and ``find``."""
    raw = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    importing.add_to(commands)

    about = "Build a catalog from works as JSON lines."
    sub = commands.add_parser("build", help=about, description=about, epilog=_BUILD, formatter_class=raw)
    sub.add_argument("works", type=Path, metavar="WORKS", help="JSON lines, plain or gzip")
    replaced = "the folder of the catalog; an existing catalog is renamed to DIR.previous"
    sub.add_argument("--out", type=Path, required=True, metavar="DIR", help=replaced)
    sub.add_argument("--mode", choices=MODES, default="TVL", help="fields of the texts that are encoded (default: TVL)")
    sub.add_argument(
        "--lexical-mode", choices=MODES, default="Raw", help="fields of the texts whose trigrams are indexed (default: Raw)"
    )
    without = "build no vectors: no semantic search, and no wait for encoding; docs/semantic.md states the loss"
    sub.add_argument("--no-vectors", action="store_true", help=without)
    sub.add_argument("--no-trigrams", action="store_true", help="build no trigrams: no lexical search")
    sub.add_argument("--vectors-from", type=Path, metavar="DIR", help="a catalog whose vectors are reused for equal texts")
    named = "a file of journals (reflink journals build) to add to the table learnt from the works"
    sub.add_argument("--journals", type=Path, metavar="FILE", help=named)
    kept = "delete the replaced catalog instead of keeping it as DIR.previous; workers then have no fallback"
    sub.add_argument("--no-previous", action="store_true", help=kept)
    sub.add_argument("--strict", action="store_true", help="exit with 1 if a line is invalid")
    add_model(sub)
    sub.set_defaults(action=_build)

    about = "Describe the contents of a catalog and how it was built."
    example = "example:\n  reflink catalog info catalog/ --check"
    sub = commands.add_parser("info", help=about, description=about, epilog=example, formatter_class=raw)
    sub.add_argument("catalog", type=Path, metavar="DIR")
    sub.add_argument("--check", action="store_true", help="read every byte and compare checksums")
    add_json(sub)
    sub.set_defaults(action=_info)

    about = "Look up works by identifier or by title."
    example = (
        "examples:\n  reflink catalog find catalog/ --id pmid:11846609"
        '\n  reflink catalog find catalog/ --title "analysis of relative gene expression data" --json'
        "\n\nexit code 1: no work was found"
    )
    sub = commands.add_parser("find", help=about, description=about, epilog=example, formatter_class=raw)
    sub.add_argument("catalog", type=Path, metavar="DIR")
    query = sub.add_mutually_exclusive_group(required=True)
    query.add_argument("--id", help="doi:10.…, pmid:…, pmcid:PMC…, arxiv:…, a URL with an identifier, or the id of a work")
    query.add_argument("--title", help="a title or most of a title; finds the most similar works by trigrams")
    sub.add_argument("-k", type=int, default=5, metavar="N", help="max number of works for a title (default: 5)")
    add_json(sub)
    sub.set_defaults(action=_find)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    return int(args.action(args))


def _build(args: argparse.Namespace) -> int:
    started, shown = time.monotonic(), 0

    def on_bad(error: BadRecord) -> None:
        nonlocal shown
        shown += 1
        if shown <= _SHOWN:
            bar.console.print(f"reflink: {error}", soft_wrap=True, highlight=False)

    with Progress(
        TextColumn("{task.description:9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Terminal(stderr=True),
        speed_estimate_period=_PACE_S,
    ) as bar:
        tasks: dict[str, TaskID] = {}

        def progress(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total)
            bar.update(tasks[step], completed=done)

        built = build(
            args.works,
            args.out,
            encoder=None if args.no_vectors else load_encoder(args),
            mode=args.mode,
            lexical_mode=None if args.no_trigrams else args.lexical_mode,
            cache=args.vectors_from,
            journals=args.journals,
            keep_previous=not args.no_previous,
            on_bad=on_bad,
            progress=progress,
        )
    if built.bad:
        complain(f"warning: {built.bad} of {built.lines} lines are invalid and were left out")
    if built.repeated:
        complain(f"warning: {built.repeated} works were replaced by a later line with the same id")
    seconds, manifest = time.monotonic() - started, built.manifest
    complain(f"{args.out}: {manifest.works} works, {manifest.size / 1e6:.1f} MB, {seconds:.1f} s")
    if manifest.doubtful:
        complain(
            f"warning: the DOI of {manifest.doubtful} works belongs to another journal than their venue: {args.out / LIST}"
        )
    if (before := snapshot.previous(args.out)).exists():
        complain(f"{before}: the replaced catalog, {_megabytes(before)}: workers fall back to it if the new catalog is damaged")
    return SOME_FAILED if built.bad and args.strict else OK


def _megabytes(folder: Path) -> str:
    return f"{sum(path.stat().st_size for path in folder.rglob('*')) / 1e6:.1f} MB"


def _info(args: argparse.Namespace) -> int:
    manifest = snapshot.verify(args.catalog) if args.check else snapshot.read(args.catalog)
    facts = {"catalog": str(args.catalog), **manifest.model_dump(exclude={"kind", "files"}), "bytes": manifest.size}
    if args.json:
        write_json(facts)
        return OK
    rows = table((("", None), ("", None)))
    rows.show_header = False
    for name, value in facts.items():
        if name == "place_rules" and value != RULES:
            value = f"{value}, of another version of reflink: build it again to find all works by locator"
        if value is not None:
            rows.add_row(name.replace("_", " "), f"{value:,}" if name == "bytes" else str(value))
    console().print(rows)
    return OK


def _find(args: argparse.Namespace) -> int:
    found: list[tuple[Work, float | None]]
    if args.id is not None:
        catalog = Catalog.open(args.catalog, vectors=False, trigrams=False)
        found = [(work, None) for work in _by_id(catalog, args.id.strip())]
    else:
        catalog = Catalog.open(args.catalog, vectors=False)
        found = list(_by_title(catalog, args.title, args.k))
    if not found:
        complain(f"{args.catalog}: no work with {args.id or args.title}")
        return SOME_FAILED
    rows = table((("id", 2), ("work", 5), ("identifiers", 2), ("score", None)))
    for work, score in found:
        if args.json:
            extra = {} if score is None else {"score": score}
            write_json({**work.to_dict(), "canonical": catalog.canonical(work.id), **extra})
        else:
            rows.add_row(work.id, describe(work), identifiers(work.ids), "" if score is None else f"{score:.3f}")
    if not args.json:
        console().print(rows)
    return OK


def _by_id(catalog: Catalog, text: str) -> list[Work]:
    """Return every work whose id or identifier is ``text``, and the canonical works of the identifiers in it.

    The field ``canonical`` of the output shows which of them are one work.
    """
    kind, _, value = text.partition(":")
    known = NORMALISERS[kind](value) if kind in ID_KINDS else None
    ids = Ids(**{kind: known}) if known else extract(text)
    wanted = dict.fromkeys((text, *catalog.works.bearers(text), *catalog.lookup(ids)))
    return [work for work_id in wanted if (work := catalog.get(work_id)) is not None]


def _by_title(catalog: Catalog, title: str, k: int) -> list[tuple[Work, float | None]]:
    if catalog.trigrams is None:
        raise BadRecord("the catalog has no trigrams: only --id can be used")
    # The indexed texts may contain more than the title, so ``10 * k`` hits are ranked again by s of the titles alone.
    # Containment would favour long works.
    from reflink.catalog.titles import by_titles, of_works
    from reflink.lexical import similarity

    wanted = normalise(title, lexical=True)
    if not wanted:
        raise BadRecord(f"--title {title!r}: contains nothing to search for")
    hits = next(iter(catalog.trigrams.search([wanted], 10 * k)))
    works = [work for work_id, _ in of_works(hits) if (work := catalog.get(work_id)) is not None]
    scored: list[tuple[Work, float | None]] = [
        (work, max(similarity(wanted, work_text(each, "T", lexical=True)) for each in by_titles(work))) for work in works
    ]
    return sorted(scored, key=lambda item: (-(item[1] or 0.0), item[0].id))[:k]
