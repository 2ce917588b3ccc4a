"""The dry run of replay: what another judgement would change."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from workers import settings as configuration
from workers.cli.command import ended_by_sigterm
from workers.settings import FallbackSettings, LinkerSettings

if TYPE_CHECKING:
    from workers.replay.comparing import Change, Tally
    from workers.replay.rehearsing import Rehearsed
    from workers.replay.selecting import Selection

log = logging.getLogger(__name__)

_LOG_EVERY_S: Final = 10.0
_TEXT: Final = 100


def add_to(replay: argparse.ArgumentParser) -> None:
    """Adds the options of the dry run."""
    dry = replay.add_argument_group("dry run")
    dry.add_argument("--dry-run", action="store_true", help="judge here, with the linker's and the fallback's settings, send "
                     "nothing, and say what would change")  # fmt: skip
    dry.add_argument(
        "--sample", type=int, metavar="N", help="only so many of the selected, drawn at random, with 95%% intervals"
    )
    dry.add_argument("--seed", type=int, default=0, metavar="N", help="the same sample for the same number (default 0)")
    dry.add_argument("--examples", type=int, default=3, metavar="N", help="of each kind of change (default 3)")
    dry.add_argument("--changes", type=Path, metavar="FILE", help="all changes as JSON lines: link before and after")


def run(arguments: argparse.Namespace, selection: Selection) -> int:
    """Judges and reports. Returns the exit code."""
    from workers.progress import counting
    from workers.replay.comparing import Tally
    from workers.replay.rehearsing import rehearse

    if arguments.sample is not None and arguments.sample < 1:
        print("reflink-worker: --sample must be 1 or more", file=sys.stderr)
        return 2
    prefix = {} if arguments.prefix is None else {"topic_prefix": arguments.prefix}
    linker, fallback = configuration.read(LinkerSettings, **prefix), configuration.read(FallbackSettings, **prefix)
    tally = Tally(arguments.examples)
    told, phase = time.monotonic(), ""
    with ended_by_sigterm(), ExitStack() as opened, ExitStack() as bars:
        out = None if arguments.changes is None else opened.enter_context(arguments.changes.open("wb"))

        def changed(change: Change) -> None:
            if out is not None:
                out.write(orjson.dumps(change.said()) + b"\n")

        show: Any = None

        def progress(what: str, done: int, of: int) -> None:
            nonlocal told, phase, show
            if what != phase:
                bars.close()
                names = {"count": "offsets of links read", "load": "loading model and catalog", "judge": "references judged"}
                phase, show = what, bars.enter_context(counting(names[what], quiet=arguments.quiet or arguments.json, total=of))
            show(done)
            if time.monotonic() - told > _LOG_EVERY_S:
                told = time.monotonic()
                log.info("rehearsing", extra={"phase": what, "done": done, "of": of})

        found = rehearse(
            linker,
            fallback,
            selection,
            sample=arguments.sample,
            seed=arguments.seed,
            tally=tally,
            changed=changed,
            progress=progress,
        )
    if arguments.json:
        examples = {kind: [change.said() for change in changes] for kind, changes in tally.kept.items() if changes}
        print(orjson.dumps({**vars(found), "selection": selection.said(), "examples": examples}).decode())
    else:
        _print(found, tally)
    return 1 if found.changes["failed"]["count"] or found.unreadable else 0


def _print(found: Rehearsed, tally: Tally) -> None:
    from workers.replay.comparing import KINDS

    drawn = f"{found.judged} drawn of {found.selected} selected references" if found.judged < found.selected else (
        f"{found.judged} selected references"
    )  # fmt: skip
    print(f"{drawn} judged by model {found.model}, policy {found.policy}, catalog offset {found.catalog_offset}; nothing sent")
    for kind, what in KINDS.items():
        told = found.changes[kind]
        if kind == "failed" and not told["count"]:
            continue
        line = f"{told['count']:>10,}  {told['share']:7.2%}  {what}"
        if "share_95" in told:
            (low, high), (least, most) = told["share_95"], told["of_all_95"]
            line += f"  (95%: {low:.2%} to {high:.2%}, {least:,} to {most:,} of all)"
        print(line)
    for name in ("pinned", "superseded", "unreadable"):
        if count := getattr(found, name):
            print(f"{count:>10,}  passed over: {_PASSED[name]}")
    for kind, changes in tally.kept.items():
        for change in changes:
            print(f"\n{KINDS[kind]}: {change.reference}\n  {_short(change.text)}")
            print(f"  before: {_outcome(change.before)}\n  after:  {_outcome(change.after)}")


_PASSED: Final = {
    "pinned": "settled by a curator",
    "superseded": "older records of references that have a newer one",
    "unreadable": "cannot be read",
}


def _short(text: str) -> str:
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain if len(plain) <= _TEXT else plain[: _TEXT - 1] + "…"


def _outcome(link: Any) -> str:
    if link is None:
        return "could not be judged: the log says why"
    sure = "" if link.probability is None else f", probability {link.probability:.3f}"
    return f"{link.cited} by {link.method}{sure}" if link.cited is not None else f"{link.unresolved}{sure}"
