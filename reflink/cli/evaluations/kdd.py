"""The command ``reflink evaluate kdd``: the citation graph of KDD Cup 2003 from LaTeX sources."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from reflink.cli import OK, SOME_FAILED
from reflink.cli.inputs import absent_share, probability
from reflink.cli.models import add_model, load_encoder
from reflink.cli.output import complain, console, table
from reflink.errors import BadRecord, ModelNotFound

if TYPE_CHECKING:
    from reflink.catalog import Catalog
    from reflink.linking.linker import Linker
    from reflink.semantic import Encoder

NAME: Final = "kdd"
HELP: Final = """Find the citation graph of LaTeX sources, and compare it with the true one as KDD Cup 2003 did.

Each reference is linked to one paper of the collection. An edge is a pair of arXiv numbers. accuracy: share of the predicted
edges that are in the true graph. difference: edges that only one of both has. Repeated edges count once; a paper that cites
itself is an edge like others. A paper has a locator if its metadata have volume and first page. docs/papers.md has
results.

examples:
  reflink evaluate kdd --papers hep-ph/ --metadata abstracts/ --edges hep-ph-citations
  reflink evaluate kdd --papers hep-ph/ --metadata works.jsonl --edges cit-HepPh.txt --no-vectors --json kdd.json"""

#: Maximum number of unreadable records that are reported; all are counted.
_SHOWN: Final = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the data of the cup, the catalog of its papers, and the policy."""
    parser.add_argument(
        "--papers", type=Path, required=True, metavar="FOLDER",
        help="LaTeX sources, each in a file whose name is the number of its paper, with or without .tex or .gz",
    )  # fmt: skip
    parser.add_argument(
        "--edges", type=Path, required=True, metavar="FILE",
        help="the true graph: the numbers of a citing and a cited paper on each line",
    )  # fmt: skip
    parser.add_argument(
        "--metadata", type=Path, metavar="FOLDER|WORKS",
        help="the papers of the collection: a folder of arXiv's .abs files, or works with arXiv ids as JSON lines (default: "
        "titles, authors and years in the sources themselves)",
    )  # fmt: skip
    parser.add_argument("--archive", default="hep-ph", help="the archive of the numbers (default: hep-ph)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR",
        help="keep the catalog of the collection here; an existing catalog is renamed to DIR.previous (default: a temporary "
        "folder)",
    )  # fmt: skip
    parser.add_argument("--vectors-from", type=Path, metavar="DIR", help="a catalog whose vectors are reused for equal texts")
    parser.add_argument("--no-vectors", action="store_true", help="no vectors: needs no model (default if there is no model)")
    parser.add_argument("--identifiers", action="store_true", help="keep identifiers in references: the cup removed them")
    parser.add_argument("--min-probability", type=probability, metavar="P", help="min probability of a link (default: 0.5)")
    parser.add_argument(
        "--absent", type=absent_share, default=0.5, metavar="SHARE",
        help="share of references whose work is not in the collection (default: 0.5)",
    )  # fmt: skip
    parser.add_argument(
        "--versions", choices=("report", "link"), default="report",
        help="where the best match is another version of the cited work: no link, or a link to it (default: report)",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here; all shares are fractions")
    add_model(parser)
    parser.set_defaults(usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    """Link, compare, write and show. Returns 1 if papers or records were unreadable; raises ReflinkError, OSError."""
    from reflink.evaluation.kdd.graph import read_graph
    from reflink.evaluation.kdd.papers import paper_files, read_sources
    from reflink.evaluation.kdd.run import figures, predict

    if args.absent is None:
        args.usage_error("argument --absent: expected a number")
    graph = read_graph(args.edges)
    if not paper_files(args.papers):
        raise BadRecord(f"{args.papers}: no paper in this folder: no file has an arXiv number as its name")
    failed = 0

    def on_error(name: str, error: object) -> None:
        nonlocal failed
        failed += 1
        if failed <= _SHOWN:
            complain(f"{name}: {error}")

    with _catalog(args, on_error) as (catalog, encoder):
        sources = read_sources(args.papers, args.archive, identifiers=args.identifiers)
        measured = figures(predict(sources, _linker(args, catalog, encoder), args.archive, on_error=on_error), graph.edges)
    measured |= {
        "edges": len(graph.edges), "edges_repeated": graph.repeated, "edges_loops": graph.loops,
        "vectors": encoder is not None, "identifiers": args.identifiers,
    }  # fmt: skip
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_bytes(orjson.dumps(measured, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    _show(measured)
    return SOME_FAILED if failed else OK


@contextmanager
def _catalog(args: argparse.Namespace, on_error: Any) -> Iterator[tuple[Catalog, Encoder | None]]:
    """Build and open the catalog of the collection, with vectors if there is a model."""
    from reflink.catalog import Catalog
    from reflink.catalog.build import build
    from reflink.entities import Work
    from reflink.evaluation.kdd.abstracts import read_metadata
    from reflink.evaluation.kdd.papers import own_works

    encoder = None if args.no_vectors else _encoder(args)
    folder = Path(tempfile.mkdtemp(prefix="reflink-kdd-"))
    try:
        works = own_works(args.papers, args.archive) if args.metadata is None else read_metadata(args.metadata, args.archive)
        listed = folder / "works.jsonl"
        with listed.open("wb") as file:
            for work in works:
                if isinstance(work, Work):
                    file.write(work.to_json() + b"\n")
                else:
                    on_error("metadata", work)
        out = args.out or folder / "catalog"
        build(listed, out, encoder=encoder, cache=args.vectors_from)
        yield Catalog.open(out), encoder
    finally:
        shutil.rmtree(folder)


def _encoder(args: argparse.Namespace) -> Encoder | None:
    try:
        return load_encoder(args)
    except ModelNotFound as error:
        if args.model:
            raise
        complain(f"{error}: links without vectors")
        return None


def _linker(args: argparse.Namespace, catalog: Catalog, encoder: Encoder | None) -> Linker:
    from reflink.linking.linker import Linker
    from reflink.linking.policy import Policy

    given = {"accept": args.min_probability} if args.min_probability else {}
    policy = Policy(
        semantic_mode=catalog.mode, lexical_mode=catalog.lexical_mode, absent=args.absent, versions=args.versions, **given
    )
    return Linker(catalog, encoder, policy)


def _show(measured: Mapping[str, Any]) -> None:
    out = console()
    heads = ("right", "predicted", "accuracy", "difference", "recall")
    shown = table([("approach", None), *((head, None) for head in heads)])
    for row in (*measured["rows"], *measured["published"]):
        shown.add_row(
            row["approach"], _count(row["right"]), _count(row["predicted"]), _share(row, "accuracy"),
            _count(row["symmetric_difference"]), _share(row, "recall"),
        )  # fmt: skip
    out.print(shown)
    out.print()
    parts = table([("recall of true edges to papers", None), ("with a locator", None), ("without", None)])
    for row in measured["rows"]:
        parts.add_row(row["approach"], _share(row, "recall_with_locator"), _share(row, "recall_without_locator"))
    out.print(parts)
    out.print()
    out.print(
        f"{measured['papers']:,} papers, {measured['unread']:,} unread, {measured['without_references']:,} without "
        f"references; {measured['references']:,} references, {measured['collection']:,} papers in the collection; "
        f"{measured['edges']:,} true edges, {measured['reachable']:,} of them from these papers to the collection"
    )
    for name, title in (("sections", "bibliography"), ("entries", "entry")):
        rows = table([(f"pattern of the {title}", None), ("files", None), ("the paper's", None)])
        for pattern, of in measured["patterns"][name].items():
            rows.add_row(pattern, _count(of["files"]), _count(of["published"]))
        out.print()
        out.print(rows)


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _share(row: Mapping[str, Any], name: str) -> str:
    if row.get(name) is None:
        return ""
    low_high = row.get(f"{name}_interval")
    return f"{100 * row[name]:.2f}%" + (f" [{100 * low_high[0]:.2f}, {100 * low_high[1]:.2f}]" if low_high else "")
