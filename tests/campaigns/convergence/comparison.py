"""Compares the links after a history with those of a fresh run over its final input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reflink.entities import Work
from schemas import LinkEvent, OverrideEvent
from tests.campaigns.convergence.pipeline import Pipeline
from tests.campaigns.convergence.replicas import WordEncoder
from workers.ledger.apply_outcomes import same_reference
from workers.papers.stage import PaperVersion

#: Probabilities that differ by at most this are equal, since the ledger does not publish smaller changes.
SAME: Final = 0.01


@dataclass(frozen=True)
class Difference:
    """One reference whose outcomes differ: ``found`` after the history, ``expected`` in the fresh run."""

    reference: str
    found: LinkEvent | None
    expected: LinkEvent | None

    @property
    def in_target(self) -> bool:
        """Whether the cited work differs or one side lacks the reference; otherwise only details such as the method differ."""
        return _cited(self.found) != _cited(self.expected)

    def __str__(self) -> str:
        return f"{self.reference}\n    found:    {outcome_line(self.found)}\n    expected: {outcome_line(self.expected)}"


def _cited(event: LinkEvent | None) -> str:
    return "no record" if event is None else event.link.cited or ""


def outcome_line(event: LinkEvent | None) -> str:
    """Return an outcome as one line of text."""
    if event is None:
        return "no record"
    link = event.link
    parts = [link.cited or f"nothing ({link.unresolved})", link.method or "", link.status or ""]
    parts += ["" if link.probability is None else f"p={link.probability:.4f}"]
    parts += [f"curated: {event.curated.action} {event.curated.reason}" if event.curated else ""]
    parts += [f"(version {event.paper_version}, decided at catalog offset {event.catalog_offset})"]
    return " ".join(filter(None, parts))


def same(one: LinkEvent, other: LinkEvent) -> bool:
    """Return whether both outcomes are equivalent for a reader."""
    a, b = one.link, other.link
    if (a.cited, a.unresolved, a.status, a.method) != (b.cited, b.unresolved, b.status, b.method):
        return False
    # The number of a reference in the bibliography may be older than its latest evaluation (docs/continuous.md).
    if (one.curated, one.citing) != (other.curated, other.citing) or not same_reference(one.reference, other.reference):
        return False
    if a.probability is None or b.probability is None:
        return a.probability == b.probability
    return abs(a.probability - b.probability) < SAME + 1e-9


def differences(links: Mapping[str, LinkEvent], fresh: Mapping[str, LinkEvent]) -> list[Difference]:
    """Return the references whose outcomes differ, sorted by reference."""
    found = []
    for reference in sorted({*links, *fresh}):
        one, other = links.get(reference), fresh.get(reference)
        if one is None or other is None or not same(one, other):
            found.append(Difference(reference, one, other))
    return found


def fresh_run(
    papers: Sequence[PaperVersion],
    works: Sequence[Work],
    overrides: Mapping[str, OverrideEvent],
    encoder: WordEncoder | None,
    offered: bool = True,
    hits: int | None = None,
) -> Pipeline:
    """Run the final input through the same stages in order: works, overrides, papers. Return the drained pipeline.

    ``hits``: with candidates from a search engine, which has all works before the first paper.
    """
    pipeline = Pipeline(encoder=encoder, offered=offered, hits=hits)
    # Here, papers that are also works are in the catalog from the start.
    own = [version.paper.work() for version in papers if version.paper is not None and offered]
    for work in sorted([*works, *own], key=lambda each: each.id):
        pipeline.load(work)
    for reference, event in sorted(overrides.items()):
        pipeline.override(reference, event)
    pipeline.follow_all()
    if hits is not None:
        pipeline.drain()
    for version in sorted(papers, key=lambda each: each.citing):
        pipeline.publish(version.citing, version.version, version.paper)
    pipeline.drain()
    return pipeline
