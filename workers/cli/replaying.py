"""The command ``replay``: re-evaluate references. The dry run is in workers/cli/rehearsing.py."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final, get_args

import orjson

from reflink.entities import Method, Unresolved
from reflink.terminal import complain
from workers.cli import rehearsing
from workers.cli.command import AddCommand, add_output, argument, report, settings_of, tool_logs
from workers.config.settings import WorkerSettings
from workers.replay.selection import ANY, BadSelection, Selection, moment, probabilities

_EPILOG: Final = """\
Reads the topic links up to its current end and sends the selected references to the topic retries, which linkers read
behind live references. The ledger publishes changed outcomes. A reference must match all given criteria; of a criterion
with several values, any. Withdrawn papers and references pinned by a curator are not sent; works forbidden by a curator
remain forbidden.

  reflink-worker replay --dry-run --sample 2000                      what a new configuration would change
  reflink-worker replay --not-model all-MiniLM-L6-v2                 all decided by another model
  reflink-worker replay --name thresholds --not-policy 1a2b3c4d --per-second 500
  reflink-worker replay --unresolved not-in-catalog --since 30d
  reflink-worker replay --status                                     progress of all replays
  reflink-worker replay --name thresholds --forget

A replay may be stopped or killed at any time. One Kafka transaction contains the sent references and the position, which is
stored under the replay's name, so the same command on any machine continues it. A second command fences the first. The
default name is derived from the selection. A finished replay remains finished until --forget. A replay that was stopped for
longer than the broker keeps offsets (offsets.retention.minutes, a week by default) starts again; the links are the same.

--dry-run needs the intended settings of linker and fallback, and a catalog with vectors and trigrams
(REFLINK_CATALOG_SNAPSHOT); without one it reads and encodes the whole topic.

Exit codes: 0 done, 1 some links are unreadable or could not be evaluated, 2 usage, or the name belongs to another selection,
5 another command continues it, 130 and 143 stopped by Ctrl-C and SIGTERM, else as the workers'.
"""
_PER_SECOND: Final = 300.0
_AHEAD: Final = 5000


def add_to(command: AddCommand) -> None:
    """Add the command ``replay``."""
    replay = command("replay", "re-evaluate references, all or a selection, beside live traffic", _replay, _EPILOG)
    select = replay.add_argument_group("selection", "default: all references")
    select.add_argument(
        "--since", type=_time, metavar="TIME", help="decided at this time or later: 2026-11-22, 2026-11-22T14:30, 2d, 3h"
    )
    select.add_argument("--until", type=_time, metavar="TIME", help="decided before")
    select.add_argument(
        "--citing", action="append", default=[], metavar="PAPER", help="of this paper; may be repeated, as the options below"
    )
    select.add_argument("--citing-file", type=Path, metavar="FILE", help="of these papers, one id per line")
    select.add_argument("--cited", action="append", default=[], metavar="WORK", help="linked to this work")
    select.add_argument("--method", action="append", default=[], choices=get_args(Method), help="linked by this method")
    select.add_argument(
        "--unresolved", action="append", nargs="?", const=ANY, default=[], choices=[ANY, *get_args(Unresolved)],
        metavar="REASON", help=f"not linked, for this reason: {', '.join(get_args(Unresolved))} (default: any)",
    )  # fmt: skip
    select.add_argument(
        "--probability", type=_range, metavar="A..B", help="range of the verdict's probability; A.. and ..B are open"
    )
    for name, what in (("model", "this model, with or without its @revision"), ("policy", "this policy, 8 hexadecimal digits")):
        what = f"decided by {what}; `none`: older links without this field"
        select.add_argument(f"--{name}", action="append", default=[], metavar=name.upper(), help=what)
        select.add_argument(f"--not-{name}", action="append", default=[], metavar=name.upper(), help="not decided by it")
    pace = replay.add_argument_group("pace")
    pace.add_argument(
        "--per-second",
        type=_positive,
        default=_PER_SECOND,
        metavar="N",
        help=f"maximum rate of references (default {_PER_SECOND:g})",
    )
    pace.add_argument("--ahead", type=_count, default=_AHEAD, metavar="N",
                      help=f"maximum number of records in retries that linkers have not read (default {_AHEAD})")  # fmt: skip
    replay.add_argument("--name", help="name of the replay (default: derived from the selection)")
    replay.add_argument("--status", action="store_true", help="print the progress of this replay, or of all")
    replay.add_argument("--forget", action="store_true", help="delete the position; sent references remain sent")
    add_output(replay, "print a JSON object per line, every 5 s and at the end")
    rehearsing.add_to(replay)


def _checked_time(text: str) -> str:
    moment(text, 0)
    return text.strip()


_time: Final = argument(_checked_time)
_range: Final = argument(probabilities)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and up to 1,000,000")
    return value


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number >= 1")
    return int(text)


def selection_of(arguments: argparse.Namespace) -> Selection:
    """Return the selection that the arguments describe. Ids of works and papers are used as given. Raises BadSelection."""
    citing = set(arguments.citing)
    if arguments.citing_file is not None:
        try:
            listed = arguments.citing_file.read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            raise BadSelection(f"{arguments.citing_file} is not UTF-8: it must contain one paper id per line") from None
        citing |= {line.strip() for line in listed if line.strip()}
        if not citing:
            raise BadSelection(f"{arguments.citing_file} contains no paper")
    if arguments.method and arguments.unresolved:
        raise BadSelection("--method selects links and --unresolved references without a link: together they select nothing")
    if odd := [paper for paper in citing if "#" in paper]:
        raise BadSelection(f"{odd[0]!r} is a reference, but --citing takes papers: omit # and the text after it")
    return Selection(
        since=arguments.since,
        until=arguments.until,
        citing=frozenset(citing),
        methods=frozenset(arguments.method),
        unresolved=frozenset({ANY} if ANY in arguments.unresolved else arguments.unresolved),
        probability=arguments.probability,
        models=frozenset(arguments.model),
        not_models=frozenset(arguments.not_model),
        policies=frozenset(arguments.policy),
        not_policies=frozenset(arguments.not_policy),
        cited=frozenset(arguments.cited),
    )


def _replay(arguments: argparse.Namespace) -> int:
    from workers.replay.checkpoint import BadReplay

    if (arguments.status or arguments.forget) + arguments.dry_run + (arguments.status and arguments.forget) > 1:
        complain("reflink-worker: --status, --forget and --dry-run exclude each other")
        return 2
    try:
        selection = selection_of(arguments)
        settings = settings_of(arguments, WorkerSettings)
        tool_logs("replay", quiet=arguments.quiet or arguments.status)
        if arguments.dry_run:
            return rehearsing.run(arguments, selection)
        if arguments.status:
            return _status(arguments, settings)
        if arguments.forget:
            return _forget(arguments, settings)
        return _run(arguments, settings, selection)
    except (BadSelection, BadReplay) as error:
        report(error)
        return 2


def _run(arguments: argparse.Namespace, settings: WorkerSettings, selection: Selection) -> int:
    from workers.cli.replay_display import Display, line_of, stopped_by_signals
    from workers.replay.runner import Replay
    from workers.tools.overrides import now_ms

    name, began = arguments.name or selection.digest(), now_ms()
    with stopped_by_signals() as stop, Display(name, as_json=arguments.json, quiet=arguments.quiet) as display:
        replay = Replay(
            settings,
            name,
            selection,
            per_second=arguments.per_second,
            ahead=arguments.ahead,
            listen=display.show,
            stopped=lambda: stop.code is not None,
        )
        position = replay.run()
    if arguments.json:
        print(orjson.dumps(line_of(name, position, done=position.done)).decode())
    else:
        state = "done" if position.done else f"stopped at {position.share:.1%}: the same command continues it"
        if position.done and position.at < began:
            state = f"done before: to start it again, `reflink-worker replay --name {name} --forget`"
        print(f"replay {name}: {position.total('sent')} of {position.selected} references sent, {state}")
        if superseded := position.total("superseded"):
            print(f"  {superseded} older records of references were skipped")
        if pinned := position.total("pinned"):
            print(f"  {pinned} references decided by a curator were skipped")
    if unreadable := position.total("unreadable"):
        complain(f"reflink-worker: {unreadable} unreadable links were skipped")
    if stop.code is not None and not position.done:
        return stop.code
    return 1 if unreadable else 0


def _status(arguments: argparse.Namespace, settings: WorkerSettings) -> int:
    from workers.cli.replay_display import line_of
    from workers.replay.checkpoint import BadReplay, names, read

    wanted = [arguments.name] if arguments.name else names(settings)
    for name in wanted:
        position = read(settings, name)
        if position is None:
            if arguments.name:
                raise BadReplay(f"no replay is named {name}: `reflink-worker replay --status` lists all")
            continue
        line = line_of(name, position, done=position.done)
        if arguments.json:
            print(orjson.dumps(line).decode())
        else:
            criteria = " ".join(f"{key}={value}" for key, value in line["selection"].items()) or "everything"
            state = "done" if position.done else f"{position.share:.1%} of links read"
            sent = f"{line['sent']} of {line['selected']} sent"
            print(f"{name}: {state}, {sent}, began {line['began']}, last progress {line['at']}: {criteria}")
    if not wanted and not arguments.json:
        print("no replays")
    return 0


def _forget(arguments: argparse.Namespace, settings: WorkerSettings) -> int:
    from workers.replay.checkpoint import BadReplay, forget

    if not arguments.name:
        raise BadReplay("--forget needs --name: `reflink-worker replay --status` lists all replays")
    forget(settings, arguments.name)
    print(f"deleted the position of replay {arguments.name}")
    return 0
