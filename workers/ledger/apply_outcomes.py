"""Rules by which the ledger handles an event of ``outcomes``: pure functions of the event and the published state.

1. Order: of two outcomes of a reference, the one with the higher paper version counts, then the one with the higher catalog
   offset, in whatever order they arrive. If both are equal, an outcome that took the current override into account
   outranks one that did not; otherwise the later one counts.
2. Older versions: an outcome of an older version counts for the newest version if the text of the reference is the same. The
   ledger knows that once the newest version's own outcome has arrived and changed nothing.
3. Completeness: if an outcome missed the current override, or a change of the catalog that propagation has already passed,
   the ledger requests a re-evaluation. Propagation (change_propagation.py) compares it with all later changes. If it was
   decided before the last sweep began, another sweep follows (sweep.py).
"""

from __future__ import annotations

from typing import Final

from reflink.entities import Reference
from schemas import SCHEMA_VERSION, CatalogEvent, LinkEvent, ManifestEvent, Outcome, OutcomesEvent, OverrideEvent
from schemas.links import PaperState
from workers.ledger.absence import count
from workers.ledger.override_rules import curated, effective, follows_pin
from workers.ledger.papers import KnownPaper, version_of
from workers.ledger.reevaluation import request
from workers.ledger.stores.key_index import event_keys
from workers.ledger.sweep import note_arrival
from workers.ledger.transaction import LedgerTransaction
from workers.records import Message
from workers.stage import Output

#: The smallest change of a probability that is published if nothing else has changed.
MIN_CHANGE: Final = 0.01


def apply_manifest(manifest: ManifestEvent, ledger: LedgerTransaction) -> None:
    """Record the paper's newest version, enter it in the catalog, and publish tombstones for its removed references."""
    citing = manifest.citing
    paper = ledger.paper(citing)
    known = None if paper is None else paper.state
    if known is not None and manifest.paper_version < known.paper_version:
        ledger.count("late")
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
    if manifest.offered:  # also for the same version: it may have been parsed better
        _enter(manifest, ledger.output)
    if state == known:
        return
    for reference in sorted(set(known.references if known else ()) - set(manifest.references)):
        if ledger.remove(reference, citing):
            ledger.count("gone")
    ledger.put_paper(KnownPaper.of(state))


def _enter(manifest: ManifestEvent, output: Output) -> None:
    """Write the paper to ``catalog`` as a work; if it is withdrawn, write an event with the reason, then a tombstone."""
    key = manifest.citing.encode()
    if manifest.work is not None:
        event = CatalogEvent(schema_version=SCHEMA_VERSION, work=manifest.work)
        output.messages.append(Message("catalog", manifest.work.id.encode(), event.to_json()))
    elif manifest.withdrawn:
        event = CatalogEvent(schema_version=SCHEMA_VERSION, withdrawn="its source withdrew the paper")
        output.messages += [Message("catalog", key, event.to_json()), Message("catalog", key, None)]


def apply_outcomes(event: OutcomesEvent, ledger: LedgerTransaction) -> None:
    """Publish each outcome that is newer than the current one and differs from it.

    Request a re-evaluation of an outcome that missed the override, or a change which concerns it and is already propagated.
    """
    paper = ledger.paper(event.citing)
    version = max(event.paper_version, 0 if paper is None else paper.state.paper_version)
    kept: set[int] = set()
    accepted: list[Outcome] = []
    propagated = ledger.cursor().untouched
    for item in event.items:
        before = ledger.link(item.reference.id)
        before_version = 0 if before is None else version_of(before, paper)
        if paper is not None and item.reference.id not in paper.positions:
            ledger.count("late")
            continue
        override = ledger.override(item.reference.id)
        same_text = before is not None and before_version == version and same_reference(item.reference, before.reference)
        if event.paper_version < version and not same_text:
            ledger.count("late")
            continue
        link = _link_event(event, item, version, override, before)
        if link is None or (before is not None and _is_newer(before, before_version, link, override)):
            ledger.count("late")
            continue
        accepted.append(item)
        if before is None or not same_outcome(before, link):
            ledger.count("published")
            observed = ledger.output.observed
            observed.arrivals.append((event.arrived, event.live))
            if event.woken:
                observed.woken.append(event.woken)
            ledger.publish(link)
        else:
            ledger.count("unchanged")
            # Keep the published link: the next outcome is compared with it, so small changes cannot add up unpublished.
            ledger.store_link(link.model_copy(update={"link": before.link}))
            if before_version < version and paper is not None:
                kept.add(paper.positions[link.reference.id])
        _complete(link, _applied(item, override), propagated, ledger)
    if accepted:
        note_arrival(event.catalog_offset, ledger)
        count(event, accepted, ledger)
    if kept and paper is not None:
        ledger.put_paper(paper.keeping(kept))


def same_outcome(before: LinkEvent, after: LinkEvent) -> bool:
    """Return whether two outcomes agree in work and its ids, reason, method, status, related work, override and text.

    Probabilities agree if they differ by less than MIN_CHANGE.
    """
    old, new = before.link, after.link
    if any(getattr(old, name) != getattr(new, name) for name in ("cited", "unresolved", "method", "status", "related")):
        return False
    ours = (before.curated, before.forbidden, before.aliases, before.shared)
    if ours != (after.curated, after.forbidden, after.aliases, after.shared) or not same_reference(
        before.reference, after.reference
    ):
        return False
    if old.probability is None or new.probability is None:
        return old.probability == new.probability
    return abs(old.probability - new.probability) < MIN_CHANGE


def same_reference(one: Reference, other: Reference) -> bool:
    """Return whether two references differ at most in position and label, which no evaluation uses."""
    return one == other.model_copy(update={"position": one.position, "label": one.label})


def _applied(decided: Outcome | LinkEvent, override: OverrideEvent | None) -> bool:
    """Return whether the evaluation took the works into account that the override pins or forbids, if there are any."""
    if override is not None and override.pinned is not None:
        return decided.pinned == override.pinned if isinstance(decided, Outcome) else follows_pin(decided, override)
    return override is None or not override.forbidden or decided.forbidden == override.forbidden


def _is_newer(before: LinkEvent, version: int, link: LinkEvent, override: OverrideEvent | None) -> bool:
    """Return whether the published outcome, which holds for ``version``, is newer than ``link``.

    If version and offset are equal, the outcome that took the override into account is newer, otherwise the later one.
    """
    old = (version, before.catalog_offset, _applied(before, override))
    return old > (link.paper_version, link.catalog_offset, _applied(link, override))


def _complete(link: LinkEvent, override_applied: bool, propagated: int, ledger: LedgerTransaction) -> None:
    """Request a re-evaluation if the outcome missed the override, or a change below ``propagated`` that concerns it."""
    catalog = ledger.catalog
    if not override_applied:
        # Once per catalog offset, because a linker of an older version never applies the override.
        sufficient = max(catalog.offset, link.catalog_offset)
        request(link, sufficient, ledger, cause="override", sufficient=sufficient)
        return
    # Propagation will process the changes from ``propagated`` on.
    if link.catalog_offset >= propagated:
        return
    if catalog.offset < propagated:  # the ledger got the partition from one that has read more: those changes are unknown here
        changed: int | None = propagated - 1
    else:
        changed = catalog.changed_since(event_keys(link), link.catalog_offset)
    if changed is not None:
        arrived = next((change.arrived for change in catalog.changes(changed, 1) if change.offset == changed), 0)
        request(link, changed + 1, ledger, cause="late", arrived=arrived, sufficient=changed + 1)


def _link_event(
    event: OutcomesEvent, item: Outcome, version: int, override: OverrideEvent | None, before: LinkEvent | None
) -> LinkEvent | None:
    """Return the outcome as it is to be published; None if it was decided under an override that no longer holds."""
    pinned = None if override is None else override.pinned
    if not set(item.forbidden) <= set(() if override is None else override.forbidden) or item.pinned not in (None, pinned):
        return None  # a re-evaluation was requested when the override was lifted
    link, aliases, shared = item.link, item.aliases, item.shared
    if pinned is not None and item.pinned is None and before is not None and follows_pin(before, override):
        link, aliases, shared = before.link, before.aliases, before.shared
    elif item.pinned is None and (changed := effective(link, aliases, override)) is not link:
        link, aliases, shared = changed, (), False
    return LinkEvent(
        schema_version=SCHEMA_VERSION,
        citing=event.citing,
        paper_version=version,
        arrived=event.arrived,
        live=event.live,
        woken=event.woken,
        model=event.model,
        policy=event.policy,
        absent=event.absent,
        catalog_offset=event.catalog_offset,
        judged=event.judged,
        link=link,
        reference=item.reference,
        curated=curated(override),
        forbidden=item.forbidden,
        aliases=aliases,
        shared=shared,
    )
