"""Topic ``outcomes``, input of the ledger: manifests from the parser, outcomes from linker and fallback. Key: citing id."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, Literal

import orjson

from reflink.entities import Entity, Link, Reference, Work
from reflink.errors import BadRecord
from schemas.envelope import JudgedEvent, PaperEvent, refuse_newer

#: Limit of the aliases of a link.
MAX_ALIASES: Final = 100


class ManifestEvent(PaperEvent):
    """The complete list of references of one version of a paper. References of older versions that it lacks were removed.

    A withdrawn paper has no references, and ``withdrawn`` is true. ``offered``: the paper can also be cited, and the ledger
    keeps its entry in the catalog at the newest version: ``work``, or no entry if the paper is withdrawn.
    """

    kind: Literal["manifest"]
    references: tuple[str, ...]
    withdrawn: bool = False
    offered: bool = False
    work: Work | None = None


class Outcome(Entity):
    """The outcome of a reference.

    ``forbidden``: works that a curator excluded from the candidates. ``pinned``: the work that a curator pinned, if the link
    names its canonical id. ``aliases``: the other ids and identifiers of the work that the link names, at most MAX_ALIASES: a
    work of the catalog with one of them is the same work. ``shared``: whether another work has the cited id as an identifier.
    """

    reference: Reference
    link: Link
    forbidden: tuple[str, ...] = ()
    pinned: str | None = None
    aliases: tuple[str, ...] = ()
    shared: bool = False


class OutcomesEvent(JudgedEvent):
    """The outcomes of one paper and batch.

    ``catalog_offset`` is the catalog version that they were decided against, ``judged`` the time of the decision in
    milliseconds since 1970.
    """

    kind: Literal["outcomes"]
    catalog_offset: int
    judged: int
    items: tuple[Outcome, ...]


_KINDS: dict[str, type[ManifestEvent | OutcomesEvent]] = {"manifest": ManifestEvent, "outcomes": OutcomesEvent}

#: Part of every event with outcomes that reflink writes.
_OUTCOMES: Final = b'"kind":"outcomes"'


def read_outcome_event(data: bytes) -> ManifestEvent | OutcomesEvent:
    """Parse an event of either kind. Raises BadRecord."""
    if _OUTCOMES in data:  # most events; looking for the kind first would parse them twice
        with suppress(BadRecord):
            return OutcomesEvent.from_json(data)
    try:
        fields: Any = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadRecord(f"outcomes event: not JSON: {error}") from None
    kind = fields.get("kind") if isinstance(fields, dict) else None
    model = _KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        refuse_newer("outcomes event", data)
        raise BadRecord(f"outcomes event: kind: {kind!r} is not one of {', '.join(_KINDS)}")
    return model.from_json(data)
