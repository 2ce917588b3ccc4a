"""Runs an evaluation: builds the catalog of each world, links every query as the library does, and keeps the outcomes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from reflink.catalog import Catalog
from reflink.entities import Link, Reference, Work
from reflink.evaluation import adjudication
from reflink.evaluation.adjudication import Judgements
from reflink.evaluation.bootstrap import RESAMPLES
from reflink.evaluation.causes import cause_of
from reflink.evaluation.contents import contents_of
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.linking import link_held_out, tracked
from reflink.evaluation.measure import figures
from reflink.evaluation.natural import assuming, link_lists, mixture
from reflink.evaluation.noise import suspects
from reflink.evaluation.outcomes import Mistake, Outcome, outcome_of
from reflink.evaluation.records import Listing, Query, read_queries, read_works, without_identifiers
from reflink.evaluation.threshold import threshold_figures
from reflink.evaluation.vectors import CachedEncoder
from reflink.evaluation.worlds import Groups, Setting, World, hidden, settings_of
from reflink.journals.building import learned
from reflink.linking.absence import link_learnt
from reflink.linking.linker import propose
from reflink.linking.native import NativeCandidates, native_candidates
from reflink.linking.policy import Policy
from reflink.terminal import Terminal

_WORKS: Final = 20_000


def default_encoder(cache: Path) -> CachedEncoder:
    """Return the default encoder with a cache of vectors under ``cache``. Raises ModelNotFound."""
    from reflink.semantic import Encoder

    return CachedEncoder(Encoder(), cache)


def other_encoders(models: Sequence[str], cache: Path) -> list[CachedEncoder]:
    """Return the encoders of these model folders or names, each with a cache under ``cache``. Raises ModelNotFound."""
    from reflink.semantic import Encoder

    return [CachedEncoder(Encoder(model), cache) for model in models]


def build_catalog(works: Sequence[Work], encoder: CachedEncoder, policy: Policy | None = None) -> Catalog:
    """Return a catalog in memory with indexes and a table of journals. Encodes only texts not in the encoder's cache."""
    policy = policy or Policy()
    catalog = Catalog.empty(
        dim=encoder.dim, model=encoder.name, precision=encoder.precision, mode=policy.semantic_mode,
        separator=encoder.separator, lexical_mode=policy.lexical_mode,
    )  # fmt: skip
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Terminal(stderr=True)) as progress:
        task = progress.add_task("building the catalog", total=len(works))
        encoder.progress = lambda n: progress.advance(task, n)
        for start in range(0, len(works), _WORKS):
            part = works[start : start + _WORKS]
            catalog.add(part, encoder.encode([catalog.semantic_text(work) for work in part]))
    encoder.progress = None
    catalog.journals = learned(works)
    return catalog


@dataclass(frozen=True)
class Evaluation:
    """Outcomes and mistakes by measurement: ``closed``, ``open``, ``open_80``, ``open_20``, ``raw_only.closed``, …, ``pubmed``,
    ``pubmed_known``, ``mixture``.

    ``rule``: figures of the published threshold in the open world. ``tables``: the paper's tables for the requested modes.
    ``shares``: estimated shares of absent works by measurement. ``times``: seconds per reference by measurement.
    """

    outcomes: dict[str, list[Outcome]]
    about: dict[str, Any]
    mistakes: dict[str, list[Mistake]] = field(default_factory=dict)
    rule: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    times: dict[str, dict[str, Any]] = field(default_factory=dict)

    @cached_property
    def measured(self) -> dict[str, Any]:
        """The figures as JSON data, without those that were not requested."""
        found: dict[str, Any] = {}
        for name, outcomes in self.outcomes.items():
            outer, _, inner = name.rpartition(".")
            into = found.setdefault(outer, {}) if outer else found
            into[inner] = {**figures(outcomes, closed=inner == "closed"), "read": adjudication.counted(outcomes)}
            if name in self.shares:
                into[inner]["absent_share"] = round(self.shares[name], 6)
            if name in self.times:
                into[inner]["time"] = self.times[name]
        if self.rule:
            found["open"]["rule"] = self.rule
        if self.tables:
            found["tables"] = self.tables
        of_articles = (some for name, some in self.outcomes.items() if not name.startswith(("pubmed", "mixture")))
        named = {each.rid for some in of_articles for each in some if each.suspect}
        return {**found, "about": {**self.about, "suspects": len(named)}}

    def with_verdicts(self, judgements: Judgements) -> Evaluation:
        """Return the same with a person's verdicts on the errors; labels that they reject are suspect."""
        outcomes = {name: [*map(judgements.applied, some)] for name, some in self.outcomes.items()}
        mistakes = {
            name: [replace(each, outcome=judgements.applied(each.outcome)) for each in some]
            for name, some in self.mistakes.items()
        }
        return replace(self, outcomes=outcomes, mistakes=mistakes)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures: ``closed`` and ``open`` as measured, other requested figures, and ``about`` the run."""
        return self.measured


def evaluate(
    works: Path,
    references: Path,
    *,
    policy: Policy,
    worlds: Collection[World],
    cache: Path,
    present: int | None = None,
    identifiers: bool = False,
    shares: bool = False,
    fields_hidden: bool = False,
    rule: bool = False,
    modes: Sequence[str] = (),
    encoders: Sequence[str] = (),
    pubmed: Path | None = None,
    adjudicated: Path | None = None,
    learnt: bool = False,
) -> Evaluation:
    """Run the protocol: link every query of ``references`` in each world of ``works``.

    ``present``: tenths of the groups that the open world keeps, None for the protocol's half. ``identifiers``: keep the
    references' identifiers; the figures are then of little value, because the truth comes from the identifiers. ``shares``:
    also measure with 80% and 20% present. ``fields_hidden``: also measure with the raw text alone, in each of ``worlds``.
    ``rule``: also measure the published threshold in the open world. ``modes``: also measure the paper's tables in these modes,
    which includes the closed world. ``encoders``: other models, as folders or names, for the rows of these tables.
    ``pubmed``: also link PubMed's lists in this folder, and with the open world measure the mixture of both sources.
    ``adjudicated``: a file of a person's verdicts beside those of the package. ``learnt``: estimate the share of absent works
    in each world. Raises BadRecord and ModelNotFound.
    """
    began = monotonic()
    listings, queries = list(read_works(works)), list(read_queries(references))
    encoder, others = default_encoder(cache), other_encoders(encoders, cache)
    judges, judgements = HeldOut.shipped(), Judgements.known(adjudicated)
    session = _Session(listings, queries, Groups.read(listings), encoder, judges, policy, identifiers, learnt)
    settings = settings_of({*worlds, "closed"} if modes else worlds, present, shares=shares)
    tables: dict[str, Any] = {}
    for setting, catalog in session.catalogs(settings):
        session.run(setting.name, setting, catalog)
        if fields_hidden and setting.name in worlds:
            session.run(f"raw_only.{setting.name}", setting, catalog, hide=True)
        if rule and setting.name == "open":
            session.measure_rule(setting, catalog)
        if modes and setting.name == "closed":
            from reflink.evaluation.approaches import tables as measure_tables

            tables = measure_tables(
                listings, queries, session.groups, catalog, cache, modes, tracked, encoder=encoder, others=others
            )
        del catalog  # keep one catalog in memory at a time
    lists: dict[str, Any] = {}
    if pubmed is not None:
        natural = link_lists(pubmed, listings, policy, judges, cache)
        session.outcomes["pubmed"], session.mistakes["pubmed"] = natural.outcomes, natural.mistakes
        known = max(policy.absent, min(natural.absent, 0.999))
        session.outcomes["pubmed_known"] = assuming(natural.outcomes, policy, known)
        lists = {"absent": round(natural.absent, 6), "undecided": natural.undecided}
        if "open" in session.outcomes:
            session.outcomes["mixture"] = mixture(session.outcomes["open"], natural.outcomes)
    about = {
        "profile": policy.profile, "works": len(listings), "queries": len(queries), "identifiers": identifiers,
        "encoder": encoder.name, "precision": encoder.precision, "present": present,
        "held_out": sum(session.judges.is_known(query.reference.citing) for query in queries),
        "papers": len({query.reference.citing for query in queries}), "resamples": RESAMPLES, "accept": policy.accept,
        "first": policy.first,
        **({"pubmed": lists} if lists else {}),
        "catalog": works.name, "references": references.name, "seconds": round(monotonic() - began, 1),
    }  # fmt: skip
    evaluation = Evaluation(session.outcomes, about, session.mistakes, session.rule, tables, session.shares)
    return evaluation.with_verdicts(judgements)


class _Session:
    """Inputs that the runs in several worlds share, and their results."""

    def __init__(
        self,
        listings: Sequence[Listing],
        queries: Sequence[Query],
        groups: Groups,
        encoder: CachedEncoder,
        judges: HeldOut,
        policy: Policy,
        identifiers: bool,
        learnt: bool = False,
    ) -> None:
        self.queries, self.groups, self.encoder, self.judges, self.policy = queries, groups, encoder, judges, policy
        self.learnt = learnt
        self.shares: dict[str, float] = {}
        self.suspects = suspects(queries, listings, groups)
        self.contents = {query.reference.id: contents_of(query.reference) for query in queries}
        self.works = {listing.work.id: listing.work for listing in listings}
        self.references = [query.reference if identifiers else without_identifiers(query.reference) for query in queries]
        self.outcomes: dict[str, list[Outcome]] = {}
        self.mistakes: dict[str, list[Mistake]] = {}
        self.rule: dict[str, Any] = {}

    def catalogs(self, settings: Sequence[Setting]) -> Iterator[tuple[Setting, Catalog]]:
        """Yield each world's catalog: the last one with more works removed if that is possible, else a new one."""
        catalog, lacked = None, frozenset[str]()
        for setting in settings:
            lacks = self.groups.lacking(setting)
            if catalog is None or not lacks >= lacked:
                kept = [work for id_, work in self.works.items() if id_ not in lacks]
                catalog = None
                catalog = build_catalog(kept, self.encoder, self.policy)
            else:
                catalog.remove(lacks - lacked)
            lacked = lacks
            yield setting, catalog

    def run(self, name: str, setting: Setting, catalog: Catalog, *, hide: bool = False) -> None:
        """Link all queries and keep their outcomes and mistakes under ``name``."""
        references = [hidden(reference) for reference in self.references] if hide else self.references
        what = f"linking, {name.replace('_', ' ').replace('.', ', ')}"

        def linked(part: Sequence[Reference], policy: Policy) -> list[Link]:
            return link_held_out(part, native_candidates(catalog, policy, self.encoder), policy, self.judges, what)

        if self.learnt:
            links, self.shares[name] = link_learnt(linked, references, self.policy)
        else:
            links = linked(references, self.policy)
        outcomes = [self._outcome(query, link, catalog, setting) for query, link in zip(self.queries, links, strict=True)]
        wrong = [row for row, outcome in enumerate(outcomes) if outcome.error]
        proposed = self._proposed([row for row in wrong if outcomes[row].present], references, catalog)
        self.mistakes[name] = []
        for row in wrong:
            target, chosen = self.works.get(self.queries[row].truth), self.works.get(outcomes[row].chosen or "")
            cause = cause_of(outcomes[row], references[row], target, chosen, proposed=row in proposed)
            outcomes[row] = replace(outcomes[row], cause=cause)
            self.mistakes[name].append(Mistake(outcomes[row], references[row], target, chosen))
        self.outcomes[name] = outcomes

    def measure_rule(self, setting: Setting, catalog: Catalog) -> None:
        """Measure the published rule: link the semantic nearest neighbour from a threshold on."""
        always = replace(self.policy, profile="paper", threshold=-1.0)
        links = link_held_out(
            self.references, NativeCandidates(catalog, self.encoder), always, self.judges, "the published threshold, open world"
        )
        outcomes = [self._outcome(query, link, catalog, setting) for query, link in zip(self.queries, links, strict=True)]
        self.rule = threshold_figures(outcomes, self.policy.threshold)

    def _outcome(self, query: Query, link: Link, catalog: Catalog, setting: Setting) -> Outcome:
        present = not self.groups.is_absent(query.truth, setting.world, setting.present)
        same = {catalog.canonical(id_) for id_ in self.groups.same(query.truth)}
        rid = query.reference.id
        return outcome_of(query, link, same, present=present, suspect=self.suspects.get(rid), contents=self.contents[rid])

    def _proposed(self, rows: Sequence[int], references: Sequence[Reference], catalog: Catalog) -> set[int]:
        """Return the rows for which a stage proposes the target."""
        found = propose([references[row] for row in rows], NativeCandidates(catalog, self.encoder), self.policy) if rows else []
        return {
            row
            for row, ids in zip(rows, found, strict=True)
            if not {*self.groups.same(self.queries[row].truth)}.isdisjoint(ids)
        }
