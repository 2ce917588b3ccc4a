"""The command ``reflink link``: link the references of papers to a catalog."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from reflink.cli import OK, SOME_FAILED
from reflink.cli.inputs import Input, absent_share, add_files, probability, read_inputs
from reflink.cli.models import add_model, load_encoder
from reflink.cli.output import add_json, complain, console, describe, table, write_json
from reflink.cli.writing import Writer, add_writing
from reflink.entities import Link, Paper, Reference
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
  reflink link articles/ --catalog catalog/ --absent auto --link-precision 0.997    at the share of absent works found
  reflink link paper.tei.xml --catalog catalog/ --format tei > linked.tei.xml     the paper again, with the links in it
  reflink link paper.xml --catalog catalog/ --profile paper       the published method, without the verdict"""

#: References linked at once: enough for full batches of the encoder, few enough that results appear steadily.
_BATCH: Final = 512


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: files, catalog, policy, model and output format."""
    add_files(parser)
    add_catalog(parser)
    add_json(parser)
    add_writing(parser)


def add_catalog(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the options that affect the decision: catalog, policy and encoder."""
    parser.add_argument("--catalog", required=required, metavar="DIR", help="a folder made by reflink catalog build")
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
    parser.add_argument(
        "--absent",
        type=absent_share,
        default=0.5,
        metavar="SHARE|auto",
        help="share of the references whose work is not in the catalog; auto: estimated from all references, which are read "
        "before the first result (default: 0.5)",
    )
    add_model(parser)


def open_linker(args: argparse.Namespace) -> Linker:
    """Return a linker with the catalog, its encoder and the modes that it was built with.

    With ``--absent auto`` its policy has equal shares. Raises SnapshotError, ModelNotFound or BadRecord.
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
        versions=args.versions,
        **thresholds(args),
    )
    return Linker(catalog, encoder, policy)


def thresholds(args: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of the policy that the options determine. Raises BadRecord if no links have ``--link-precision``."""
    given: dict[str, float | None] = {"accept": args.min_probability, "absent": args.absent, "precision": args.link_precision}
    found = {name: value for name, value in given.items() if value is not None}
    if "precision" in found:
        from reflink.verdict.judge import shipped
        from reflink.verdict.rates import highest

        if (best := highest(shipped().rates, found.get("absent", 0.5))) < found["precision"]:
            raise BadRecord(f"--link-precision: no links have a precision of {found['precision']:g}: the highest is {best:g}")
    return found


def link_learnt(linker: Linker, references: Sequence[Reference]) -> tuple[list[Link], float]:
    """Return the links under the share of absent works that the references show, and this share."""
    from reflink.linking import absence
    from reflink.linking.linker import Linker

    def link(part: Sequence[Reference], policy: Policy) -> list[Link]:
        under = Linker(linker.catalog, linker.encoder, policy, judge=linker.judge)
        return [one for start in range(0, len(part), _BATCH) for one in under.link(part[start : start + _BATCH])]

    return absence.link_learnt(link, references, linker.policy)


def run(args: argparse.Namespace) -> int:
    """Print a line for each reference, or write the papers with links. Returns 1 if a paper cannot be read or written."""
    if args.format and args.json:
        raise BadRecord("--json and --format exclude each other")
    if args.out and not args.format:
        raise BadRecord("--out is the folder of --format, which is missing")
    writer = Writer(args.format, args.out) if args.format else None
    linker = open_linker(args)
    failed, found, absent = False, Counter[str](), args.absent

    def inputs() -> Iterator[Input]:
        nonlocal failed
        for _, each in read_inputs(args.files, follow_links=args.follow_links, format_name=args.format_name or args.format):
            if isinstance(each, ReflinkError):
                complain(each)
                failed = True
            else:
                yield each

    given: Iterable[Input] = inputs()
    if args.absent is None and linker.policy.profile == "production":
        given = list(given)
        all_links, absent = link_learnt(linker, [reference for each in given for reference in _references(each)])
        decided = iter(all_links)
    for batch in _batches(given):
        references = [reference for each in batch for reference in _references(each)]
        links = iter(linker.link(references) if args.absent else list(islice(decided, len(references))))
        for each in batch:
            mine = list(islice(links, len(_references(each))))
            found.update(link.method or "not linked" for link in mine)
            if writer is not None:
                failed |= not writer.write(each, mine, linker.catalog)
            elif args.json:
                for link in mine:
                    write_json(link)
            else:
                rest = iter(mine)
                for parsed in each.papers:
                    _show(parsed.paper, list(islice(rest, len(parsed.paper.references))), linker.catalog)
    if not args.json:
        complain(f"{found.total()} references: " + ", ".join(f"{n} {what}" for what, n in found.most_common()))
        if args.absent is None:
            complain(f"estimated share of references whose work is not in the catalog: {absent:.1%}")
    return SOME_FAILED if failed else OK


def _references(given: Input) -> list[Reference]:
    return [reference for parsed in given.papers for reference in parsed.paper.references]


def _batches(given: Iterable[Input]) -> Iterator[list[Input]]:
    batch: list[Input] = []
    size = 0
    for each in given:
        batch.append(each)
        size += sum(len(parsed.paper.references) for parsed in each.papers)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
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
