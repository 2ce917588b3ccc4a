"""The task of the cup: edges from LaTeX sources, by reflink and by baselines, compared with the true graph."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from reflink.entities import Reference
from reflink.errors import ReflinkError
from reflink.evaluation.bootstrap import intervals
from reflink.evaluation.kdd.authors import BASELINES, ByAuthors
from reflink.evaluation.kdd.graph import Comparison, Edge, paper_number
from reflink.evaluation.kdd.papers import Source
from reflink.evaluation.kdd.patterns import Patterns
from reflink.identifiers import normalise_arxiv

if TYPE_CHECKING:
    from reflink.catalog import Catalog
    from reflink.linking.linker import Linker

#: References linked at once.
_BATCH: Final = 2048
#: The row of reflink's own links.
REFLINK: Final = "reflink"
#: Table 5.7 of the paper. Figures that it does not state are None; its graph had 421,578 edges.
PUBLISHED: Final[tuple[dict[str, Any], ...]] = (
    {"approach": "#1 D. Vogel", "right": None, "predicted": None, "accuracy": None, "symmetric_difference": 421_582},
    {"approach": "#2 S. Sarawagi et al.", "right": 40_600, "predicted": 175_800, "accuracy": 0.2309,
     "symmetric_difference": 516_242},
    {"approach": "#3 M. Cadot et al.", "right": None, "predicted": 144_087, "accuracy": None,
     "symmetric_difference": 538_013},
    {"approach": "recurrent networks (the paper)", "right": 285_064, "predicted": 300_099, "accuracy": 0.9497,
     "symmetric_difference": 151_549},
)  # fmt: skip


def paper_numbers(catalog: Catalog, archive: str) -> dict[str, str]:
    """Return the number of each work that is a paper of the archive, by its canonical id."""
    found: dict[str, str] = {}
    for work in catalog:
        arxiv = work.ids.arxiv or normalise_arxiv(work.id.removeprefix("arxiv:")) or ""
        if arxiv.startswith(f"{archive}/") and (number := paper_number(arxiv)) is not None:
            found.setdefault(catalog.canonical(work.id), number)
    return found


@dataclass
class Result:
    """The edges of each approach, and counts of what they were found from. ``collection``: numbers of the papers to link to.

    ``with_locator``: of the papers of the collection whose metadata have volume and first page.
    """

    collection: frozenset[str]
    with_locator: frozenset[str]
    predicted: dict[str, set[Edge]] = field(default_factory=dict)
    papers: int = 0
    unread: int = 0
    without_references: int = 0
    references: int = 0
    outside: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    citing: set[str] = field(default_factory=set)
    patterns: Patterns = field(default_factory=Patterns)


def predict(
    sources: Iterable[Source],
    linker: Linker,
    archive: str,
    *,
    on_error: Callable[[str, ReflinkError], object] = lambda *_: None,
) -> Result:
    """Link the references of all papers. An edge is a link to a paper of the archive; links to other works are ``outside``."""
    catalog = linker.catalog
    numbers, by_authors = paper_numbers(catalog, archive), ByAuthors(catalog)
    located = {catalog.canonical(work.id) for work in catalog if work.volume and work.fpage}
    with_locator = frozenset(number for cited, number in numbers.items() if cited in located)
    result = Result(frozenset(numbers.values()), with_locator, {REFLINK: set(), **{each.name: set() for each in BASELINES}})
    for batch in _batches(_counted(sources, result, on_error)):
        began = time.perf_counter()
        links = linker.link([reference for _, reference in batch])
        result.seconds += time.perf_counter() - began
        for (citing, reference), link in zip(batch, links, strict=True):
            result.outcomes[link.method or link.unresolved or ""] += 1
            found = {REFLINK: link.cited, **{each.name: by_authors.link(reference, each) for each in BASELINES}}
            for approach, cited in found.items():
                number = numbers.get(catalog.canonical(cited)) if cited else None
                if number is not None:
                    result.predicted[approach].add((citing, number))
                elif cited and approach == REFLINK:
                    result.outside += 1
        result.references += len(batch)
    return result


def _counted(
    sources: Iterable[Source], result: Result, on_error: Callable[[str, ReflinkError], object]
) -> Iterator[tuple[str, Reference]]:
    for source in sources:
        result.papers += 1
        result.citing.add(source.number)
        result.patterns.add(source.data, source.number)
        if isinstance(source.paper, ReflinkError):
            result.unread += 1
            on_error(source.number, source.paper)
            continue
        result.without_references += not source.paper.references
        yield from ((source.number, reference) for reference in source.paper.references)


def _batches(given: Iterator[tuple[str, Reference]]) -> Iterator[list[tuple[str, Reference]]]:
    batch: list[tuple[str, Reference]] = []
    for each in given:
        batch.append(each)
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def figures(result: Result, true: Set[Edge]) -> dict[str, Any]:
    """Return the rows of Table 5.7, the published ones apart, and the counts.

    ``reachable``: the true edges whose citing paper was given, read or not, and whose cited paper is in the collection;
    ``with_locator`` and ``without_locator``: those whose cited paper has a locator, or none. Intervals: 95%, by the bootstrap
    over citing papers.
    """
    reachable = {edge for edge in true if edge[0] in result.citing and edge[1] in result.collection}
    with_locator = {edge for edge in reachable if edge[1] in result.with_locator}
    parts = {"reachable": reachable, "with_locator": with_locator, "without_locator": reachable - with_locator}
    rows = []
    for approach, predicted in result.predicted.items():
        compared = Comparison.of(true, predicted).to_dict()
        rows.append({
            "approach": approach, **compared, **_intervals(true, predicted),
            **{f"recall_{name}": len(edges & predicted) / len(edges) if edges else None for name, edges in parts.items()},
        })  # fmt: skip
    return {
        "rows": rows, "published": list(PUBLISHED), "papers": result.papers, "unread": result.unread,
        "without_references": result.without_references, "references": result.references, "collection": len(result.collection),
        **{name: len(edges) for name, edges in parts.items()}, "links_outside": result.outside,
        "outcomes": dict(result.outcomes.most_common()),
        "ms_per_reference": 1e3 * result.seconds / result.references if result.references else None,
        "patterns": result.patterns.to_dict(),
    }  # fmt: skip


def _intervals(true: Set[Edge], predicted: Set[Edge]) -> dict[str, list[float]]:
    union = sorted(true | predicted)
    right = [edge in true and edge in predicted for edge in union]
    found = intervals(
        [citing for citing, _ in union],
        {"accuracy": (right, [edge in predicted for edge in union]), "recall": (right, [edge in true for edge in union])},
    )
    return {f"{name}_interval": span for name, span in found.items()}
