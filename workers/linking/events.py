"""Messages of linker and fallback: outcomes, and open references for the fallback.

A record holds all results of one paper in one batch, split at 512 KB, because kafka-python's ``send`` costs more than encoding
the event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from reflink.catalog import Catalog
from reflink.entities import Link, Reference
from reflink.linking.policy import Open, Profile
from schemas import SCHEMA_VERSION, FallbackEvent, Outcome, OutcomesEvent
from schemas.envelope import PaperEvent
from schemas.outcomes import MAX_ALIASES
from workers.kafka.topics import SPLIT_BYTES
from workers.records import Message, split
from workers.stage import Output

T = TypeVar("T")


class JudgedBy(NamedTuple):
    """The name of the encoder and the fingerprint of the policy (reflink.linking.policy) behind an outcome; None if unknown.

    ``absent``: the share of absent works that the policy assumes.
    """

    model: str | None
    policy: str | None
    absent: float = 0.5


def add_outcomes(
    output: Output, outcomes: Sequence[tuple[PaperEvent, Outcome]], catalog_offset: int, now: int, by: JudgedBy
) -> None:
    """Add messages for the topic ``outcomes``, one per paper and 512 KB, and their observations for the metrics."""
    for paper, items in _by_paper(outcomes):
        sized = ((_size(item.reference) + _size_of_ids(item.forbidden + item.aliases), item) for item in items)
        for group in split(sized, SPLIT_BYTES):
            envelope = _envelope(paper, catalog_offset, by)
            event = OutcomesEvent(**envelope, kind="outcomes", judged=now, items=tuple(group))
            output.messages.append(Message("outcomes", paper.citing.encode(), event.to_json()))
    observed = output.observed
    reasons: list[tuple[str, str]] = []
    for _, item in outcomes:
        link = item.link
        observed.outcomes[link.method or "", link.unresolved or ""] += 1
        if link.method is not None and link.score is not None:
            observed.scores.append((link.method, link.score))
        linked = "no" if link.cited is None else "yes"
        reasons += [(phrase, linked) for phrase in link.reasons]
        if link.probability is not None:
            observed.probabilities.append((linked, link.probability))
    observed.reasons.update(reasons)


def outcome(
    reference: Reference, link: Link, catalog: Catalog, forbidden: tuple[str, ...] = (), pinned: str | None = None
) -> Outcome:
    """Return the outcome with the identity of the work that the link names, as of this catalog."""
    related = None if link.related is None else link.related.work
    named = related if link.cited is None else link.cited
    aliases: tuple[str, ...] = ()
    shared = False
    if named is not None:
        aliases = tuple(sorted(catalog.works.nodes(named) - {named}))[:MAX_ALIASES]
        shared = not catalog.works.bearers(named) <= {named}
    return Outcome(reference=reference, link=link, forbidden=forbidden, pinned=pinned, aliases=aliases, shared=shared)


def fallback_messages(
    opens: Sequence[tuple[PaperEvent, Open]], catalog_offset: int, profile: Profile, by: JudgedBy
) -> Iterator[Message]:
    """Yield messages for the topic ``fallback``, one per paper and 512 KB."""
    for paper, items in _by_paper(opens):
        sized = ((_size(item.reference) + _size_of_ids(item.found.places + item.forbidden), item) for item in items)
        for group in split(sized, SPLIT_BYTES):
            event = FallbackEvent(**_envelope(paper, catalog_offset, by), profile=profile, items=tuple(group))
            yield Message("fallback", paper.citing.encode(), event.to_json())


def _envelope(paper: PaperEvent, catalog_offset: int, by: JudgedBy) -> dict[str, Any]:
    """Return the fields that both kinds of events take from the paper and from the semantic stage."""
    return {
        "schema_version": SCHEMA_VERSION,
        "citing": paper.citing,
        "paper_version": paper.paper_version,
        "arrived": paper.arrived,
        "live": paper.live,
        "woken": paper.woken,
        "model": by.model,
        "policy": by.policy,
        "absent": by.absent,
        "catalog_offset": catalog_offset,
    }


def _by_paper(items: Sequence[tuple[PaperEvent, T]]) -> Iterator[tuple[PaperEvent, list[T]]]:
    """Group items by paper, version, arrival, live flag and time of the catalog change, in order of first appearance."""
    groups: dict[tuple[str, int, int, bool, int], tuple[PaperEvent, list[T]]] = {}
    for paper, item in items:
        key = (paper.citing, paper.paper_version, paper.arrived, paper.live, paper.woken)
        groups.setdefault(key, (paper, []))[1].append(item)
    yield from groups.values()


def _size_of_ids(ids: tuple[str, ...]) -> int:
    return sum(len(id_.encode()) + 4 for id_ in ids)


def _size(reference: Reference) -> int:
    """Return an upper estimate of a reference's and its outcome's bytes as JSON: text may be escaped, names are repeated."""
    names = sum(len(name) + 3 for name in reference.last_names)
    texts = len(reference.raw_text.encode()) + len((reference.raw_noid or "").encode()) + len((reference.title or "").encode())
    return 1500 + 2 * (texts + names)
