"""What the ledger makes of an event of ``outcomes``: pure functions of the event and of what is published.

Of two outcomes of a reference the one of the higher paper version counts, then that of the higher catalog offset, whatever
order they come in; of two equal in both, the later one. An outcome of an older version counts for the newest one where the
reference's text is the same, which the ledger knows once the newest version's own outcome has come and changed nothing.
"""

from __future__ import annotations

from typing import Final

from reflink.entities import Reference
from schemas import SCHEMA_VERSION, CatalogEvent, LinkEvent, ManifestEvent, Outcome, OutcomesEvent, OverrideEvent
from schemas.links import PaperState
from workers.ledger.asking import ask, publish
from workers.ledger.indexing import hashed_keys
from workers.ledger.overriding import curated, effective
from workers.ledger.view import LedgerView, version_of
from workers.stage import Message, Output

#: How far a probability must move to be published for its own sake.
MOVED: Final = 0.01


def take_manifest(partition: int, manifest: ManifestEvent, view: LedgerView, output: Output) -> None:
    """Remembers the paper's newest version and enters it in the catalog; references that it no longer has get a tombstone."""
    citing = manifest.citing
    known = view.state(partition, citing, output)
    if known is not None and manifest.paper_version < known.paper_version:
        output.observed.decisions["late"] += 1
        return
    state = PaperState(
        schema_version=SCHEMA_VERSION,
        citing=citing,
        paper_version=manifest.paper_version,
        references=manifest.references,
        withdrawn=manifest.withdrawn,
        offered=manifest.offered,
    )
    if known is not None and known.paper_version == state.paper_version and known.references == state.references:
        state = state.model_copy(update={"kept": known.kept})
    if manifest.offered:  # the same version too: it may have been parsed better
        enter(manifest, output)
    if state == known:
        return
    for reference in sorted(set(known.references if known else ()) - set(manifest.references)):
        if view.get((partition, "links", reference), output) is not None:
            output.messages.append(Message("links", reference.encode(), None, partition_key=citing.encode()))
            output.writes[partition, "links", reference] = None
            output.observed.decisions["gone"] += 1
    remember(partition, state, output)


def enter(manifest: ManifestEvent, output: Output) -> None:
    """The paper as a target; a withdrawn one leaves with its reason, then a tombstone."""
    key = manifest.citing.encode()
    if manifest.work is not None:
        event = CatalogEvent(schema_version=SCHEMA_VERSION, work=manifest.work)
        output.messages.append(Message("catalog", manifest.work.id.encode(), event.to_json()))
    elif manifest.withdrawn:
        event = CatalogEvent(schema_version=SCHEMA_VERSION, withdrawn="its source withdrew the paper")
        output.messages += [Message("catalog", key, event.to_json()), Message("catalog", key, None)]


def remember(partition: int, state: PaperState, output: Output) -> None:
    """The paper's state, to ``manifests`` and to the store."""
    value = state.to_json()
    output.messages.append(Message("manifests", state.citing.encode(), value))
    output.writes[partition, "manifests", state.citing] = value


def take_outcomes(partition: int, event: OutcomesEvent, view: LedgerView, output: Output) -> None:
    """Publishes each outcome that is newer than what is known and says something else.

    One that was judged before a change of the catalog that concerns it, and that waking has passed, is asked for again.
    """
    state = view.state(partition, event.citing, output)
    positions = {} if state is None else {reference: position for position, reference in enumerate(state.references)}
    kept: set[int] = set()
    untouched = view.untouched(partition)
    for item in event.items:
        before = view.link(partition, item.reference.id, output)
        held = 0 if before is None else version_of(before, state)
        if state is not None and item.reference.id not in positions:
            output.observed.decisions["late"] += 1
            continue
        override = view.override(partition, item.reference.id, output)
        version = max(event.paper_version, 0 if state is None else state.paper_version)
        same_text = before is not None and held == version and reads_the_same(item.reference, before.reference)
        if event.paper_version < version and not same_text:
            output.observed.decisions["late"] += 1
            continue
        link = _link_event(event, item, version, override, view)
        if link is None or (before is not None and _is_newer(before, held, link, override)):
            output.observed.decisions["late"] += 1
            continue
        if before is None or not says_the_same(before, link):
            output.observed.decisions["published"] += 1
            output.observed.arrivals.append((event.arrived, event.live))
            if event.woken:
                output.observed.woken.append(event.woken)
            publish(partition, link, output)
        else:
            output.observed.decisions["unchanged"] += 1
            # With the judgement that readers know, which the next one is compared with: small steps must not add up unseen.
            known = link.model_copy(update={"link": before.link})
            output.writes[partition, "links", link.reference.id] = known.to_json()
            if held < version and state is not None:
                kept.add(positions[link.reference.id])
        _look_after(partition, link, _knew(item, override), untouched, view, output)
    if kept and state is not None:
        remember(partition, state.model_copy(update={"kept": tuple(sorted({*state.kept, *kept}))}), output)


def says_the_same(before: LinkEvent, after: LinkEvent) -> bool:
    """Whether publishing ``after`` would tell a reader of links nothing."""
    old, new = before.link, after.link
    if (old.cited, old.unresolved, old.method, old.status) != (new.cited, new.unresolved, new.method, new.status):
        return False
    if (before.curated, before.forbidden) != (after.curated, after.forbidden) or not reads_the_same(
        before.reference, after.reference
    ):
        return False
    if old.probability is None or new.probability is None:
        return old.probability == new.probability
    return abs(old.probability - new.probability) < MOVED


def reads_the_same(one: Reference, other: Reference) -> bool:
    """Whether two are the same but for where they stand in the bibliography, which no judgement looks at."""
    return one == other.model_copy(update={"position": one.position, "label": one.label})


def _knew(judged: Outcome | LinkEvent, override: OverrideEvent | None) -> bool:
    """Whether it was judged without the works that are forbidden, if any are."""
    return override is None or not override.forbidden or judged.forbidden == override.forbidden


def _is_newer(before: LinkEvent, held: int, link: LinkEvent, override: OverrideEvent | None) -> bool:
    """Whether what is published, and holds for version ``held``, is newer than ``link``.

    Of two that are equal in version and offset the one that knew the override is, else the later one.
    """
    old = (held, before.catalog_offset, _knew(before, override))
    return old > (link.paper_version, link.catalog_offset, _knew(link, override))


def _look_after(partition: int, link: LinkEvent, knew: bool, untouched: int, view: LedgerView, output: Output) -> None:
    """Asks again where the judgement did not know what it should have: the override, or a change below ``untouched``."""
    if not knew:
        # Once for each state of the catalog: a linker of an older version never heeds it.
        enough = max(view.works.offset, link.catalog_offset)
        ask(partition, link, enough, view, output, why="override", enough=enough)
        return
    # What is not passed yet will be seen by waking.
    if link.catalog_offset >= untouched:
        return
    keys = hashed_keys(link.reference, link.link.cited, *link.forbidden)
    changed = view.works.changed_since(keys, link.catalog_offset)
    if changed is not None:
        arrived = next((change.arrived for change in view.works.changes(changed, 1)), 0)
        ask(partition, link, changed + 1, view, output, why="late", woken=arrived, enough=changed + 1)


def _link_event(
    event: OutcomesEvent, item: Outcome, version: int, override: OverrideEvent | None, view: LedgerView
) -> LinkEvent | None:
    """As it is to be published; None where it was judged under an override that holds no more."""
    if not set(item.forbidden) <= set(() if override is None else override.forbidden):
        return None  # when it was lifted, another judgement was asked for
    return LinkEvent(
        schema_version=SCHEMA_VERSION,
        citing=event.citing,
        paper_version=version,
        arrived=event.arrived,
        live=event.live,
        woken=event.woken,
        model=event.model,
        policy=event.policy,
        catalog_offset=event.catalog_offset,
        judged=event.judged,
        link=effective(item.link, override, view.works),
        reference=item.reference,
        curated=curated(override),
        forbidden=item.forbidden,
    )
