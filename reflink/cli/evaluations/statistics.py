"""The command ``reflink evaluate statistics``: the key figures of a citation graph."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from reflink.cli import OK
from reflink.cli.output import console, table

if TYPE_CHECKING:
    from reflink.evaluation.report.plots import Axis
    from reflink.terminal import Terminal

NAME: Final = "statistics"
HELP: Final = """Print the key figures of links as unarXive gives them: citing and cited papers, citation contexts.

LINKS is the output of reflink link --json, or a folder of reflink export or reflink-worker export with links.jsonl. The
citation contexts are those of the folder (format contexts), or of --contexts.

examples:
  reflink evaluate statistics links.jsonl
  reflink evaluate statistics links.jsonl --contexts contexts.jsonl --plot pictures/    of reflink contexts --json
  reflink evaluate statistics exported/ --json figures.json"""

_PICTURES: Final = {"citing": "citing papers per cited work", "contexts": "citation contexts per reference"}
_COUNTED: Final = {"citing": "cited works", "contexts": "references"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: links, contexts and outputs."""
    parser.add_argument("links", type=Path, metavar="LINKS", help="links as JSON lines, plain or gzip, or an export's folder")
    parser.add_argument("--contexts", type=Path, metavar="FILE", help="output of reflink contexts --json, plain or gzip")
    parser.add_argument(
        "--plot", type=Path, metavar="DIR", help="draw citing.svg and contexts.svg here (Figures 2 and 3); needs matplotlib"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")


def run(args: argparse.Namespace) -> int:
    """Print the figures and draw the pictures. Returns 0; raises BadRecord, ReportFailed or OSError."""
    from reflink.evaluation.citations import statistics
    from reflink.graph.mentions import Mentions
    from reflink.graph.reading import mentions, newest_links

    if args.plot:
        import reflink.evaluation.report  # noqa: F401 - fails now if its package is missing
    inside = args.links.is_dir() and (args.links / Mentions.FILE).exists()
    contexts = args.contexts or (args.links if inside else None)
    figures = statistics(newest_links(args.links), mentions(contexts) if contexts else {}).to_dict()
    _show(figures, console())
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_bytes(orjson.dumps(figures, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    if args.plot:
        args.plot.mkdir(parents=True, exist_ok=True)
        for name in _PICTURES:
            if figures[name]["n"]:
                path = args.plot / f"{name}.svg"
                path.write_bytes(picture(figures, name))
                console().print(f"picture: {path}", soft_wrap=True)
    return OK


def _show(figures: Mapping[str, Any], out: Terminal) -> None:
    linked, references = figures["linked"], figures["references"]
    out.print(f"{references:,} references, {linked:,} linked ({_share(linked, references)})")
    out.print("linked by " + ", ".join(f"{name} {_share(count, linked)}" for name, count in figures["methods"].items()))
    out.print(
        f"{figures['papers']:,} citing papers, {figures['citing']['n']:,} cited works, {figures['citing']['sum']:,} pairs"
    )
    heads = ("", "n", "one", "from 2", "from 5", "mean", "SD", "max")
    rows = table([(head, None) for head in heads])
    for name, title in _PICTURES.items():
        of = figures[name]
        if of["n"]:
            shares = (f"{of[key]:,} ({_share(of[key], of['n'])})" for key in ("one", "from_2", "from_5"))
            rows.add_row(title, f"{of['n']:,}", *shares, f"{of['mean']:.2f}", f"{of['sd']:.2f}", f"{of['max']:,}")
    out.print(rows)
    if of := figures["contexts"]["n"]:
        out.print(f"{figures['contexts']['sum']:,} citation contexts; mean of a cited work {figures['contexts_of_work']:.2f}")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "0%"


def picture(figures: Mapping[str, Any], name: str) -> bytes:
    """Return a picture of a distribution as SVG: how many items have a value, by value, both on scales of equal factors."""
    from reflink.evaluation.report.plots import Log, Point, Series, plot_svg

    counts = {int(value): count for value, count in figures[name]["counts"].items()}

    def axis(values: list[int], label: str) -> Axis:
        return Log(0.8, 1.5 * max(values), label)

    points = [Point(value, count) for value, count in counts.items()]
    x, y = axis(list(counts), _PICTURES[name]), axis(list(counts.values()), _COUNTED[name])
    return plot_svg(x, y, [Series(_COUNTED[name], points, "dots")], _PICTURES[name])
