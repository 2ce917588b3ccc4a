"""The commands on dead letters: dead-letters list, show, replay, drop."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reflink.errors import ReflinkError
from workers import settings as configuration
from workers.cli.command import AddCommand, add_verbs

if TYPE_CHECKING:
    from workers.deadletters import DeadLetter
    from workers.stage import Received

_EPILOG: Final = """\
A dead letter is a record that a worker could not handle, as it came, with the reason. It stays until the topic's
retention takes it; what became of it is noted beside it. Replaying sends it back to the topic and partition it came
from, with its key, headers and version; should it die again, the attempt is counted.

  reflink-worker dead-letters list --reason NotAPaper --since 2h
  reflink-worker dead-letters show 17 --value > paper.xml
  reflink-worker dead-letters replay 17 --value paper.xml      the mended paper, compressed anew
  reflink-worker dead-letters replay --reason BadVector        all of them, after a deploy that mends it
  reflink-worker dead-letters drop 18 19 --reason-text "tests"

Exit codes: 0 done, 1 some could not be replayed or dropped, 2 usage or no such dead letter.
"""
_PREVIEW: Final = 4000
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


def add_to(command: AddCommand) -> None:
    """Adds dead-letters."""
    parser = command("dead-letters", "see why records died, send back what is mended, drop the rest", lambda _: 2)
    parser.epilog, parser.formatter_class = _EPILOG, argparse.RawDescriptionHelpFormatter
    verb = add_verbs(parser)

    listing = verb("list", "open dead letters, a line each, and how many of each reason", _list)
    listing.add_argument("--all", action="store_true", help="those that were replayed or dropped too")
    listing.add_argument("--json", action="store_true", help="an object a line")
    _add_filters(listing)

    show = verb("show", "one dead letter: all headers, and its value decoded", _show)
    show.add_argument("offset", type=int, metavar="OFFSET", help="as `list` shows it")
    show.add_argument("--value", action="store_true", help="nothing but the value, decompressed and whole")
    show.add_argument("--json", action="store_true", help="one object")

    replay = verb("replay", "send dead letters back to where they came from", _replay)
    _add_choice(replay)
    replay.add_argument(
        "--value", type=Path, metavar="FILE", help="send this instead, of one dead letter; papers plain or compressed"
    )

    drop = verb("drop", "note that dead letters need nothing more", _drop)
    _add_choice(drop)
    drop.add_argument("--reason-text", default="", metavar="WHY", help="kept with the note")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", help="that they came from, without prefix")
    parser.add_argument("--reason", help="the class of the error, for example NotAPaper")
    parser.add_argument("--worker", help="that gave them up")
    parser.add_argument("--since", type=_since, metavar="WHEN", help="that died since: 90m, 2h, 3d, or 2026-11-21[T08:00]")


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("offsets", type=int, nargs="*", metavar="OFFSET", help="as `list` shows it")
    parser.add_argument("--all", action="store_true", help="every open one that the filters leave")
    _add_filters(parser)
    parser.add_argument("--dry-run", action="store_true", help="only say which")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def _since(text: str) -> int:
    """Milliseconds since 1970."""
    if found := re.fullmatch(r"(\d{1,6})([mhd])", text):
        return int((datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])})).timestamp() * 1000)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither 90m, 2h or 3d nor a date like 2026-11-21T08:00") from None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


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

    from workers.deadletters import read

    letters = [each for each in read(_settings()) if (arguments.all or each.resolution is None) and _fits(each, arguments)]
    for letter in letters:
        if arguments.json:
            print(orjson.dumps({key: value for key, value in asdict(letter).items() if value not in (None, "")}).decode())
        else:
            print(_line(letter))
    if not arguments.json:
        states = Counter(letter.resolution or "open" for letter in letters)
        reasons = Counter(letter.reason for letter in letters)
        total = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "0 open"
        print(total + "".join(f"\n  {count:6} {reason}" for reason, count in reasons.most_common()))
    return 0


def _line(letter: DeadLetter) -> str:
    parts = [str(letter.offset), _time(letter.timestamp), letter.place, letter.worker, letter.reason]
    parts += [f"attempt {letter.attempt}", *([letter.resolution] if letter.resolution else []), _plain(letter.message)]
    return "  ".join(parts) + (f" ({_plain(letter.why)})" if letter.why else "")


def _time(timestamp: int) -> str:
    return datetime.fromtimestamp(max(0, timestamp) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _plain(text: str) -> str:
    """On one line of a terminal, whatever a producer wrote."""
    return "".join(char if char.isprintable() else "�" for char in text)


def _show(arguments: argparse.Namespace) -> int:
    import orjson

    from workers.deadletters import fetch, read

    settings = _settings()
    letter = next((each for each in read(settings) if each.offset == arguments.offset), None)
    record = next(fetch(settings, [arguments.offset]), None)
    if letter is None or record is None:
        return _unknown([arguments.offset])
    content, how = _content(record)
    if arguments.value:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return 0
    headers = {name: value.decode("utf-8", "replace") for name, value in record.headers}
    key = record.key.decode("utf-8", "replace") if record.key is not None else None
    if arguments.json:
        text = None if record.value is None else content.decode("utf-8", "replace")
        about = {key: value for key, value in asdict(letter).items() if value not in (None, "")}
        print(orjson.dumps({**about, "key": key, "headers": headers, "encoding": how, "value": text}).decode())
        return 0
    print(_line(letter))
    print(f"key: {_plain(key) if key is not None else 'none'}")
    for name, value in headers.items():
        print(f"{_plain(name)}: {_plain(value)}")
    print(f"value: {'none' if record.value is None else f'{len(record.value)} bytes, {how}'}\n")
    shown = content.decode("utf-8", "replace")
    print("".join(char if char.isprintable() or char in "\n\t" else "�" for char in shown[:_PREVIEW]))
    if len(shown) > _PREVIEW:
        print(f"… {len(shown) - _PREVIEW} more characters: --value writes all")
    return 0


def _content(record: Received) -> tuple[bytes, str]:
    """The value as a person reads it, and how it is compressed."""
    from schemas.papers import ENCODING_HEADER
    from workers.parser import decompress
    from workers.poison import TOPIC
    from workers.settings import ParserSettings

    value, encoding = record.value or b"", record.header(ENCODING_HEADER) or "identity"
    if record.header(TOPIC) != "papers" or record.header("reflink-content") == "pointer" or not value:
        return value, "identity"
    try:
        return decompress(value, encoding, ParserSettings.model_fields["max_paper_bytes"].default), encoding
    except ReflinkError as error:
        return value, f"not as its header says: {error}"


def _unknown(offsets: Sequence[int]) -> int:
    missing = ", ".join(map(str, offsets))
    print(
        f"reflink-worker: no dead letter at offset {missing}: `reflink-worker dead-letters list --all` shows them",
        file=sys.stderr,
    )
    return 2


def _choose(arguments: argparse.Namespace, letters: Sequence[DeadLetter]) -> tuple[list[DeadLetter], int]:
    """The open ones that were asked for, and the exit code so far. Raises nothing; says what is wrong."""
    filtered = any(getattr(arguments, name) is not None for name in ("topic", "reason", "worker", "since"))
    if bool(arguments.offsets) == (arguments.all or filtered):
        print("reflink-worker: name offsets, or --all or filters, and not both", file=sys.stderr)
        return [], 2
    known = {letter.offset: letter for letter in letters}
    if missing := [offset for offset in arguments.offsets if offset not in known]:
        return [], _unknown(missing)
    named = [known[offset] for offset in dict.fromkeys(arguments.offsets)]
    for letter in named:
        if letter.resolution is not None:
            print(f"reflink-worker: dead letter {letter.offset} was {letter.resolution} already", file=sys.stderr)
    chosen = named or [letter for letter in letters if _fits(letter, arguments)]
    still = [letter for letter in chosen if letter.resolution is None]
    return still, int(len(still) < len(named))


def _replay(arguments: argparse.Namespace) -> int:
    from workers.deadletters import Resolver, read
    from workers.progress import counting

    if arguments.value is not None and len(arguments.offsets) != 1:
        print("reflink-worker: --value needs exactly one offset", file=sys.stderr)
        return 2
    value = None if arguments.value is None else arguments.value.read_bytes()
    settings = _settings()
    if arguments.dry_run:
        return _dry_run(arguments, read(settings), "would be replayed")
    with Resolver(settings) as resolver:  # before reading: what another command has not committed is aborted
        chosen, code = _choose(arguments, read(settings))
        if code == 2:
            return code
        with counting("dead letters", quiet=arguments.quiet, total=len(chosen)) as progress:
            count, failed = resolver.replay([letter.offset for letter in chosen], value=value, done=progress)
    for error in failed:
        print(f"reflink-worker: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"{count} replayed" + (f", {len(failed)} could not be" if failed else ""))
    return 1 if failed else code


def _drop(arguments: argparse.Namespace) -> int:
    from workers.deadletters import Resolver, read

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
