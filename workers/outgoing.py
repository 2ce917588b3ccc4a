"""What linker and fallback send: outcomes, and references left open, as one event per paper and batch.

kafka-python's ``send`` costs more than the event, so a record is what one paper has in one batch, split at 512 KB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from reflink.entities import Reference
from reflink.policy import Open, Profile
from schemas import SCHEMA_VERSION, FallbackEvent, Outcome, OutcomesEvent
from schemas.envelope import PaperEvent
from workers.stage import Message, Output, split
from workers.topics import SPLIT_BYTES

T = TypeVar("T")


class JudgedBy(NamedTuple):
    """The encoder's name, and the fingerprint of the policy (reflink.policy); None: not known."""

    model: str | None
    policy: str | None


def add_outcomes(
    output: Output, outcomes: Sequence[tuple[PaperEvent, Outcome]], catalog_offset: int, now: int, by: JudgedBy
) -> None:
    """Adds messages for ``outcomes``, one per paper and 512 KB, and what the metrics shall see of them."""
    for paper, items in _by_paper(outcomes):
        sized = ((_size(item.reference) + _size_of_ids(item.forbidden), item) for item in items)
        for group in split(sized, SPLIT_BYTES):
            event = OutcomesEvent(
                schema_version=SCHEMA_VERSION,
                kind="outcomes",
                citing=paper.citing,
                paper_version=paper.paper_version,
                arrived=paper.arrived,
                live=paper.live,
                woken=paper.woken,
                model=by.model,
                policy=by.policy,
                catalog_offset=catalog_offset,
                judged=now,
                items=tuple(group),
            )
            output.messages.append(Message("outcomes", paper.citing.encode(), event.to_json()))
    for _, item in outcomes:
        link = item.link
        output.observed.outcomes[link.method or "", link.unresolved or ""] += 1
        if link.method is not None and link.score is not None:
            output.observed.scores.append((link.method, link.score))
        linked = "no" if link.cited is None else "yes"
        output.observed.reasons.update((phrase, linked) for phrase in link.reasons)
        if link.probability is not None:
            output.observed.probabilities.append((linked, link.probability))


def fallback_messages(
    opens: Sequence[tuple[PaperEvent, Open]], catalog_offset: int, profile: Profile, by: JudgedBy
) -> Iterator[Message]:
    """Messages for ``fallback``, one per paper and 512 KB."""
    for paper, items in _by_paper(opens):
        sized = ((_size(item.reference) + _size_of_ids(item.found.places + item.forbidden), item) for item in items)
        for group in split(sized, SPLIT_BYTES):
            event = FallbackEvent(
                schema_version=SCHEMA_VERSION,
                citing=paper.citing,
                paper_version=paper.paper_version,
                arrived=paper.arrived,
                live=paper.live,
                woken=paper.woken,
                model=by.model,
                policy=by.policy,
                catalog_offset=catalog_offset,
                profile=profile,
                items=tuple(group),
            )
            yield Message("fallback", paper.citing.encode(), event.to_json())


def _by_paper(items: Sequence[tuple[PaperEvent, T]]) -> Iterator[tuple[PaperEvent, list[T]]]:
    """Items of the same paper, version, arrival and waking together, papers in order of first appearance."""
    groups: dict[tuple[str, int, int, bool, int], tuple[PaperEvent, list[T]]] = {}
    for paper, item in items:
        key = (paper.citing, paper.paper_version, paper.arrived, paper.live, paper.woken)
        groups.setdefault(key, (paper, []))[1].append(item)
    yield from groups.values()


def _size_of_ids(ids: tuple[str, ...]) -> int:
    return sum(len(id_.encode()) + 4 for id_ in ids)


def _size(reference: Reference) -> int:
    """Bytes of a reference and its outcome as JSON, roughly and from above: text may be escaped, names are repeated."""
    names = sum(len(name) + 3 for name in reference.last_names)
    texts = len(reference.raw_text.encode()) + len((reference.raw_noid or "").encode()) + len((reference.title or "").encode())
    return 1500 + 2 * (texts + names)
