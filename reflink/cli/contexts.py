"""The command ``reflink contexts``: show where in their text papers cite each reference."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from reflink.catalog.reading import DAMAGED
from reflink.cli import OK, SOME_FAILED
from reflink.cli.export import opened
from reflink.cli.inputs import add_files, read_inputs
from reflink.cli.link import add_catalog, open_linker
from reflink.cli.output import add_json, complain, console, describe, write_json
from reflink.contexts import CitationContext, contexts_of
from reflink.entities import Paper, Reference
from reflink.errors import BadRecord, ReflinkError
from reflink.formats import Options, Parsed
from reflink.graph.rows import read
from reflink.terminal import styled

NAME: Final = "contexts"
HELP: Final = """Show each mention of the references of papers in their text, with its sentence.

A line of JSON has all mentions of one reference, with the sentences before and after and the group of citations, and its link.

examples:
  reflink contexts paper.xml                               each reference, and the sentences that cite it
  reflink contexts paper.tei.xml --catalog catalog/        with the works that the references cite
  reflink contexts articles/ --links links.jsonl --json > contexts.jsonl      links of reflink link --json"""

#: The fields of a link that are shown with the contexts.
_FIELDS: Final = ("cited", "unresolved", "method", "probability", "status")

#: Returns the links of references by the references' ids, with the fields of _FIELDS that they have.
Linking = Callable[[Sequence[Reference]], Mapping[str, dict[str, Any]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: files, links or catalog, and output format."""
    add_files(parser)
    parser.add_argument("--links", metavar="LINKS", help="show the links of this output of reflink link --json, plain or gzip")
    add_catalog(parser, required=False)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print a line of JSON for each reference, or a list for each paper. Returns 1 if a paper could not be read."""
    linking = _linking(args)
    code, found = OK, Counter[str]()
    options = Options(infer=args.catalog is not None, text=True)
    for name, given in read_inputs(args.files, follow_links=args.follow_links, format_name=args.format_name, options=options):
        if isinstance(given, ReflinkError):
            complain(given)
            code = SOME_FAILED
            continue
        if not args.json and not any(parsed.paragraphs for parsed in given.papers):
            complain(f"{name}: it has no text")
        for parsed in given.papers:
            contexts = contexts_of(parsed.paper, parsed.paragraphs)
            links = linking(parsed.paper.references)
            if args.json:
                for reference in parsed.paper.references:
                    write_json(_record(reference, contexts[reference.id], links.get(reference.id)))
            else:
                _show(parsed.paper, contexts, links)
                found.update(_counts(parsed, contexts))
    if not args.json:
        complain(", ".join(f"{number} {what}" for what, number in found.items()) or "0 references")
    return code


def _linking(args: argparse.Namespace) -> Linking:
    """Return how references get their links. Raises BadRecord, and what opening the catalog raises."""
    if args.links and args.catalog:
        raise BadRecord("--links and --catalog exclude each other")
    if args.catalog and args.absent is None:
        raise BadRecord("--absent auto needs all references first: use the output of reflink link --json as --links")
    if args.catalog:
        linker = open_linker(args)

        def link(references: Sequence[Reference]) -> Mapping[str, dict[str, Any]]:
            return {each.reference: _fields(each) for each in linker.link(references)}

        return link
    known = _read_links(args.links) if args.links else {}
    return lambda references: {each.id: known[each.id] for each in references if each.id in known}


def _read_links(name: str) -> dict[str, dict[str, Any]]:
    """Return the links of a file by reference; of several lines about one the last counts. Raises OSError and BadRecord."""
    found: dict[str, dict[str, Any]] = {}
    lines = 0
    with opened(name) as file:
        try:
            for line in file:
                lines += 1
                if value := line.strip():
                    row = read(value, bare=True)
                    found[row.reference] = _fields(row)
        except BadRecord as error:
            raise BadRecord(f"{name}, line {lines}: {error}") from None
        except DAMAGED as error:
            raise BadRecord(f"{name}: cannot be decompressed after line {lines}: {error}") from None
    return found


def _fields(link: object) -> dict[str, Any]:
    return {name: value for name in _FIELDS if (value := getattr(link, name)) is not None}


def _record(reference: Reference, contexts: tuple[CitationContext, ...], link: dict[str, Any] | None) -> dict[str, Any]:
    about = {"reference": reference.id, "citing": reference.citing, "position": reference.position}
    record = {**about, "contexts": contexts}
    return record if link is None else {**record, "link": link}


def _counts(parsed: Parsed, contexts: Mapping[str, tuple[CitationContext, ...]]) -> dict[str, int]:
    return {
        "references": len(parsed.paper.references),
        "mentioned": sum(bool(each) for each in contexts.values()),
        "contexts": sum(map(len, contexts.values())),
    }


def _show(paper: Paper, contexts: Mapping[str, tuple[CitationContext, ...]], links: Mapping[str, Mapping[str, Any]]) -> None:
    out = console()
    out.print(paper.title or paper.id, style="bold", soft_wrap=True)
    for reference in paper.references:
        link = links.get(reference.id)
        cites = "" if link is None else f"  → {link.get('cited') or link.get('unresolved') or 'not linked'}"
        out.print(styled(f"{reference.position}  {describe(reference)}", (cites, "bold")), soft_wrap=True)
        for context in contexts[reference.id]:
            where = " / ".join(context.section) or context.part
            start = context.start - context.sentence_start
            stop = context.stop - context.sentence_start
            before, marker, after = context.sentence[:start], context.sentence[start:stop], context.sentence[stop:]
            out.print(
                styled("     ", (f"{where} ¶{context.paragraph}: ", "dim"), before, (marker, "bold"), after), soft_wrap=True
            )
    out.print()
