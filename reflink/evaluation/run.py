"""One evaluation: the works of a world in a catalog, every query linked as the library links, the outcomes kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn, track

from reflink.catalog import Catalog
from reflink.entities import Link, Reference, Work
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.measure import Outcome, figures
from reflink.evaluation.records import Query, read_queries, read_works, without_identifiers
from reflink.evaluation.vectors import CachedEncoder
from reflink.evaluation.worlds import Groups, World
from reflink.linker import Linker
from reflink.policy import Policy

_BATCH: Final = 256
_WORKS: Final = 20_000

T = TypeVar("T")


def _console() -> Console:
    return Console(stderr=True)


def tracked(items: Sequence[T], what: str) -> Iterable[T]:
    """The items, with a progress bar on the terminal."""
    return track(items, description=what, console=_console(), total=len(items))


def default_encoder(cache: Path) -> CachedEncoder:
    """The default encoder, remembering its vectors under ``cache``. Raises ModelNotFound."""
    from reflink.semantic import Encoder

    return CachedEncoder(Encoder(), cache)


def build_catalog(works: Sequence[Work], encoder: CachedEncoder, policy: Policy | None = None) -> Catalog:
    """A catalog in memory with both indexes, encoding what the cache does not hold."""
    policy = policy or Policy()
    catalog = Catalog.empty(
        dim=encoder.dim, model=encoder.name, precision=encoder.precision, mode=policy.semantic_mode,
        separator=encoder.separator, lexical_mode=policy.lexical_mode,
    )  # fmt: skip
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=_console()) as progress:
        task = progress.add_task("building the catalog", total=len(works))
        encoder.progress = lambda n: progress.advance(task, n)
        for start in range(0, len(works), _WORKS):
            part = works[start : start + _WORKS]
            catalog.add(part, encoder.encode([catalog.semantic_text(work) for work in part]))
    encoder.progress = None
    return catalog


@dataclass(frozen=True)
class Evaluation:
    """Outcomes of every query by world; ``held_out`` of them were judged by a model not trained on their citing paper."""

    outcomes: dict[World, list[Outcome]]
    about: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The figures: ``closed`` and ``open`` as measured, ``about`` the run."""
        measured: dict[str, Any] = {
            world: figures(outcomes, closed=world == "closed") for world, outcomes in self.outcomes.items()
        }
        return {**measured, "about": self.about}


def link_held_out(
    references: Sequence[Reference], catalog: Catalog, encoder: CachedEncoder, policy: Policy, judges: HeldOut, what: str
) -> list[Link]:
    """Links each reference under a judge that does not know its citing paper, in order."""
    links: dict[int, Link] = {}
    by_judge: dict[Any, list[int]] = defaultdict(list)
    for row, reference in enumerate(references):
        by_judge[judges.of(reference.citing)].append(row)
    batches = [
        (judge, rows[start : start + _BATCH]) for judge, rows in by_judge.items() for start in range(0, len(rows), _BATCH)
    ]
    for judge, rows in tracked(batches, what):
        linker = Linker(catalog, encoder, policy, judge=judge)
        links.update(zip(rows, linker.link([references[row] for row in rows]), strict=True))
    return [links[row] for row in range(len(references))]


def evaluate(
    works: Path,
    references: Path,
    *,
    policy: Policy,
    worlds: Sequence[World],
    cache: Path,
    present: int | None = None,
    identifiers: bool = False,
) -> Evaluation:
    """Runs the protocol: links every query of ``references`` in each world of ``works``.

    ``present``: tenths of the groups that the open world keeps, None for the protocol's half. ``identifiers``: leaves the
    references their identifiers, and the figures then say little: the truth comes from them. Raises
    BadRecord and ModelNotFound.
    """
    listings, queries = list(read_works(works)), list(read_queries(references))
    groups, judges, encoder = Groups.read(listings), HeldOut.shipped(), default_encoder(cache)
    catalog = build_catalog([listing.work for listing in listings], encoder, policy)
    asked = [query.reference if identifiers else without_identifiers(query.reference) for query in queries]
    outcomes: dict[World, list[Outcome]] = {}
    for world in sorted(set(worlds)):  # the open world is what is left of the closed one
        if world == "open":
            catalog.remove(groups.removed(present))
        links = link_held_out(asked, catalog, encoder, policy, judges, f"linking, {world} world")
        outcomes[world] = [
            _outcome(query, link, catalog, groups, world, present) for query, link in zip(queries, links, strict=True)
        ]
    about = {
        "profile": policy.profile, "works": len(listings), "queries": len(queries), "identifiers": identifiers,
        "encoder": encoder.name, "precision": encoder.precision, "present": present,
        "held_out": sum(judges.is_known(query.reference.citing) for query in queries),
    }  # fmt: skip
    return Evaluation(outcomes, about)


def _outcome(query: Query, link: Link, catalog: Catalog, groups: Groups, world: World, present: int | None) -> Outcome:
    here = not groups.is_absent(query.truth, world, present)
    right = here and link.cited in {catalog.canonical(id_) for id_ in groups.same(query.truth)}
    return Outcome(query.reference.id, query.kind, here, right, link)
