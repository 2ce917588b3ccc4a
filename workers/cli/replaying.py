"""The command that judges again what was judged: replay, and its dry run (workers/cli/rehearsing.py)."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any, Final, get_args

import orjson

from reflink.entities import Method, Unresolved
from workers import settings as configuration
from workers.cli import rehearsing
from workers.cli.command import AddCommand
from workers.replay.selecting import ANY, BadSelection, Selection, moment, probabilities
from workers.settings import WorkerSettings

log = logging.getLogger(__name__)

_EPILOG: Final = """\
Reads the topic links up to where it ends now, and sends the references that are selected to the topic retries, which
linkers read when they have nothing else to do. The ledger publishes what became different. All that is said of the
selection must hold; of what is said several times, any. Papers that are gone, and references that a curator pinned, are
left alone; works that one forbade stay forbidden.

  reflink-worker replay --dry-run --sample 2000                      what would change, before anything is deployed
  reflink-worker replay --not-model all-MiniLM-L6-v2                 all that another model judged
  reflink-worker replay --name thresholds --not-policy 1a2b3c4d --per-second 500
  reflink-worker replay --unresolved not-in-catalog --since 30d
  reflink-worker replay --status                                     all replays, how far they are
  reflink-worker replay --name thresholds --forget

Stop it as you like, kill it too: what is sent and how far it came are one transaction in Kafka, under its name, and the
same command on any machine goes on from there; a second one at a time ends the first. Without --name the selection makes
the name. A replay that is done stays done until --forget. One that was stopped for longer than the broker keeps positions
(offsets.retention.minutes, a week by default) begins anew, which costs time and changes nothing.

--dry-run needs the settings of linker and fallback as they shall be, and a catalog with vectors and trigrams
(REFLINK_CATALOG_SNAPSHOT), or it reads and encodes the whole topic.

Exit codes: 0 done, 1 some could not be read or judged, 2 usage, or a name that another selection has, 5 another command goes
on with it, 130 and 143 stopped by Ctrl-C and SIGTERM, else as the workers'.
"""
_PER_SECOND: Final = 300.0
_AHEAD: Final = 5000


def add_to(command: AddCommand) -> None:
    """Adds replay."""
    replay = command("replay", "judge references again that were judged, all or some, beside live traffic", _replay)
    replay.epilog, replay.formatter_class = _EPILOG, argparse.RawDescriptionHelpFormatter
    select = replay.add_argument_group("selection", "without any: all references")
    select.add_argument(
        "--since", type=_time, metavar="TIME", help="judged then or later: 2026-11-22, 2026-11-22T14:30, 2d, 3h"
    )
    select.add_argument("--until", type=_time, metavar="TIME", help="judged before")
    select.add_argument(
        "--citing", action="append", default=[], metavar="PAPER", help="of this paper; repeatable, as those below"
    )
    select.add_argument("--citing-file", type=Path, metavar="FILE", help="of these papers, an id a line")
    select.add_argument("--cited", action="append", default=[], metavar="WORK", help="linked to this work")
    select.add_argument("--method", action="append", default=[], choices=get_args(Method), help="linked by it")
    select.add_argument(
        "--unresolved", action="append", nargs="?", const=ANY, default=[], choices=[ANY, *get_args(Unresolved)],
        metavar="REASON", help=f"not linked, for this reason: {', '.join(get_args(Unresolved))}; without one, for any",
    )  # fmt: skip
    select.add_argument("--probability", type=_range, metavar="A..B", help="of the verdict; A.. and ..B are open")
    for name, what in (("model", "this model, with or without its @revision"), ("policy", "this policy, 8 hexadecimal digits")):
        told = f"judged by {what}; `none`: links of before they said it"
        select.add_argument(f"--{name}", action="append", default=[], metavar=name.upper(), help=told)
        select.add_argument(f"--not-{name}", action="append", default=[], metavar=name.upper(), help="not judged by it")
    pace = replay.add_argument_group("pace")
    pace.add_argument(
        "--per-second", type=_positive, default=_PER_SECOND, metavar="N", help=f"at most (default {_PER_SECOND:g})"
    )
    pace.add_argument("--ahead", type=_count, default=_AHEAD, metavar="N",
                      help=f"never more records in retries that linkers have not read (default {_AHEAD})")  # fmt: skip
    replay.add_argument("--name", help="of the replay (default: made of the selection)")
    replay.add_argument("--status", action="store_true", help="how far it is, or all are; nothing is done")
    replay.add_argument("--forget", action="store_true", help="delete its position; what was sent is sent")
    replay.add_argument("--prefix", help="of the topics (default: REFLINK_TOPIC_PREFIX)")
    replay.add_argument("--json", action="store_true", help="an object a line: every 5 s while it runs, and at the end")
    replay.add_argument("--quiet", action="store_true", help="no progress")
    rehearsing.add_to(replay)


def _argument(read: Any) -> Any:
    def checked(text: str) -> Any:
        try:
            return read(text)
        except BadSelection as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def _checked_time(text: str) -> str:
    moment(text, 0)
    return text.strip()


_time: Final = _argument(_checked_time)
_range: Final = _argument(probabilities)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0, up to 1,000,000")
    return value


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def selection_of(arguments: argparse.Namespace) -> Selection:
    """The selection that the arguments say; works and papers as their ids are written. Raises BadSelection."""
    citing = set(arguments.citing)
    if arguments.citing_file is not None:
        try:
            listed = arguments.citing_file.read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            raise BadSelection(f"{arguments.citing_file} is not UTF-8: it must hold a paper's id a line") from None
        citing |= {line.strip() for line in listed if line.strip()}
        if not citing:
            raise BadSelection(f"{arguments.citing_file} names no paper")
    if arguments.method and arguments.unresolved:
        raise BadSelection("--method means links and --unresolved what is not linked: both select nothing")
    if odd := [paper for paper in citing if "#" in paper]:
        raise BadSelection(f"{odd[0]!r} is a reference, and --citing takes papers: leave out what comes after #")
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
    from workers import logs
    from workers.replay.position import BadReplay

    if (arguments.status or arguments.forget) + arguments.dry_run + (arguments.status and arguments.forget) > 1:
        print("reflink-worker: one of --status, --forget and --dry-run", file=sys.stderr)
        return 2
    try:
        selection = selection_of(arguments)
        settings = configuration.read(WorkerSettings)
        if arguments.prefix is not None:
            settings = settings.model_copy(update={"topic_prefix": arguments.prefix})
        watched = sys.stderr.isatty()
        logs.set_up("WARNING" if watched or arguments.quiet or arguments.status else "INFO", worker="replay")
        # It complains when a large batch keeps its loop for a tenth of a second, as reading all at once does.
        logging.getLogger("kafka.net.selector").setLevel(logging.ERROR)
        if arguments.dry_run:
            return rehearsing.run(arguments, selection)
        if arguments.status:
            return _status(arguments, settings)
        if arguments.forget:
            return _forget(arguments, settings)
        return _run(arguments, settings, selection)
    except (BadSelection, BadReplay) as error:
        print(f"reflink-worker: {type(error).__name__}: {error}", file=sys.stderr)
        return 2


def _run(arguments: argparse.Namespace, settings: WorkerSettings, selection: Selection) -> int:
    from workers.cli.replay_display import Display, Stop, line_of
    from workers.curating import now_ms
    from workers.replay.replaying import Replay

    name, began = arguments.name or selection.digest(), now_ms()
    with Stop() as stop, Display(name, as_json=arguments.json, quiet=arguments.quiet) as display:
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
        state = "done" if position.done else f"stopped at {position.share:.1%}: the same command goes on"
        if position.done and position.at < began:
            state = f"done before: `reflink-worker replay --name {name} --forget`, and it begins anew"
        print(f"replay {name}: {position.total('sent')} of {position.selected} references sent, {state}")
        if superseded := position.total("superseded"):
            print(f"  {superseded} older records of references that have a newer one were passed over")
        if pinned := position.total("pinned"):
            print(f"  {pinned} that a curator settled were passed over")
    if unreadable := position.total("unreadable"):
        print(f"reflink-worker: {unreadable} links cannot be read and were passed over", file=sys.stderr)
    if stop.code is not None and not position.done:
        return stop.code
    return 1 if unreadable else 0


def _status(arguments: argparse.Namespace, settings: WorkerSettings) -> int:
    from workers.cli.replay_display import line_of
    from workers.replay.position import BadReplay, names, read

    wanted = [arguments.name] if arguments.name else names(settings)
    for name in wanted:
        position = read(settings, name)
        if position is None:
            if arguments.name:
                raise BadReplay(f"there is no replay named {name}: `reflink-worker replay --status` lists those that there are")
            continue
        told = line_of(name, position, done=position.done)
        if arguments.json:
            print(orjson.dumps(told).decode())
        else:
            said = " ".join(f"{key}={value}" for key, value in told["selection"].items()) or "everything"
            state = "done" if position.done else f"{position.share:.1%} of links read"
            sent = f"{told['sent']} of {told['selected']} sent"
            print(f"{name}: {state}, {sent}, began {told['began']}, last moved {told['at']}: {said}")
    if not wanted and not arguments.json:
        print("no replays")
    return 0


def _forget(arguments: argparse.Namespace, settings: WorkerSettings) -> int:
    from workers.replay.position import BadReplay, forget

    if not arguments.name:
        raise BadReplay("--forget needs the --name of a replay: `reflink-worker replay --status` lists them")
    forget(settings, arguments.name)
    print(f"replay {arguments.name} is forgotten")
    return 0
