"""The command ``reflink link``: link the references of papers to a catalog."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from reflink.cli import OK, SOME_FAILED
from reflink.cli.inputs import add_files, probability, read_papers
from reflink.cli.models import add_model, load_encoder
from reflink.cli.output import add_json, complain, console, describe, table, write_json
from reflink.entities import Link, Paper
from reflink.errors import BadRecord, ReflinkError

if TYPE_CHECKING:
    from reflink.catalog import Catalog
    from reflink.linking.linker import Linker
    from reflink.linking.policy import Policy

NAME: Final = "link"
HELP: Final = """Link the references of papers to the works of a catalog.

examples:
  reflink link paper.xml --catalog catalog/               a table: the cited work of each reference, and the probability
  reflink link articles/ --catalog catalog/ --json > links.jsonl
  reflink link paper.xml --catalog catalog/ --profile paper       the published method, without the verdict"""

#: References linked at once: enough for full batches of the encoder, few enough that results appear steadily.
_BATCH: Final = 512


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: files, catalog, policy, model and output format."""
    add_files(parser)
    add_catalog(parser)
    add_json(parser)


def add_catalog(parser: argparse.ArgumentParser) -> None:
    """Add the options that affect the decision: catalog, policy and encoder."""
    parser.add_argument("--catalog", required=True, metavar="DIR", help="a folder made by reflink catalog build")
    parser.add_argument(
        "--profile",
        choices=("production", "paper"),
        default="production",
        help="production: no link if the verdict's probability is low; paper: the published method (default: production)",
    )
    parser.add_argument(
        "--min-probability",
        type=probability,
        metavar="P",
        help="min probability of a link, profile production (default: 0.5)",
    )
    parser.add_argument(
        "--link-precision",
        type=probability,
        metavar="SHARE",
        help="instead: the min probability at which this share of the links is right, e.g. 0.997",
    )
    parser.add_argument(
        "--versions",
        choices=("report", "link"),
        default="report",
        help="where the best candidate is another version of the cited work, profile production: report it without a link, or "
        "link to it (default: report)",
    )
    add_model(parser)


def open_linker(args: argparse.Namespace) -> Linker:
    """Return a linker with the catalog, its encoder and the modes that it was built with.

    Raises SnapshotError, ModelNotFound or BadRecord.
    """
    from reflink.catalog import Catalog
    from reflink.linking.linker import Linker
    from reflink.linking.policy import Policy

    catalog = Catalog.open(args.catalog)
    encoder = None if catalog.vectors is None else load_encoder(args, catalog.manifest.precision)
    if encoder is not None and catalog.vectors is not None:
        catalog.vectors.threads = os.cpu_count() or 1
        if encoder.device.startswith("cuda"):
            catalog.vectors.place(encoder.device, spare=0, stream=True)
    policy = Policy(
        profile=args.profile,
        semantic_mode=catalog.mode,
        lexical_mode=catalog.lexical_mode,
        accept=_accept(args, Policy()),
        versions=args.versions,
    )
    return Linker(catalog, encoder, policy)


def _accept(args: argparse.Namespace, policy: Policy) -> float:
    """Return the minimum probability of a link. Raises BadRecord if no probability reaches ``--link-precision``."""
    from reflink.verdict.judge import shipped

    if args.link_precision is not None:
        try:
            return shipped().least_for(args.link_precision)
        except ValueError as error:
            raise BadRecord(f"--link-precision: {error}") from None
    given: float | None = args.min_probability
    return policy.accept if given is None else given


def run(args: argparse.Namespace) -> int:
    """Print a JSON line or a table row for each reference. Returns 1 if a paper could not be read."""
    linker = open_linker(args)
    failed, found = False, Counter[str]()

    def papers() -> Iterator[Paper]:
        nonlocal failed
        for _, paper in read_papers(args.files, follow_links=args.follow_links):
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
    out.print(paper.title or paper.id, style="bold", soft_wrap=True)
    rows = table((("#", None), ("reference", 5), ("cites", 3), ("work", 4), ("by", None), ("sure", None)))
    for reference, link in zip(paper.references, links, strict=True):
        work = catalog.get(link.cited) if link.cited else None
        sure = "" if link.probability is None else f"{link.probability:.1%}"
        cited = link.cited or f"– {link.unresolved}"
        if link.related is not None:
            cited += f" ({link.related.work} {link.related.relation} it)"
        what = describe(work) if work else ""
        if link.status:
            what = f"[{link.status.upper()}] {what}"
        cells = (str(reference.position), describe(reference), cited, what, link.method or "", sure)
        rows.add_row(*cells, style=None if link.cited else "dim")
    out.print(rows)
    out.print()
