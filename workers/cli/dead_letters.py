"""The command ``dead-letters`` with its subcommands ``list``, ``show``, ``replay`` and ``drop``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reflink.errors import ReflinkError
from reflink.terminal import complain, one_line
from workers.cli.command import AddCommand, add_commands, argument, report
from workers.config import settings as configuration
from workers.replay.selection import moment

if TYPE_CHECKING:
    from workers.records import Received
    from workers.tools.dead_letters import DeadLetter

_EPILOG: Final = """\
A dead letter is a record that a worker could not handle, unchanged, with the reason. It remains until the topic's
retention ends; another record of the topic stores its resolution. Replaying sends it to its source topic and partition,
with its key, headers and version. If it becomes a dead letter again, its number of attempts is one higher.

  reflink-worker dead-letters list --reason NotAPaper --since 2h
  reflink-worker dead-letters show 17 --value > paper.xml
  reflink-worker dead-letters replay 17 --value paper.xml      the corrected paper, which the command compresses
  reflink-worker dead-letters replay --reason BadVector        all of them, after deploying a correction
  reflink-worker dead-letters drop 18 19 --reason-text "tests"

Exit codes: 0 done, 1 some could not be replayed or dropped, 2 usage or no such dead letter.
"""
_PREVIEW: Final = 4000


def add_to(command: AddCommand) -> None:
    """Add the command ``dead-letters``."""
    parser = command("dead-letters", "list, show, replay and drop dead letters", lambda _: 2, _EPILOG)
    verb = add_commands(parser)

    listing = verb("list", "list open dead letters, one per line, and count them by reason", _list)
    listing.add_argument("--all", action="store_true", help="include replayed and dropped ones")
    listing.add_argument("--json", action="store_true", help="print one JSON object per line")
    _add_filters(listing)

    show = verb("show", "show one dead letter: all headers and the decoded value", _show)
    show.add_argument("offset", type=int, metavar="OFFSET", help="offset in `list`")
    show.add_argument("--value", action="store_true", help="print only the full value, decompressed; on a terminal as text")
    show.add_argument("--json", action="store_true", help="print a JSON object")

    replay = verb("replay", "send dead letters to their source topics", _replay)
    _add_choice(replay)
    replay.add_argument(
        "--value", type=Path, metavar="FILE", help="for one dead letter: send this value instead; a paper may be compressed"
    )

    drop = verb("drop", "mark dead letters as resolved without replaying them", _drop)
    _add_choice(drop)
    drop.add_argument("--reason-text", default="", metavar="WHY", help="stored with the resolution")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", help="source topic, without prefix")
    parser.add_argument("--reason", help="class of the error, for example NotAPaper")
    parser.add_argument("--worker", help="worker that wrote them")
    parser.add_argument(
        "--since", type=argument(_since), metavar="WHEN", help="written since: 90m, 2h, 3d, or 2026-11-21[T08:00]"
    )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("offsets", type=int, nargs="*", metavar="OFFSET", help="offset in `list`")
    parser.add_argument("--all", action="store_true", help="all open dead letters that match the filters")
    _add_filters(parser)
    parser.add_argument("--dry-run", action="store_true", help="only print the selection")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def _since(text: str) -> int:
    return moment(text, round(time.time() * 1000))


def _settings() -> configuration.WorkerSettings:
    return configuration.read(configuration.WorkerSettings)


def _fits(letter: DeadLetter, arguments: argparse.Namespace) -> bool:
    return (
        arguments.topic in (None, letter.topic)
        and arguments.reason in (None, letter.reason)
        and arguments.worker in (None, letter.worker)
        and (arguments.since is None or letter.timestamp >= arguments.since)
    )


def _list(arguments: argparse.Namespace) -> int:
    import orjson

    from workers.tools.dead_letters import read

    letters = [each for each in read(_settings()) if (arguments.all or each.resolution is None) and _fits(each, arguments)]
    for letter in letters:
        if arguments.json:
            print(orjson.dumps(_fields(letter)).decode())
        else:
            print(_line(letter))
    if not arguments.json:
        states = Counter(letter.resolution or "open" for letter in letters)
        reasons = Counter(letter.reason for letter in letters)
        total = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "0 open"
        print(total + "".join(f"\n  {count:6} {reason}" for reason, count in reasons.most_common()))
    return 0


def _fields(letter: DeadLetter) -> dict[str, Any]:
    return {name: value for name, value in asdict(letter).items() if value not in (None, "")}


def _line(letter: DeadLetter) -> str:
    parts = [str(letter.offset), _time(letter.timestamp), letter.place, letter.worker, letter.reason]
    parts += [f"attempt {letter.attempt}", *([letter.resolution] if letter.resolution else []), letter.message]
    return one_line("  ".join(parts) + (f" ({letter.why})" if letter.why else ""))


def _time(timestamp: int) -> str:
    return datetime.fromtimestamp(max(0, timestamp) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _show(arguments: argparse.Namespace) -> int:
    import orjson

    from workers.tools.dead_letters import fetch, read

    settings = _settings()
    letter = next((each for each in read(settings) if each.offset == arguments.offset), None)
    record = next(fetch(settings, [arguments.offset]), None)
    if letter is None or record is None:
        return _unknown([arguments.offset])
    content, how = _content(record)
    if arguments.value:
        sys.stdout.flush()
        if sys.stdout.isatty():
            print(content.decode("utf-8", "replace"))
        else:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        return 0
    headers = {name: value.decode("utf-8", "replace") for name, value in record.headers}
    key = record.key.decode("utf-8", "replace") if record.key is not None else None
    if arguments.json:
        text = None if record.value is None else content.decode("utf-8", "replace")
        print(orjson.dumps({**_fields(letter), "key": key, "headers": headers, "encoding": how, "value": text}).decode())
        return 0
    print(_line(letter))
    print(f"key: {one_line(key) if key is not None else 'none'}")
    for name, value in headers.items():
        print(one_line(f"{name}: {value}"))
    print(f"value: {'none' if record.value is None else f'{len(record.value)} bytes, {how}'}\n")
    shown = content.decode("utf-8", "replace")
    print(shown[:_PREVIEW])
    if len(shown) > _PREVIEW:
        print(f"… {len(shown) - _PREVIEW} more characters: --value writes all")
    return 0


def _content(record: Received) -> tuple[bytes, str]:
    """Return the value, decompressed if it is a paper, and its compression or the reason why decompressing failed."""
    from schemas.papers import ENCODING_HEADER
    from workers.config.settings import ParserSettings
    from workers.dead_letter import TOPIC
    from workers.papers.stage import decompress

    value, encoding = record.value or b"", record.header(ENCODING_HEADER) or "identity"
    if record.header(TOPIC) != "papers" or record.header("reflink-content") == "pointer" or not value:
        return value, "identity"
    try:
        return decompress(value, encoding, ParserSettings.model_fields["max_paper_bytes"].default), encoding
    except ReflinkError as error:
        return value, f"cannot be decompressed: {error}"


def _unknown(offsets: Sequence[int]) -> int:
    missing = ", ".join(map(str, offsets))
    complain(f"reflink-worker: no dead letter at offset {missing}: `reflink-worker dead-letters list --all` shows them")
    return 2


def _choose(arguments: argparse.Namespace, letters: Sequence[DeadLetter]) -> tuple[list[DeadLetter], int]:
    """Return the selected open dead letters and the exit code so far. Prints errors instead of raising them."""
    filtered = any(getattr(arguments, name) is not None for name in ("topic", "reason", "worker", "since"))
    if bool(arguments.offsets) == (arguments.all or filtered):
        complain("reflink-worker: give either offsets, or --all or filters")
        return [], 2
    known = {letter.offset: letter for letter in letters}
    if missing := [offset for offset in arguments.offsets if offset not in known]:
        return [], _unknown(missing)
    named = [known[offset] for offset in dict.fromkeys(arguments.offsets)]
    for letter in named:
        if letter.resolution is not None:
            complain(f"reflink-worker: dead letter {letter.offset} was {letter.resolution} already")
    chosen = named or [letter for letter in letters if _fits(letter, arguments)]
    still = [letter for letter in chosen if letter.resolution is None]
    return still, int(len(still) < len(named))


def _replay(arguments: argparse.Namespace) -> int:
    from workers.cli.progress import counting
    from workers.tools.dead_letters import Resolver, read

    if arguments.value is not None and len(arguments.offsets) != 1:
        complain("reflink-worker: --value needs exactly one offset")
        return 2
    value = None if arguments.value is None else arguments.value.read_bytes()
    settings = _settings()
    if arguments.dry_run:
        return _dry_run(arguments, read(settings), "would be replayed")
    with Resolver(settings) as resolver:  # opened before reading: this aborts the open transaction of another command
        chosen, code = _choose(arguments, read(settings))
        if code == 2:
            return code
        with counting("dead letters", quiet=arguments.quiet, total=len(chosen)) as progress:
            count, failed = resolver.replay([letter.offset for letter in chosen], value=value, done=progress)
    for error in failed:
        report(error)
    print(f"{count} replayed" + (f", {len(failed)} could not be" if failed else ""))
    return 1 if failed else code


def _drop(arguments: argparse.Namespace) -> int:
    from workers.tools.dead_letters import Resolver, read

    settings = _settings()
    if arguments.dry_run:
        return _dry_run(arguments, read(settings), "would be dropped")
    with Resolver(settings) as resolver:
        chosen, code = _choose(arguments, read(settings))
        if code == 2:
            return code
        print(f"{resolver.drop([letter.offset for letter in chosen], arguments.reason_text)} dropped")
    return code


def _dry_run(arguments: argparse.Namespace, letters: Sequence[DeadLetter], what: str) -> int:
    chosen, code = _choose(arguments, letters)
    if code != 2:
        for letter in chosen:
            print(_line(letter))
        print(f"{len(chosen)} {what}")
    return code
