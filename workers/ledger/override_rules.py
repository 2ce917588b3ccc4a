"""Overrides: how a curator's decision changes an outcome. This module does not use Kafka.

An override outranks every earlier and later outcome. It is applied when an outcome arrives and when the override arrives, so
their order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reflink.entities import Link, Work
from schemas import OverrideEvent
from schemas.links import Curated


class KnownWorks(Protocol):
    """Interface of the table of works for overrides."""

    def canonical(self, work_id: str) -> str:
        """Return the canonical id; ``work_id`` itself if no work has it."""

    def get(self, work_id: str) -> Work | None:
        """Return the work with exactly this id, or None."""


def curated(override: OverrideEvent | None) -> Curated | None:
    """Return the part of the override that a link shows; None without an override."""
    if override is None:
        return None
    action = "pinned" if override.pinned is not None else "nothing" if override.nothing else "forbidden"
    return Curated.from_dict({"action": action, "reason": override.reason, "by": override.by, "at": override.at})


def decided(override: OverrideEvent | None) -> bool:
    """Return whether the override alone determines the outcome."""
    return override is not None and (override.nothing or override.pinned is not None)


def effective(link: Link, override: OverrideEvent | None, works: KnownWorks) -> Link:
    """Return the link as it is to be published under the override."""
    if override is None:
        return link
    if override.pinned is not None:
        cited = works.canonical(override.pinned)
        work = works.get(cited)
        return Link(
            reference=link.reference, citing=link.citing, cited=cited, method="curator",
            status=None if work is None else work.status,
        )  # fmt: skip
    if override.nothing or (link.cited is not None and is_forbidden(link.cited, override.forbidden, works)):
        return Link(reference=link.reference, citing=link.citing, cited=None, unresolved="forbidden")
    return link


def is_forbidden(cited: str, forbidden: Sequence[str], works: KnownWorks) -> bool:
    """Return whether the cited work is the same work as a forbidden one."""
    return bool(forbidden) and works.canonical(cited) in {works.canonical(each) for each in forbidden}
