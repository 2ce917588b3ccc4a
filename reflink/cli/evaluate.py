"""``reflink evaluate``: how often links are right, by the protocol of the closed and the open world."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from reflink.cli import OK
from reflink.cli.output import console, table

if TYPE_CHECKING:
    from reflink.evaluation.measure import Outcome
    from reflink.evaluation.worlds import World
    from reflink.policy import Policy

NAME: Final = "evaluate"
HELP: Final = """Measure accuracy on references whose targets are known, identifiers withheld.

Every reference is judged by a model that was not trained on its citing paper. Works encoded once are remembered under --cache.

examples:
  reflink evaluate --catalog works.jsonl.gz --references references.jsonl.gz
  reflink evaluate --catalog works.jsonl.gz --references references.jsonl.gz --profile paper --world closed --json paper.json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Works, references, the policy and where to write what was measured."""
    parser.add_argument("--catalog", type=Path, required=True, metavar="WORKS", help="works as JSON lines, .gz or not")
    parser.add_argument(
        "--references", type=Path, required=True, metavar="REFS", help="references with their targets, likewise"
    )
    parser.add_argument("--profile", choices=("paper", "production"), default="production", help="how links are decided")
    parser.add_argument("--world", choices=("closed", "open", "both"), default="both", help="all works, or half of them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--outcomes", type=Path, metavar="FILE", help="write a line for each query (and world, if both) here")
    parser.add_argument("--cache", type=Path, default=Path(".cache/vectors"), help="vectors encoded before (.cache/vectors)")
    parser.add_argument("--present", type=int, choices=range(11), metavar="TENTHS", help="of the open world (default: half)")
    parser.add_argument(
        "--identifiers", action="store_true", help="leave the references their identifiers: flatters the figures"
    )
    for name, what in (("accept", "link from this probability on"), ("sure", "link without the trigrams from this one on")):
        parser.add_argument(f"--{name}", type=float, metavar="P", help=f"{what}, profile production")
    parser.add_argument("--candidates", type=int, metavar="K", help="that each stage proposes (default: 5)")
    parser.add_argument("--lexical-floor", type=float, metavar="S", help="least s of those by trigrams, profile production")
    parser.add_argument("--threshold", type=float, metavar="COSINE", help="of the semantic stage, profile paper")


def run(args: argparse.Namespace) -> int:
    """0; what cannot be read is raised."""
    from reflink.evaluation.run import evaluate

    worlds: list[World] = ["closed", "open"] if args.world == "both" else [args.world]
    evaluation = evaluate(
        args.catalog, args.references, policy=_policy(args), worlds=worlds, cache=args.cache, present=args.present,
        identifiers=args.identifiers,
    )  # fmt: skip
    measured = evaluation.to_dict()
    if args.json:
        args.json.write_bytes(orjson.dumps(measured, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    if args.outcomes:
        _write_outcomes(args.outcomes, evaluation.outcomes)
    _show(measured)
    return OK


def _policy(args: argparse.Namespace) -> Policy:
    from reflink.policy import Policy

    names = ("threshold", "accept", "sure", "candidates", "lexical_floor")
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return Policy(profile=args.profile, **given)


def _write_outcomes(path: Path, outcomes: dict[World, list[Outcome]]) -> None:
    with path.open("wb") as file:
        for world, lines in outcomes.items():
            # A file of one world has no need to name it on every line.
            named = {"world": world} if len(outcomes) > 1 else {}
            for outcome in lines:
                file.write(orjson.dumps({**outcome.to_dict(), **named}) + b"\n")


def _show(measured: dict[str, Any]) -> None:
    shown = table([("world", 2), ("queries", 2), ("n", 1), ("error", 2), ("precision", 2), ("recall", 2), ("false link", 2)])
    for world in ("closed", "open"):
        if world not in measured:
            continue
        figures = measured[world]
        for kind, of in {"all": figures, **figures["kinds"]}.items():
            cells = [_percent(of, name) for name in ("error", "precision", "recall", "false_link")]
            shown.add_row(world, kind, str(of["queries"]), *cells)
    console().print(shown)


def _percent(figures: dict[str, Any], name: str) -> str:
    if name not in figures:
        return ""
    low, high = cast(list[float], figures[f"{name}_interval"])
    return f"{100 * figures[name]:.2f}% [{100 * low:.2f}, {100 * high:.2f}]"
