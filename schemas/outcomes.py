"""Topic ``outcomes``: what the ledger hears. Manifests from the parser, outcomes from linker and fallback. Key: citing id."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from reflink.entities import Entity, Link, Reference, Work
from reflink.errors import BadRecord
from schemas.envelope import JudgedEvent, PaperEvent, refuse_newer


class ManifestEvent(PaperEvent):
    """One version of a paper has exactly these references; those of older versions that are not among them are gone.

    A withdrawn paper has none, and ``withdrawn`` is true. ``offered``: the paper is a target too, and the ledger keeps its
    entry in the catalog as the newest version has it: ``work``, or none when it is withdrawn.
    """

    kind: Literal["manifest"]
    references: tuple[str, ...]
    withdrawn: bool = False
    offered: bool = False
    work: Work | None = None


class Outcome(Entity):
    """A reference and what became of it. ``forbidden``: works that were no candidates, as a curator forbids them."""

    reference: Reference
    link: Link
    forbidden: tuple[str, ...] = ()


class OutcomesEvent(JudgedEvent):
    """The outcomes of one paper and batch, judged at ``catalog_offset``; ``judged`` is in milliseconds since 1970."""

    kind: Literal["outcomes"]
    catalog_offset: int
    judged: int
    items: tuple[Outcome, ...]


_KINDS: dict[str, type[ManifestEvent | OutcomesEvent]] = {"manifest": ManifestEvent, "outcomes": OutcomesEvent}


def read_outcome_event(data: bytes) -> ManifestEvent | OutcomesEvent:
    """Reads either kind. Raises BadRecord."""
    try:
        fields: Any = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadRecord(f"outcomes event: not JSON: {error}") from None
    kind = fields.get("kind") if isinstance(fields, dict) else None
    model = _KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        refuse_newer("outcomes event", data)
        raise BadRecord(f"outcomes event: kind: {kind!r} is none of {', '.join(_KINDS)}")
    return model.from_json(data)
