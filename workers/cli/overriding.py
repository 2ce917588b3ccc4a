"""The command ``override`` of curators, with subcommands ``pin``, ``nothing``, ``forbid``, ``lift``, ``list`` and ``apply``."""

from __future__ import annotations

import argparse
import getpass
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reflink.terminal import complain, one_line
from workers.cli.command import AddCommand, add_commands, add_output, ended_by_sigterm, report, settings_of, tool_logs
from workers.config.settings import KafkaSettings

if TYPE_CHECKING:
    from schemas import LinkEvent, OverrideEvent

_EPILOG: Final = """\
An override is a curator's decision for one reference. It outranks all outcomes until it is lifted or replaced. It applies to
the reference's id, in all versions of its paper. The resulting link has the override in its field `curated`. A reference's
id is the key of its link: PAPER#NAME. See docs/curating.md.

  reflink-worker override pin 'doi:10.5555/a.paper#B12.1' doi:10.1000/182 --reason "misprinted year" --wait 60
  reflink-worker override nothing 'doi:10.5555/a.paper#B3.1' --reason "a personal communication"
  reflink-worker override forbid 'doi:10.5555/a.paper#B4.1' pmid:123 --reason "the erratum, not the article"
  reflink-worker override list --citing doi:10.5555/a.paper --json
  reflink-worker override lift 'doi:10.5555/a.paper#B12.1'
  reflink-worker override apply overrides.jsonl               a JSON object per line, as from `list --json`

Before writing, the command looks the reference up in one partition of the topic links. With --unknown it does not, e.g.
because the paper has not arrived yet.

Exit codes: 0 done, 1 failed, or the link does not show the override within --wait, 2 usage or an invalid override: nothing
was written; 143 ended by SIGTERM, else as the workers'.
"""


def add_to(command: AddCommand) -> None:
    """Add the command ``override``."""
    parser = command("override", "decide what references cite, instead of the workers", lambda _: 2, _EPILOG)
    verb = add_commands(parser)

    pin = verb("pin", "the reference cites this work, which the catalog need not have", _decide)
    _add_reference(pin)
    pin.add_argument("work", metavar="WORK", help="id of the work: doi:…, pmid:…, pmcid:…, arxiv:…, or an id of its source")
    nothing = verb("nothing", "the reference cites no work", _decide)
    _add_reference(nothing)
    forbid = verb("forbid", "the reference does not cite these works", _decide)
    _add_reference(forbid)
    forbid.add_argument("forbidden", nargs="+", metavar="WORK", help="ids of works")
    forbid.add_argument("--only", action="store_true", help="replace the present override instead of adding to it")
    for each in (pin, nothing, forbid):
        each.add_argument("--reason", required=True, metavar="TEXT", help="the reason, which the link contains")
        _add_by(each)
        _add_unknown(each)
    for each in (pin, forbid):
        each.add_argument("--force", action="store_true", help="allow the reference's own paper, and ids of unusual form")
    lift = verb("lift", "remove an override; the reference is re-evaluated", _lift)
    _add_reference(lift)
    for each in (pin, nothing, forbid, lift):
        each.add_argument(
            "--wait", type=float, metavar="SECONDS", help="wait until the link shows the override, at most this long"
        )
        add_output(each, "print the override and its link as a JSON object")
    listing = verb("list", "list overrides in force, and refused ones", _list)
    listing.add_argument("--citing", metavar="PAPER", help="only of this paper")
    add_output(listing, "print one JSON object per line, for `apply`")
    apply = verb("apply", "write the overrides of a file, after checking all of them", _apply)
    apply.add_argument("file", type=Path, metavar="FILE", help="a JSON object per line: reference, reason, one of pinned, "
                       "nothing, forbidden, and optionally by. It replaces the present override")  # fmt: skip
    _add_by(apply)
    _add_unknown(apply)
    apply.add_argument("--force", action="store_true", help="allow own papers, and ids of unusual form")
    add_output(apply, "print counts as a JSON object")


def _add_reference(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="REFERENCE", help="id of the reference: PAPER#NAME")


def _add_by(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--by", default=_user(), metavar="NAME", help="the curator (default: your user name)")


def _add_unknown(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--unknown", action="store_true", help="do not check that the reference exists")


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user id without a name, as in many container images
        return None


def _settings(arguments: argparse.Namespace) -> KafkaSettings:
    tool_logs("override", quiet=True)
    return settings_of(arguments, KafkaSettings)


def _refused(error: Exception) -> int:
    report(error)
    return 2


def _decide(arguments: argparse.Namespace) -> int:
    from workers.tools.overrides import BadOverride, Curator, made, partitions_of, read_overrides

    pinned: str | None = getattr(arguments, "work", None)
    forbidden: list[str] = getattr(arguments, "forbidden", [])
    fields: dict[str, Any] = {
        "reason": arguments.reason,
        "by": arguments.by,
        "pinned": pinned,
        "nothing": pinned is None and not forbidden,
        "force": getattr(arguments, "force", False),
    }
    try:
        event = made(arguments.reference, forbidden=forbidden, **fields)
        settings = _settings(arguments)
        partitions = partitions_of(settings)
        with ended_by_sigterm():
            before = read_overrides(settings, partitions, event.citing).get(event.reference)
            if forbidden and not arguments.only and before is not None:
                if not before.forbidden:
                    raise BadOverride(f"{event.reference}: {_decision(before)} already: --only to forbid works instead")
                event = made(arguments.reference, forbidden=(*before.forbidden, *event.forbidden), **fields)
            link = _looked_up(arguments, settings, partitions, [event.reference])[event.reference]
            return _written(arguments, Curator(settings, partitions), event.reference, event, before, link)
    except BadOverride as error:
        return _refused(error)


def _looked_up(
    arguments: argparse.Namespace, settings: KafkaSettings, partitions: int, references: list[str]
) -> dict[str, LinkEvent | None]:
    """Return the current links; with --unknown only None. Raises BadOverride for references that the topic links lacks."""
    from workers.cli.progress import counting
    from workers.tools.overrides import BadOverride, find_links

    if arguments.unknown:
        return dict.fromkeys(references)
    with counting("offsets of links read", quiet=arguments.quiet) as show:
        found = dict(find_links(settings, partitions, references, lambda read, _: show(read)))
    if missing := [reference for reference, link in found.items() if link is None]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise BadOverride(
            f"{settings.topic('links')} has no reference {missing[0]}{more}: check the keys of its paper, or use --unknown "
            "before the paper arrives"
        )
    return found


def _lift(arguments: argparse.Namespace) -> int:
    from workers.tools.overrides import BadOverride, Curator, list_overrides, partitions_of, reference_id

    try:
        reference = reference_id(arguments.reference)
        settings = _settings(arguments)
        partitions = partitions_of(settings)
        with ended_by_sigterm():
            listed, curator = list_overrides(settings, partitions), Curator(settings, partitions)
            before = listed.holding.get(reference)
            refused = [each for each in listed.refused if each.key == reference.encode()]
            if before is None and not refused:
                raise BadOverride(f"{reference} has no override: `reflink-worker override list` shows all")
            curator.remove(refused)
            for each in refused:
                print(
                    one_line(f"{reference}: removed a refused override from partition {each.partition}"),
                    file=sys.stderr if arguments.json else sys.stdout,
                )
            return 0 if before is None else _written(arguments, curator, reference, None, before, None)
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
        events = {"override": event, "before": before, "link_before": link, "link": shown}
        as_json = {name: None if each is None else each.to_dict() for name, each in events.items()}
        print(orjson.dumps({"reference": reference, **as_json}).decode())
    else:
        print(one_line(f"{reference}: {'lifted' if event is None else _decision(event)}"))
        if before is not None:
            print(one_line(f"  before: {_decision(before)}, {_by(before)}"))
        if link is not None and link.link.cited != getattr(event, "pinned", None):
            print(one_line(f"  previous link: {link.link.cited or 'none, ' + str(link.link.unresolved)}"))
        if shown is not None:
            print(one_line(f"  link now: {shown.link.cited or 'none, ' + str(shown.link.unresolved)}"))
    if arguments.wait is not None and shown is None:
        complain(
            f"reflink-worker: written, but the link does not show it after {arguments.wait:g} s: check that the ledger "
            "runs and that the paper has arrived",
        )
        return 1
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from workers.tools.overrides import list_overrides, partitions_of

    settings = _settings(arguments)
    listed = list_overrides(settings, partitions_of(settings)).of(arguments.citing)
    for reference, event in sorted(listed.holding.items()):
        line = event.to_json().decode() if arguments.json else f"{reference}  {_decision(event)}  {_by(event)}: {event.reason}"
        print(one_line(line))
    for each in listed.refused:
        if arguments.json:  # stdout contains only lines that `apply` accepts
            complain(f"reflink-worker: {each.reference} is refused: {each.reason}")
        else:
            print(one_line(f"{each.reference}  REFUSED: {each.reason}"))
    if not arguments.json:
        print(f"{len(listed.holding)} overrides" + (f", {len(listed.refused)} refused" if listed.refused else ""))
    return 0


def _apply(arguments: argparse.Namespace) -> int:
    import json

    from workers.cli.progress import counting
    from workers.tools.overrides import BadOverride, Curator, from_line, partitions_of

    events: dict[str, OverrideEvent] = {}
    bad = 0
    for number, line in enumerate(arguments.file.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            event = from_line(line, by=arguments.by, force=arguments.force)
            if event.reference in events:
                raise BadOverride(f"{event.reference} occurs twice")
            events[event.reference] = event
        except BadOverride as error:
            bad += 1
            complain(f"reflink-worker: {arguments.file}:{number}: {error}")
    if bad:
        complain(f"reflink-worker: {bad} invalid lines: nothing was written")
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


def _decision(event: OverrideEvent) -> str:
    if event.pinned is not None:
        return f"pinned to {event.pinned}"
    return "cites nothing" if event.nothing else f"forbidden {', '.join(event.forbidden)}"


def _by(event: OverrideEvent) -> str:
    at = datetime.fromtimestamp(event.at / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    return f"{at} {event.by}" if event.by else at
