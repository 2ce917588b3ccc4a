"""``reflink link``: the references of papers linked to a catalog."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from rich.markup import escape

from reflink.cli import OK, SOME_FAILED
from reflink.cli.inputs import add_files, probability, read_papers
from reflink.cli.models import add_model, load_encoder
from reflink.cli.output import add_json, complain, console, describe, table, write_json
from reflink.entities import Link, Paper
from reflink.errors import BadRecord, ReflinkError

if TYPE_CHECKING:
    from reflink.catalog import Catalog
    from reflink.linker import Linker
    from reflink.policy import Policy

NAME: Final = "link"
HELP: Final = """Link the references of papers to the works of a catalog.

examples:
  reflink link paper.xml --catalog catalog/               a table: what each reference cites, and how sure that is
  reflink link articles/ --catalog catalog/ --json > links.jsonl
  reflink link paper.xml --catalog catalog/ --profile paper       the published method, without the verdict"""

#: References linked at once: enough for full batches, few enough that results keep coming.
_BATCH: Final = 512


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Files, catalog, policy and model."""
    add_files(parser)
    add_catalog(parser)
    add_json(parser)


def add_catalog(parser: argparse.ArgumentParser) -> None:
    """What decides a link: the catalog, the policy's profile and the encoder."""
    parser.add_argument("--catalog", required=True, metavar="DIR", help="a folder made by reflink catalog build")
    parser.add_argument(
        "--profile",
        choices=("production", "paper"),
        default="production",
        help="production refuses what is not in the catalog; paper is the published method (default: production)",
    )
    parser.add_argument(
        "--min-probability",
        type=probability,
        metavar="P",
        help="link from this probability on, profile production (default: 0.5)",
    )
    parser.add_argument(
        "--link-precision",
        type=probability,
        metavar="SHARE",
        help="or: from the probability on that makes this share of the links right, e.g. 0.997",
    )
    add_model(parser)


def open_linker(args: argparse.Namespace) -> Linker:
    """The catalog with its encoder, policy modes as it was built. Raises SnapshotError and ModelNotFound."""
    from reflink.catalog import Catalog
    from reflink.linker import Linker
    from reflink.policy import Policy

    catalog = Catalog.open(args.catalog)
    encoder = None if catalog.vectors is None else load_encoder(args, catalog.manifest.precision)
    if encoder is not None and catalog.vectors is not None:
        catalog.vectors.threads = os.cpu_count() or 1
        if encoder.device.startswith("cuda"):
            catalog.vectors.place(encoder.device, spare=0, stream=True)
    policy = Policy(
        profile=args.profile, semantic_mode=catalog.mode, lexical_mode=catalog.lexical_mode, accept=_accept(args, Policy())
    )
    return Linker(catalog, encoder, policy)


def _accept(args: argparse.Namespace, policy: Policy) -> float:
    """The least probability of a link that was asked for. Raises BadRecord for what cannot be reached."""
    from reflink.verdict.judge import shipped

    if args.link_precision is not None:
        try:
            return shipped().least_for(args.link_precision)
        except ValueError as error:
            raise BadRecord(f"--link-precision: {error}") from None
    given: float | None = args.min_probability
    return policy.accept if given is None else given


def run(args: argparse.Namespace) -> int:
    """A line or a row for each reference; 1 when a paper could not be read."""
    linker = open_linker(args)
    failed, found = False, Counter[str]()

    def papers() -> Iterator[Paper]:
        nonlocal failed
        for _, paper in read_papers(args.files):
            if isinstance(paper, ReflinkError):
                complain(paper)
                failed = True
            else:
                yield paper

    for batch in _batches(papers()):
        links = iter(linker.link([reference for paper in batch for reference in paper.references]))
        for paper in batch:
            mine = [next(links) for _ in paper.references]
            found.update(link.method or "not linked" for link in mine)
            if args.json:
                for link in mine:
                    write_json(link)
            else:
                _show(paper, mine, linker.catalog)
    if not args.json:
        complain(f"{found.total()} references: " + ", ".join(f"{n} {what}" for what, n in found.most_common()))
    return SOME_FAILED if failed else OK


def _batches(papers: Iterable[Paper]) -> Iterator[list[Paper]]:
    batch: list[Paper] = []
    for paper in papers:
        batch.append(paper)
        if sum(len(paper.references) for paper in batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _show(paper: Paper, links: list[Link], catalog: Catalog) -> None:
    out = console()
    out.print(f"[bold]{escape(paper.title or paper.id)}[/bold]", soft_wrap=True)
    rows = table((("#", None), ("reference", 5), ("cites", 3), ("work", 4), ("by", None), ("sure", None)))
    for reference, link in zip(paper.references, links, strict=True):
        work = catalog.get(link.cited) if link.cited else None
        sure = "" if link.probability is None else f"{link.probability:.1%}"
        cited = link.cited or f"– {link.unresolved}"
        what = describe(work) if work else ""
        if link.status:
            what = f"[{link.status.upper()}] {what}"
        cells = (str(reference.position), describe(reference), cited, what, link.method or "", sure)
        rows.add_row(*map(escape, cells), style=None if link.cited else "dim")
    out.print(rows)
    out.print()
