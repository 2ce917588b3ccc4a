"""The dry run of ``replay``: report what a re-evaluation would change."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from reflink.terminal import complain, one_line
from workers.cli.command import ended_by_sigterm, settings_of
from workers.config.settings import FallbackSettings, LinkerSettings

if TYPE_CHECKING:
    from workers.replay.diff import Change, Tally
    from workers.replay.dry_run import DryRun
    from workers.replay.selection import Selection

_TEXT: Final = 100


def add_to(replay: argparse.ArgumentParser) -> None:
    """Add the options of the dry run to ``replay``."""
    dry = replay.add_argument_group("dry run")
    dry.add_argument("--dry-run", action="store_true", help="evaluate in this process, with the settings of linker and "
                     "fallback, and report what would change; send nothing")  # fmt: skip
    dry.add_argument(
        "--sample", type=int, metavar="N", help="evaluate a random sample of this size; the report has 95%% intervals"
    )
    dry.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the sample (default 0)")
    dry.add_argument(
        "--examples", type=int, default=3, metavar="N", help="number of examples of each kind of change (default 3)"
    )
    dry.add_argument("--changes", type=Path, metavar="FILE", help="write all changes as JSON lines: link before and after")


def run(arguments: argparse.Namespace, selection: Selection) -> int:
    """Evaluate the selected references, print the report and return the exit code."""
    from workers.cli.progress import phases
    from workers.replay.diff import Tally
    from workers.replay.dry_run import dry_run

    if arguments.sample is not None and arguments.sample < 1:
        complain("reflink-worker: --sample must be 1 or more")
        return 2
    linker, fallback = settings_of(arguments, LinkerSettings), settings_of(arguments, FallbackSettings)
    tally = Tally(arguments.examples)
    names = {"count": "offsets of links read", "load": "loading model and catalog", "judge": "references evaluated"}
    quiet = arguments.quiet or arguments.json
    with ended_by_sigterm(), ExitStack() as opened, phases("dry run", names, quiet=quiet) as progress:
        out = None if arguments.changes is None else opened.enter_context(arguments.changes.open("wb"))

        def changed(change: Change) -> None:
            if out is not None:
                out.write(orjson.dumps(change.to_dict()) + b"\n")

        drawn = {"sample": arguments.sample, "seed": arguments.seed}
        found = dry_run(linker, fallback, selection, **drawn, tally=tally, changed=changed, progress=progress)
    if arguments.json:
        examples = {kind: [change.to_dict() for change in changes] for kind, changes in tally.kept.items() if changes}
        print(orjson.dumps({**vars(found), "selection": selection.criteria(), "examples": examples}).decode())
    else:
        _print(found, tally)
    return 1 if found.changes["failed"]["count"] or found.unreadable else 0


def _print(found: DryRun, tally: Tally) -> None:
    from workers.replay.diff import KINDS

    drawn = f"{found.judged} sampled of {found.selected} selected references" if found.judged < found.selected else (
        f"{found.judged} selected references"
    )  # fmt: skip
    print(
        f"{drawn} evaluated by model {found.model}, policy {found.policy}, catalog offset {found.catalog_offset}; nothing sent"
    )
    for kind, what in KINDS.items():
        counted = found.changes[kind]
        if kind == "failed" and not counted["count"]:
            continue
        line = f"{counted['count']:>10,}  {counted['share']:7.2%}  {what}"
        if "share_95" in counted:
            (low, high), (at_least, at_most) = counted["share_95"], counted["of_all_95"]
            line += f"  (95%: {low:.2%} to {high:.2%}, {at_least:,} to {at_most:,} of all)"
        print(line)
    for name in ("pinned", "superseded", "unreadable"):
        if count := getattr(found, name):
            print(f"{count:>10,}  excluded: {_PASSED[name]}")
    for kind, changes in tally.kept.items():
        for change in changes:
            print(f"\n{KINDS[kind]}: {one_line(change.reference)}\n  {_short(change.text)}")
            print(f"  before: {one_line(_outcome(change.before))}\n  after:  {one_line(_outcome(change.after))}")


_PASSED: Final = {
    "pinned": "decided by a curator",
    "superseded": "older records of references that have a newer one",
    "unreadable": "unreadable",
}


def _short(text: str) -> str:
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain if len(plain) <= _TEXT else plain[: _TEXT - 1] + "…"


def _outcome(link: Any) -> str:
    if link is None:
        return "could not be evaluated: see the log"
    sure = "" if link.probability is None else f", probability {link.probability:.3f}"
    return f"{link.cited} by {link.method}{sure}" if link.cited is not None else f"{link.unresolved}{sure}"
