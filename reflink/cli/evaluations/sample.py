"""The command ``reflink evaluate sample``: the accuracy of links by a random sample that a person reads."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from reflink.cli import OK
from reflink.cli.output import complain, console, table
from reflink.errors import BadRecord

if TYPE_CHECKING:
    from rich.panel import Panel

    from reflink.cli.keys import Keys
    from reflink.entities import Reference, Work
    from reflink.evaluation.sample import LinkVerdict
    from reflink.graph.rows import Row
    from reflink.terminal import Terminal

NAME: Final = "sample"
HELP: Final = """Draw links at random, take a person's verdict on each, and print the accuracy with its intervals.

LINKS is the output of reflink link --json, or a folder of reflink export or reflink-worker export with links.jsonl. The
dialogue shows the reference and the linked work, with what agrees (=) and differs (≠). Verdicts are kept at once, and an
interrupted dialogue continues where it stopped.

examples:
  reflink evaluate sample links.jsonl --references papers.jsonl --catalog works.jsonl.gz      papers of reflink parse --json
  reflink evaluate sample exported/ --references papers.jsonl --catalog catalog/ --size 500 --verdicts read.jsonl
  reflink evaluate sample links.jsonl --references papers.jsonl --catalog catalog/ --size 500 --apart --agreement
                          without a person: do title and authors agree? (S2ORC's protocol)"""

#: Keys and the verdicts that they give.
KEYS: Final = {"r": "right", "w": "wrong", "c": "unclear"}
_LINE: Final = "r right   w wrong   c cannot tell   b back   q quit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: links, their records, the draw, and what to do with it."""
    parser.add_argument("links", type=Path, metavar="LINKS", help="links as JSON lines, plain or gzip, or an export's folder")
    parser.add_argument(
        "--references", type=Path, required=True, metavar="FILE",
        help="the references of the links: papers of reflink parse --json, or references as JSON lines, plain or gzip",
    )  # fmt: skip
    parser.add_argument(
        "--catalog", type=Path, required=True, metavar="WORKS", help="works as JSON lines, or a folder of reflink catalog build"
    )
    parser.add_argument("--size", type=_positive, default=300, metavar="N", help="number of links drawn (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: 1)")
    parser.add_argument("--apart", action="store_true", help="at most one link of each paper, and of each cited work")
    parser.add_argument(
        "--verdicts", type=Path, metavar="FILE", help="file of the verdicts (default: LINKS with .verdicts.jsonl appended)"
    )
    parser.add_argument(
        "--agreement", action="store_true",
        help="no dialogue: the shares of the drawn links whose titles, and whose authors, agree; prints those that do not",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here; all are fractions")


def run(args: argparse.Namespace) -> int:
    """Draw, ask, and print the table. Returns 0; raises BadRecord or OSError for unreadable input."""
    from reflink.evaluation import sample
    from reflink.graph.reading import newest_links

    drawn = (sample.draw_apart if args.apart else sample.draw)(newest_links(args.links), args.size, args.seed)
    if not drawn:
        raise BadRecord(f"{args.links}: no links")
    if len(drawn) < args.size:
        why = "each other link shares a paper or a work with one of them" if args.apart else "there are no others"
        complain(f"{args.links}: only {len(drawn)} links drawn: {why}")
    references = sample.references_of(args.references, (row.reference for row in drawn))
    if lacking := [row.reference for row in drawn if row.reference not in references]:
        raise BadRecord(f"{args.references}: {len(lacking)} references of the sample are missing, such as {lacking[0]}")
    works = _works(args.catalog, {row.cited or "" for row in drawn})
    figures = _agreement(drawn, references, works) if args.agreement else _by_person(drawn, references, works, args)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_bytes(orjson.dumps(figures, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return OK


def _works(path: Path, ids: set[str]) -> dict[str, Work]:
    """Return the works with these ids that a catalog has. Raises BadRecord, SnapshotError or OSError."""
    if path.is_dir():
        from reflink.catalog import Catalog

        catalog = Catalog.open(path)
        return {id_: work for id_ in ids if (work := catalog.get(id_)) is not None}
    from reflink.evaluation.records import read_works

    return {listing.work.id: listing.work for listing in read_works(path) if listing.work.id in ids}


def _by_person(
    drawn: Sequence[Row], references: Mapping[str, Reference], works: Mapping[str, Work], args: argparse.Namespace
) -> dict[str, Any]:
    from reflink.cli.keys import keys
    from reflink.evaluation import sample

    links = args.links.resolve()
    path = args.verdicts or links.with_name(f"{links.name}.verdicts.jsonl")
    with keys() as key:
        verdicts = ask(drawn, references, works, path, console(), key, date.today().isoformat())
    figures = sample.accuracy(drawn, verdicts)
    _show(figures, console())
    return figures


def ask(
    drawn: Sequence[Row],
    references: Mapping[str, Reference],
    works: Mapping[str, Work],
    path: Path,
    console: Terminal,
    key: Keys,
    today: str,
) -> list[LinkVerdict]:
    """Ask for a verdict on each link without one, and keep it in ``path`` at once; return all verdicts of the file."""
    from reflink.cli.dialogue import Buttons, Dialogue
    from reflink.cli.sidebyside import side_by_side
    from reflink.evaluation.sample import VERDICTS, LinkVerdict, read, write

    given = read(path)
    known = {(each.reference, each.cited) for each in given}
    unread = [row for row in drawn if (row.reference, row.cited) not in known]

    def shown(row: Row, where: str) -> Panel:
        reference, cited = references[row.reference], row.cited or ""
        facts = [row.method or "", "" if row.probability is None else f"probability {row.probability:.4f}", *row.reasons]
        columns: dict[str, Reference | Work | None] = {"as cited": reference, "linked": works.get(cited)}
        return side_by_side(reference.raw_query, columns, [row.reference, cited], facts, where)

    def give(row: Row, verdict: str) -> None:
        given.append(LinkVerdict(row.reference, row.cited or "", verdict, today))
        write(path, given)

    def take() -> None:
        given.pop()
        write(path, given)

    left = Dialogue(Buttons(KEYS, VERDICTS, _LINE, back="b", skip=None), shown, give, take).run(unread, console, key)
    console.print(f"{len(unread) - left} new verdicts in {path}; {left} links left")
    return given


def _show(figures: Mapping[str, Any], out: Terminal) -> None:
    counts = ", ".join(f"{figures[name]} {name}" for name in ("right", "wrong", "unclear", "unread"))
    out.print(f"{figures['links']} links: {counts}")
    if figures["accuracy"] is None:
        return
    out.print(f"accuracy {figures['accuracy']:.4f}; if all unclear links were wrong {figures['at_least']:.4f}")
    rows = table([(name, None) for name in ("confidence", "method", "lower limit", "upper limit", "unclear as wrong")])
    for row in figures["intervals"]:
        (low, high), least = row["interval"], row["at_least"]
        rows.add_row(f"{row['confidence']:g}", row["method"], f"{low:.4f}", f"{high:.4f}", f"{least[0]:.4f}-{least[1]:.4f}")
    out.print(rows)


def _agreement(drawn: Sequence[Row], references: Mapping[str, Reference], works: Mapping[str, Work]) -> dict[str, Any]:
    from reflink.cli.sidebyside import side_by_side
    from reflink.evaluation.agreement import agreement, authors_agree, titles_agree

    if lacking := [row.cited for row in drawn if row.cited not in works]:
        raise BadRecord(f"--catalog: {len(lacking)} works of the sample are missing, such as {lacking[0]}")
    out = console()
    pairs = [(references[row.reference], works[row.cited or ""]) for row in drawn]
    for reference, work in pairs:
        checks = {"titles": titles_agree(reference, work), "authors": authors_agree(reference, work)}
        if facts := [f"{name} disagree" for name, agrees in checks.items() if not agrees]:
            columns: dict[str, Reference | Work | None] = {"as cited": reference, "linked": work}
            out.print(side_by_side(reference.raw_query, columns, [reference.id, work.id], facts, ""))
    figures = agreement(pairs)
    out.print(f"{figures['links']} links")
    for name, lacks in (("title", "without_title"), ("authors", "without_authors")):
        low, high = figures[f"{name}_interval"]
        out.print(f"{name} agree {figures[name]:.3f} [{low:.3f}, {high:.3f}]; {figures[lacks]} references have none")
    return figures


def _positive(text: str) -> int:
    """Parse a number of links, at least 1. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of links: expected at least 1")
    return int(text)
