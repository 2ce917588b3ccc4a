"""What curators say and what it makes of a judgement. Nothing here knows Kafka.

An override wins over every judgement, past and to come: it is applied when an outcome comes in and when the override itself
does, so the order of both does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reflink.entities import Link, Work
from schemas import OverrideEvent
from schemas.links import Curated


class KnownWorks(Protocol):
    """What is asked of the works by key."""

    def canonical(self, work_id: str) -> str:
        """The smallest id of the works that are one with it."""

    def get(self, work_id: str) -> Work | None:
        """The work with exactly this id."""


def curated(override: OverrideEvent | None) -> Curated | None:
    """What a link shows of the override that it stands under."""
    if override is None:
        return None
    action = "pinned" if override.pinned is not None else "nothing" if override.nothing else "forbidden"
    return Curated.from_dict({"action": action, "reason": override.reason, "by": override.by, "at": override.at})


def decided(override: OverrideEvent | None) -> bool:
    """Whether the override leaves nothing to judge."""
    return override is not None and (override.nothing or override.pinned is not None)


def effective(link: Link, override: OverrideEvent | None, works: KnownWorks) -> Link:
    """The judgement as it is to be published."""
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
    """Whether the cited work is, or is one with, one of these."""
    return bool(forbidden) and works.canonical(cited) in {works.canonical(each) for each in forbidden}
