"""The command ``reflink journals``: build a table of journals from published lists, and look up names in a table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from reflink.catalog import Catalog
from reflink.cli import OK, SOME_FAILED
from reflink.cli.output import add_json, complain, console, table, write_json
from reflink.errors import BadRecord
from reflink.journals.building import JournalsBuilder
from reflink.journals.lists import read_list
from reflink.journals.table import Journals

NAME: Final = "journals"
HELP: Final = """Build a table of journals from lists, and show which journals a name means.

examples:
  reflink journals build J_Medline.txt titleFile.csv --out journals.jsonl
  reflink catalog build works.jsonl.gz --out catalog/ --journals journals.jsonl
  reflink journals show catalog/ "J Biol Chem\""""

_BUILD: Final = """lists:
  J_Medline.txt, J_Entrez.txt   NLM's lists: https://www.ncbi.nlm.nih.gov/books/NBK3827/table/pubmedhelp.T.journal_lists/
  a CSV file                    Crossref's list of journals: JournalTitle, pissn, eissn, additionalIssns
  JSON lines                    {"names": ["Journal of Examples", "J Ex"], "issns": ["1234-5679"]}

Journals that share an ISSN are one. The output is JSON lines, which you can edit and give as a list again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands ``build`` and ``show``."""
    raw = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    about = "Build a table of journals from lists."
    sub = commands.add_parser("build", help=about, description=about, epilog=_BUILD, formatter_class=raw)
    sub.add_argument("lists", type=Path, nargs="+", metavar="LIST", help="NLM's or Crossref's list, or JSON lines")
    sub.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON lines for reflink catalog build --journals")
    sub.set_defaults(action=_build)

    about = "Show the journals that a name means, with their other names."
    example = 'example:\n  reflink journals show catalog/ "Phys. Rev. B"\n\nexit code 1: the name is not known'
    sub = commands.add_parser("show", help=about, description=about, epilog=example, formatter_class=raw)
    sub.add_argument("table", type=Path, metavar="TABLE", help="a catalog, or a file of journals")
    sub.add_argument("name", metavar="NAME", help="a title, an abbreviation or an ISSN")
    add_json(sub)
    sub.set_defaults(action=_show)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    return int(args.action(args))


def _build(args: argparse.Namespace) -> int:
    builder = JournalsBuilder()
    for path in args.lists:
        builder.add_list(read_list(path))
    journals = builder.build()
    journals.write(args.out)
    complain(f"{args.out}: {len(journals)} journals")
    return OK


def _show(args: argparse.Namespace) -> int:
    journals = _opened(args.table)
    if not (numbers := journals.numbers(args.name)):
        complain(f"{args.table}: no journal has the name {args.name}")
        return SOME_FAILED
    listed = list(journals)
    rows = table((("names", 4), ("ISSN", 1)))
    for number in numbers:
        journal = listed[number]
        if args.json:
            write_json(journal.to_dict())
        else:
            rows.add_row("; ".join(journal.names), " ".join(journal.issns))
    if not args.json:
        console().print(rows)
    return OK


def _opened(path: Path) -> Journals:
    if not path.is_dir():
        return Journals.of(read_list(path))
    journals = Catalog.open(path, vectors=False, trigrams=False).journals
    if journals is None:
        raise BadRecord(f"{path}: a catalog without a table of journals: build it again")
    return journals
