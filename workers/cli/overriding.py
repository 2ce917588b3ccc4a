"""The commands of curators: override pin, nothing, forbid, lift, list, apply."""

from __future__ import annotations

import argparse
import getpass
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workers import settings as configuration
from workers.cli.command import AddCommand, add_verbs, ended_by_sigterm
from workers.settings import KafkaSettings

if TYPE_CHECKING:
    from schemas import LinkEvent, OverrideEvent

_EPILOG: Final = """\
An override is a curator's word on one reference, and wins over every judgement, past and to come, until it is lifted or
replaced by another one. It holds for the reference's id, over versions of its paper. The link that follows says so in its
field `curated`. A reference's id is the key of its link: paper, #, name. docs/curating.md says more.

  reflink-worker override pin 'doi:10.5555/a.paper#B12.1' doi:10.1000/182 --reason "misprinted year" --wait 60
  reflink-worker override nothing 'doi:10.5555/a.paper#B3.1' --reason "a personal communication"
  reflink-worker override forbid 'doi:10.5555/a.paper#B4.1' pmid:123 --reason "the erratum, not the article"
  reflink-worker override list --citing doi:10.5555/a.paper --json
  reflink-worker override lift 'doi:10.5555/a.paper#B12.1'
  reflink-worker override apply overrides.jsonl               a JSON object a line, as `list --json` writes them

Before it writes, it looks the reference up in the topic links, and reads one partition of it to the end; --unknown writes
without looking, e.g. before the paper comes.

Exit codes: 0 done, 1 not done, or not seen within --wait, 2 usage or what cannot be meant: nothing was written;
143 ended by SIGTERM, else as the workers'.
"""


def add_to(command: AddCommand) -> None:
    """Adds override."""
    parser = command("override", "say what a reference cites, or does not, against every judgement", lambda _: 2)
    parser.epilog, parser.formatter_class = _EPILOG, argparse.RawDescriptionHelpFormatter
    verb = add_verbs(parser)

    pin = verb("pin", "it cites this work, whether the catalog has it or not", _said)
    _add_reference(pin)
    pin.add_argument("work", metavar="WORK", help="its id: doi:…, pmid:…, pmcid:…, arxiv:…, or as its source calls it")
    nothing = verb("nothing", "it cites no work", _said)
    _add_reference(nothing)
    forbid = verb("forbid", "it does not cite these works, whatever else it may", _said)
    _add_reference(forbid)
    forbid.add_argument("forbidden", nargs="+", metavar="WORK", help="ids of works")
    forbid.add_argument("--only", action="store_true", help="these alone, and no more what was said before")
    for each in (pin, nothing, forbid):
        each.add_argument("--reason", required=True, metavar="TEXT", help="why; it stands in the link")
        _add_by(each)
        _add_unknown(each)
    for each in (pin, forbid):
        each.add_argument("--force", action="store_true", help="also its own paper, or an id that does not look like one")
    lift = verb("lift", "take an override back; the reference is judged again", _lift)
    _add_reference(lift)
    for each in (pin, nothing, forbid, lift):
        each.add_argument("--wait", type=float, metavar="SECONDS", help="wait so long at most until the link shows it")
        _add_output(each, "the override and its link as an object")
    listing = verb("list", "overrides that hold", _list)
    listing.add_argument("--citing", metavar="PAPER", help="of this paper alone")
    _add_output(listing, "an object a line, as `apply` takes them")
    apply = verb("apply", "many overrides at once; all are checked before the first is written", _apply)
    apply.add_argument("file", type=Path, metavar="FILE", help="a JSON object a line: reference, reason, and one of pinned, "
                       "nothing, forbidden; by if it is not you. It replaces what was said of the reference")  # fmt: skip
    _add_by(apply)
    _add_unknown(apply)
    apply.add_argument("--force", action="store_true", help="also own papers, and ids that do not look like ones")
    _add_output(apply, "counts as an object")


def _add_reference(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="REFERENCE", help="its id, as the key of its link: PAPER#NAME")


def _add_by(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--by", default=_user(), metavar="NAME", help="who says so (default: your user name)")


def _add_unknown(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--unknown", action="store_true", help="do not look whether there is such a reference")


def _add_output(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--prefix", help="of the topics (default: REFLINK_TOPIC_PREFIX)")
    parser.add_argument("--json", action="store_true", help=what)
    parser.add_argument("--quiet", action="store_true", help="no progress")


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in many images
        return None


def _settings(arguments: argparse.Namespace) -> KafkaSettings:
    from workers import logs

    settings = configuration.read(KafkaSettings)
    logs.set_up("WARNING", worker="override")
    logging.getLogger("kafka.net.selector").setLevel(logging.ERROR)  # it complains when reading all at once keeps its loop
    return settings if arguments.prefix is None else settings.model_copy(update={"topic_prefix": arguments.prefix})


def _refused(error: Exception) -> int:
    print(f"reflink-worker: {type(error).__name__}: {error}", file=sys.stderr)
    return 2


def _said(arguments: argparse.Namespace) -> int:
    from workers.curating import BadOverride, Curator, made, partitions_of, read_overrides

    pinned: str | None = getattr(arguments, "work", None)
    forbidden: list[str] = getattr(arguments, "forbidden", [])
    said: dict[str, Any] = {
        "reason": arguments.reason,
        "by": arguments.by,
        "pinned": pinned,
        "nothing": pinned is None and not forbidden,
        "force": getattr(arguments, "force", False),
    }
    try:
        event = made(arguments.reference, forbidden=forbidden, **said)
        settings = _settings(arguments)
        partitions = partitions_of(settings)
        with ended_by_sigterm():
            before = read_overrides(settings, partitions, event.citing).get(event.reference)
            if forbidden and not arguments.only and before is not None:
                if not before.forbidden:
                    raise BadOverride(f"{event.reference}: {_what(before)} already: --only to forbid works instead")
                event = made(arguments.reference, forbidden=(*before.forbidden, *event.forbidden), **said)
            link = _looked_up(arguments, settings, partitions, [event.reference])[event.reference]
            return _written(arguments, Curator(settings, partitions), event.reference, event, before, link)
    except BadOverride as error:
        return _refused(error)


def _looked_up(
    arguments: argparse.Namespace, settings: KafkaSettings, partitions: int, references: list[str]
) -> dict[str, LinkEvent | None]:
    """The links as they are. Raises BadOverride for references that there are not, but with --unknown."""
    from workers.curating import BadOverride, find_links
    from workers.progress import counting

    if arguments.unknown:
        return dict.fromkeys(references)
    with counting("offsets of links read", quiet=arguments.quiet) as show:
        found = dict(find_links(settings, partitions, references, lambda read, _: show(read)))
    if missing := [reference for reference, link in found.items() if link is None]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise BadOverride(
            f"{settings.topic('links')} has no reference {missing[0]}{more}: see its paper's keys, or --unknown if the paper "
            "is yet to come"
        )
    return found


def _lift(arguments: argparse.Namespace) -> int:
    from workers.curating import BadOverride, Curator, partitions_of, read_overrides, reference_id

    try:
        reference = reference_id(arguments.reference)
        settings = _settings(arguments)
        partitions = partitions_of(settings)
        with ended_by_sigterm():
            before = read_overrides(settings, partitions, reference.partition("#")[0]).get(reference)
            if before is None:
                raise BadOverride(f"there is no override on {reference}: `reflink-worker override list` shows those that hold")
            return _written(arguments, Curator(settings, partitions), reference, None, before, None)
    except BadOverride as error:
        return _refused(error)


def _written(
    arguments: argparse.Namespace, curator: Any, reference: str, event: OverrideEvent | None, before: OverrideEvent | None,
    link: LinkEvent | None,
) -> int:  # fmt: skip
    import orjson

    shown = None
    if arguments.wait is not None:
        shown = curator.write_and_wait(reference, event, arguments.wait)
    else:
        curator.write([(reference, event)])
    if arguments.json:
        told = {"override": event, "before": before, "link_before": link, "link": shown}
        as_json = {name: None if each is None else each.to_dict() for name, each in told.items()}
        print(orjson.dumps({"reference": reference, **as_json}).decode())
    else:
        print(f"{reference}: {'lifted' if event is None else _what(event)}")
        if before is not None:
            print(f"  before: {_what(before)}, {_by(before)}")
        if link is not None and link.link.cited != getattr(event, "pinned", None):
            print(f"  linked so far: {link.link.cited or 'to none, ' + str(link.link.unresolved)}")
        if shown is not None:
            print(f"  its link now: {shown.link.cited or 'none, ' + str(shown.link.unresolved)}")
    if arguments.wait is not None and shown is None:
        print(
            f"reflink-worker: written, but the link did not show it within {arguments.wait:g} s: does the ledger run, and has "
            "its paper come?",
            file=sys.stderr,
        )
        return 1
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from workers.curating import partitions_of, read_overrides

    settings = _settings(arguments)
    found = read_overrides(settings, partitions_of(settings), arguments.citing)
    for reference in sorted(found):
        event = found[reference]
        print(event.to_json().decode() if arguments.json else f"{reference}  {_what(event)}  {_by(event)}: {event.reason}")
    if not arguments.json:
        print(f"{len(found)} overrides")
    return 0


def _apply(arguments: argparse.Namespace) -> int:
    import json

    from workers.curating import BadOverride, Curator, from_line, partitions_of
    from workers.progress import counting

    events: dict[str, OverrideEvent] = {}
    bad = 0
    for number, line in enumerate(arguments.file.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            event = from_line(line, by=arguments.by, force=arguments.force)
            if event.reference in events:
                raise BadOverride(f"{event.reference} is there twice")
            events[event.reference] = event
        except BadOverride as error:
            bad += 1
            print(f"reflink-worker: {arguments.file}:{number}: {error}", file=sys.stderr)
    if bad:
        print(f"reflink-worker: {bad} lines cannot be meant: nothing was written", file=sys.stderr)
        return 2
    settings = _settings(arguments)
    partitions = partitions_of(settings)
    with ended_by_sigterm():
        try:
            if events:
                _looked_up(arguments, settings, partitions, list(events))
        except BadOverride as error:
            return _refused(error)
        with counting("overrides", quiet=arguments.quiet, total=len(events)) as show:
            Curator(settings, partitions).write(list(events.items()), show)
    print(json.dumps({"written": len(events)}) if arguments.json else f"{len(events)} overrides written")
    return 0


def _what(event: OverrideEvent) -> str:
    if event.pinned is not None:
        return f"pinned to {event.pinned}"
    return "cites nothing" if event.nothing else f"forbidden {', '.join(event.forbidden)}"


def _by(event: OverrideEvent) -> str:
    at = datetime.fromtimestamp(event.at / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    return f"{at} {event.by}" if event.by else at
