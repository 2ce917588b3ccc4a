"""Overrides: how a curator's decision changes an outcome. This module does not use Kafka.

An override outranks every earlier and later outcome. It is applied when an outcome arrives and when the override arrives, so
their order does not matter.
"""

from __future__ import annotations

from collections.abc import Collection

from reflink.entities import Link
from schemas import LinkEvent, OverrideEvent
from schemas.links import Curated


def curated(override: OverrideEvent | None) -> Curated | None:
    """Return the part of the override that a link shows; None without an override."""
    if override is None:
        return None
    action = "pinned" if override.pinned is not None else "nothing" if override.nothing else "forbidden"
    return Curated.from_dict({"action": action, "reason": override.reason, "by": override.by, "at": override.at})


def effective(link: Link, aliases: Collection[str], override: OverrideEvent | None) -> Link:
    """Return the link as it is to be published under the override, as far as the ledger can decide it.

    ``aliases``: the other ids of the cited work. A pinned work is named as the curator named it: a linker returns its canonical
    id and its status.
    """
    if override is None:
        return link
    if override.pinned is not None:
        return Link(reference=link.reference, citing=link.citing, cited=override.pinned, method="curator")
    if override.nothing or (link.cited is not None and not {link.cited, *aliases}.isdisjoint(override.forbidden)):
        return Link(reference=link.reference, citing=link.citing, cited=None, unresolved="forbidden")
    return link


def follows_pin(link: LinkEvent, override: OverrideEvent | None) -> bool:
    """Return whether the published link names the work that the override pins, by any of its ids."""
    return (
        override is not None
        and override.pinned is not None
        and link.curated == curated(override)
        and override.pinned in (link.link.cited, *link.aliases)
    )
