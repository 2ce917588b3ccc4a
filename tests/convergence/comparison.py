"""The links after a history beside those of a fresh run over what is there at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reflink.entities import Work
from schemas import LinkEvent, OverrideEvent
from tests.convergence.pipeline import Pipeline
from tests.convergence.replicas import WordEncoder
from workers.parser import PaperVersion

#: Probabilities that differ by less are the same: the ledger does not publish less.
SAME = 0.01


@dataclass(frozen=True)
class Difference:
    """One reference of which both say something else."""

    reference: str
    is_: LinkEvent | None
    should_be: LinkEvent | None

    @property
    def in_target(self) -> bool:
        """Whether it is another work that is cited, or another set of references; else it is how and why."""
        return _cited(self.is_) != _cited(self.should_be)

    def __str__(self) -> str:
        return f"{self.reference}\n    is:        {said(self.is_)}\n    should be: {said(self.should_be)}"


def _cited(event: LinkEvent | None) -> str:
    return "no record" if event is None else event.link.cited or ""


def said(event: LinkEvent | None) -> str:
    """An outcome in a line."""
    if event is None:
        return "no record"
    link = event.link
    parts = [link.cited or f"nothing ({link.unresolved})", link.method or "", link.status or ""]
    parts += ["" if link.probability is None else f"p={link.probability:.4f}"]
    parts += [f"curated: {event.curated.action} {event.curated.reason}" if event.curated else ""]
    parts += [f"(version {event.paper_version}, judged at catalog offset {event.catalog_offset})"]
    return " ".join(filter(None, parts))


def same(one: LinkEvent, other: LinkEvent) -> bool:
    """Whether a reader learns the same from both."""
    a, b = one.link, other.link
    if (a.cited, a.unresolved, a.status, a.method) != (b.cited, b.unresolved, b.status, b.method):
        return False
    if (one.curated, one.reference, one.citing) != (other.curated, other.reference, other.citing):
        return False
    if a.probability is None or b.probability is None:
        return a.probability == b.probability
    return abs(a.probability - b.probability) < SAME + 1e-9


def differences(links: Mapping[str, LinkEvent], fresh: Mapping[str, LinkEvent]) -> list[Difference]:
    """By reference."""
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
) -> Pipeline:
    """Everything that is there at the end, in order: works, overrides, papers; through the same stages."""
    pipeline = Pipeline(encoder=encoder, offered=offered)
    # Papers that are works too are known here from the beginning.
    own = [version.paper.work() for version in papers if version.paper is not None and offered]
    for work in sorted([*works, *own], key=lambda each: each.id):
        pipeline.load(work)
    for reference, event in sorted(overrides.items()):
        pipeline.override(reference, event)
    pipeline.follow_all()
    for version in sorted(papers, key=lambda each: each.citing):
        pipeline.publish(version)
    pipeline.drain()
    return pipeline
