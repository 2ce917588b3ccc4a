"""The command ``reflink evaluate``: measure the accuracy of links by the protocol of the closed and the open world."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from reflink.cli import OK, add_command
from reflink.cli.inputs import absent_share, probability
from reflink.cli.measured import show
from reflink.cli.output import console

if TYPE_CHECKING:
    from reflink.evaluation.outcomes import Mistake, Outcome
    from reflink.evaluation.run import Evaluation
    from reflink.evaluation.worlds import World
    from reflink.linking.policy import Policy

NAME: Final = "evaluate"
HELP: Final = """Measure accuracy on references with known targets, without their identifiers.

The verdict of each reference comes from a model that was not trained on its citing paper. Vectors and the results of each mode
are stored under --cache, so an interrupted run resumes. Intervals: 95%, by the bootstrap over citing papers.

worlds:
  closed   every target is in the catalog; the figure is the error: queries not linked to their target
  open     half of the works are removed, by a hash of their group. precision: share of the links that are right. recall:
           share of the queries with a target that get the right link. false link: share of the queries without a target
           that get a link

examples:
  reflink evaluate --catalog works.jsonl.gz --references references.jsonl.gz
  reflink evaluate --catalog works.jsonl.gz --references references.jsonl.gz --profile paper --world closed --json paper.json
  reflink evaluate --catalog works.jsonl.gz --references references.jsonl.gz --modes TVL,Raw --report report/
  reflink evaluate --catalog works.jsonl.gz --references references.jsonl.gz --full --report report/ --json figures.json
  reflink evaluate --catalog works.jsonl.gz --references references.jsonl.gz --policy unarxive      another publication's rule
  reflink evaluate --catalog works.jsonl.gz --references references.jsonl.gz --adjudicate 50 --adjudicated verdicts.jsonl"""

#: Modules in `reflink.cli.evaluations` of the evaluations with commands of their own, as ``reflink evaluate NAME``.
EVALUATIONS: Final[tuple[str, ...]] = ("kdd", "sample", "statistics")
#: Rules of other publications: `reflink.evaluation.rivals.running.RIVALS`.
RIVALS: Final = ("titlematch", "s2orc", "unarxive")
#: The options that a rule has, beside --policy itself.
_OF_RULES: Final = frozenset(
    "policy catalog references world present shares fields_hidden identifiers json outcomes adjudicated threshold".split()
)
#: The report folder of --full without --report.
_REPORT: Final = Path("report")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for inputs, measurements, outputs and the policy, and the evaluations with commands of their own."""
    commands = parser.add_subparsers(metavar="EVALUATION", title="other evaluations", required=False)
    for name in EVALUATIONS:
        add_command(commands, import_module(f"reflink.cli.evaluations.{name}"))
    parser.set_defaults(usage_error=parser.error, default_of=parser.get_default)
    parser.add_argument("--catalog", type=Path, metavar="WORKS", help="works as JSON lines, plain or gzip (required)")
    parser.add_argument(
        "--references", type=Path, metavar="REFS", help="references with their targets, as JSON lines, plain or gzip (required)"
    )
    parser.add_argument(
        "--profile", choices=("paper", "production"), default="production", help="profile of the policy (default: production)"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(".cache/vectors"),
        help="folder of stored vectors and results (default: .cache/vectors)",
    )
    _add_what(parser.add_argument_group("what to measure"))
    _add_output(parser.add_argument_group("where to write it"))
    _add_reading(parser.add_argument_group("errors read by a person"))
    _add_policy(parser.add_argument_group("thresholds of the policy"))


def _add_what(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--policy", choices=("reflink", *RIVALS), default="reflink",
        help="which rule links: reflink, or that of another publication, without model and vectors; titlematch: equal titles; "
        "s2orc: the best title if its s is above 0.8 (or --threshold); unarxive: an identifier (with --identifiers), else an "
        "equal title and an author's name in the text, the most cited of several (default: reflink)",
    )  # fmt: skip
    group.add_argument(
        "--world",
        choices=("closed", "open", "both"),
        default="both",
        help="closed: all works; open: half of them (default: both)",
    )
    group.add_argument("--present", type=int, choices=range(11), metavar="TENTHS", help="of the open world (default: half)")
    group.add_argument("--shares", action="store_true", help="open worlds with 20%% and 80%% of the targets too")
    group.add_argument("--fields-hidden", action="store_true", help="each world also with the raw text of references alone")
    group.add_argument(
        "--modes", type=_modes, default=(), metavar="M,M|all",
        help="the published work's tables in these modes, as T,TVL,Raw: field availability, truncation limits, error and time "
        "by approach, the curve and the hybrid by threshold; encodes all works in each, once; measures the closed world too",
    )  # fmt: skip
    group.add_argument(
        "--encoders", type=_models, default=(), metavar="DIR,DIR",
        help="folders (or names) of other sentence encoders: rows of their own in the tables of --modes. A folder's "
        "reflink.json may set the separator of the fields; the pooling is the folder's own",
    )  # fmt: skip
    group.add_argument("--full", action="store_true", help=f"--shares --fields-hidden --modes all --report {_REPORT}")
    group.add_argument(
        "--pubmed", type=Path, metavar="DIR",
        help="PubMed's reference lists and records too: their texts with natural absence, and the mixture of both sources",
    )  # fmt: skip
    group.add_argument(
        "--identifiers", action="store_true", help="keep the identifiers of the references: flatters the figures"
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--json", type=Path, metavar="FILE", help="write the figures here; all are fractions")
    group.add_argument("--outcomes", type=Path, metavar="FILE", help="write a line for each query (and world, if several) here")
    group.add_argument(
        "--report", type=Path, metavar="DIR",
        help="write index.html here: one page that needs nothing else, with plots and every mistake with its evidence; "
        "measures the published threshold in the open world too",
    )  # fmt: skip


def _add_reading(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--adjudicate", nargs="?", const=0, type=_count, metavar="N",
        help="then show errors without a verdict, N drawn at random or all, and ask for one: label wrong, linker wrong, other "
        "version, cannot tell. All later runs count the verdicts and give the figures without the wrong labels too",
    )  # fmt: skip
    group.add_argument("--seed", type=int, default=1, help="of the draw (default: 1)")
    group.add_argument(
        "--adjudicated", type=Path, metavar="FILE",
        help="file of the verdicts, identifiers without texts (default: REFS with .adjudicated.jsonl appended)",
    )  # fmt: skip


def _add_policy(group: argparse._ArgumentGroup) -> None:
    for name, what in (
        ("accept", "min probability of a link"),
        ("sure", "min probability of a link without the second search; 1: always search"),
        ("refuse", "max probability of no link without the second search; 0: always search"),
        ("link-precision", "instead of --accept: the share of the links that must be right"),
    ):
        kind = float if name == "refuse" else probability
        group.add_argument(f"--{name}", type=kind, metavar="P", help=f"{what}, profile production")
    group.add_argument(
        "--absent", type=absent_share, default=0.5, metavar="SHARE|auto",
        help="share of references without a target in the catalog, profile production; auto: estimated in each world "
        "(default: 0.5)",
    )  # fmt: skip
    group.add_argument(
        "--first", choices=("vectors", "trigrams"), help="the first search (default: vectors), profile production; see sure"
    )
    group.add_argument("--candidates", type=int, metavar="K", help="candidates that each stage proposes (default: 5)")
    group.add_argument(
        "--versions", choices=("report", "link"), help="another version of the cited work: report it, or link to it; production"
    )
    group.add_argument("--lexical-floor", type=float, metavar="S", help="min s of a candidate by trigrams, profile production")
    group.add_argument(
        "--threshold",
        type=float,
        metavar="COSINE",
        help="min cosine of the semantic stage, profile paper; with --policy s2orc: s must be above it (default: 0.8)",
    )


def _count(text: str) -> int:
    """Parse a number of errors, at least 1. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of errors: expected at least 1")
    return int(text)


def _models(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))


def _modes(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of modes. Raises ArgumentTypeError for an unknown mode."""
    from reflink.evaluation.approaches import MODES, OTHER_MODES

    known = list(dict.fromkeys([*(mode for modes in MODES.values() for mode in modes), *OTHER_MODES, "TA"]))
    if text == "all":
        return tuple(known)
    requested = tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if unknown := [mode for mode in requested if mode not in known]:
        raise argparse.ArgumentTypeError(f"unknown mode {unknown[0]}: expected all, or some of {','.join(known)}")
    return requested


def run(args: argparse.Namespace) -> int:
    """Evaluate, write and show the figures. Returns 0; raises ReflinkError or OSError for unreadable input."""
    from reflink.evaluation.adjudication import Judgements
    from reflink.evaluation.run import evaluate

    if missing := [f"--{name}" for name in ("catalog", "references") if getattr(args, name) is None]:
        args.usage_error(f"the following arguments are required: {', '.join(missing)}")
    if args.full:
        args.shares = args.fields_hidden = True
        args.modes, args.report = args.modes or _modes("all"), args.report or _REPORT
    if args.encoders and not args.modes:
        args.usage_error("--encoders needs --modes, whose tables it extends")
    if args.report:
        from reflink.evaluation import report  # fails now if its package is missing, and not after the evaluation
    adjudicated = args.adjudicated or args.references.with_name(f"{args.references.name}.adjudicated.jsonl")
    if args.adjudicate is not None and not os.access(adjudicated if adjudicated.exists() else adjudicated.parent, os.W_OK):
        raise PermissionError(f"{adjudicated} cannot be written: name a file for the verdicts with --adjudicated")
    worlds: list[World] = ["closed", "open"] if args.world == "both" else [args.world]
    if args.policy != "reflink":
        _finish(_by_rule(args, worlds, adjudicated), args)
        return OK
    evaluation = evaluate(
        args.catalog, args.references, policy=_policy(args), worlds=worlds, cache=args.cache, present=args.present,
        identifiers=args.identifiers, shares=args.shares, fields_hidden=args.fields_hidden, rule=bool(args.report),
        modes=args.modes, encoders=args.encoders, pubmed=args.pubmed, adjudicated=adjudicated, learnt=args.absent is None,
    )  # fmt: skip
    if args.adjudicate is not None and _ask(evaluation.mistakes, args.adjudicate or None, args.seed, adjudicated):
        evaluation = evaluation.with_verdicts(Judgements.known(adjudicated))
    _finish(evaluation, args)
    if args.report:
        console().print(f"report: {report.write(evaluation, args.report)}", soft_wrap=True)
    return OK


def _by_rule(args: argparse.Namespace, worlds: Sequence[World], adjudicated: Path) -> Evaluation:
    """Evaluate another publication's rule. Wrong usage if an option is given that the rule does not have."""
    from reflink.evaluation.rivals.running import evaluate_rule

    given = {name for name, value in vars(args).items() if value != args.default_of(name)}
    if others := sorted(given - _OF_RULES - {"usage_error", "default_of", "run"}):
        args.usage_error(f"--policy {args.policy} has no --{others[0].replace('_', '-')}")
    if args.threshold is not None and args.policy != "s2orc":
        args.usage_error(f"--policy {args.policy} has no --threshold")
    return evaluate_rule(
        args.policy, args.catalog, args.references, worlds=worlds, present=args.present, identifiers=args.identifiers,
        shares=args.shares, fields_hidden=args.fields_hidden, threshold=args.threshold, adjudicated=adjudicated,
    )  # fmt: skip


def _finish(evaluation: Evaluation, args: argparse.Namespace) -> None:
    """Write and show the figures."""
    if args.json:
        _write(args.json, orjson.dumps(evaluation.to_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    if args.outcomes:
        _write(args.outcomes, _outcomes(evaluation.outcomes))
    show(evaluation.to_dict(), console())


def _ask(mistakes: Mapping[str, Sequence[Mistake]], count: int | None, seed: int, path: Path) -> int:
    """Ask for verdicts on errors; return the number of new verdicts."""
    from reflink.cli.adjudicate import adjudicate, questions
    from reflink.cli.keys import keys
    from reflink.evaluation.adjudication import Judgements

    errors = questions(mistakes, Judgements.known(path), count, seed)
    with keys() as key:
        return adjudicate(errors, path, console(), key, lambda: date.today().isoformat())


def _policy(args: argparse.Namespace) -> Policy:
    from reflink.linking.policy import Policy

    names = ("threshold", "accept", "sure", "refuse", "absent", "candidates", "versions", "lexical_floor", "first")
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return Policy(profile=args.profile, precision=args.link_precision, **given)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _outcomes(outcomes: Mapping[str, Sequence[Outcome]]) -> bytes:
    lines = []
    for world, found in outcomes.items():
        # With a single world the name on every line would be redundant.
        named = {"world": world} if len(outcomes) > 1 else {}
        lines += [orjson.dumps({**outcome.to_dict(), **named}) + b"\n" for outcome in found]
    return b"".join(lines)
