"""The command ``reflink parse``: show papers and their references as the parser reads them."""

from __future__ import annotations

import argparse
from typing import Final

from reflink.cli import OK, SOME_FAILED
from reflink.cli.inputs import add_files, read_papers
from reflink.cli.output import add_json, complain, console, describe, identifiers, table, write_json
from reflink.entities import Paper
from reflink.errors import ReflinkError

NAME: Final = "parse"
HELP: Final = """Read papers of any format and show each with its references.

examples:
  reflink parse paper.xml                     a table of its references
  reflink parse 2401.01234.tar.gz             a LaTeX source as arXiv gives it
  reflink parse list.txt --from text          a list of citations
  reflink parse articles.tar.xz --json | jq .references[].title"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: files and output format."""
    add_files(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print a JSON line or a table for each paper. Returns 1 if a paper could not be read."""
    code = OK
    for name, paper in read_papers(args.files, follow_links=args.follow_links, format_name=args.format_name):
        if isinstance(paper, ReflinkError):
            complain(paper)
            code = SOME_FAILED
        elif args.json:
            write_json(paper)
        else:
            for warning in paper.warnings:
                complain(f"{name}: warning: {warning}")
            _show(paper)
    return code


def _show(paper: Paper) -> None:
    out = console()
    out.print(paper.title or paper.id, style="bold", soft_wrap=True)
    about = (paper.id, ", ".join(paper.authors), paper.venue, paper.year, f"{len(paper.references)} references")
    out.print("  ".join(str(part) for part in about if part), soft_wrap=True)
    if paper.references:
        rows = table((("#", None), ("id", None), ("reference", 3), ("identifiers", 1)))
        for reference in paper.references:
            own = reference.id.removeprefix(f"{paper.id}#")
            rows.add_row(str(reference.position), own, describe(reference), identifiers(reference.ids))
        out.print(rows)
    out.print()
