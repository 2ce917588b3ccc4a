"""Link references to works: propose candidates by identifiers, locators and two searches of texts, then decide by the verdict.

The two steps run in different processes and depend only on their arguments. ``semantic_step`` makes the first search of a
source of candidates (reflink.linking.candidates), ``lexical_step`` the second one. With native candidates the first needs a
catalog's works, identifiers and vectors, and the second its works, identifiers and trigrams; with `Policy.first` ``trigrams``
the other way round. ``Linker`` composes them.

Profile ``paper`` is the published method (its recommended framework): the semantic top-1 if it reaches the threshold, else the
lexical top-1 without a threshold. In profile ``production`` each stage only proposes candidates, and one verdict decides from
the two records alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from reflink.blocking.locators import reference_places
from reflink.encoders import Encodes
from reflink.entities import Candidate, Link, Method, Reference, Unresolved
from reflink.linking.candidates import Candidates, lexical_query
from reflink.linking.judging import Case, judge_all, rounded
from reflink.linking.native import native_candidates
from reflink.linking.policy import Found, Open, Policy
from reflink.stopwatch import Stopwatch
from reflink.verdict import Judge
from reflink.verdict.judge import shipped

if TYPE_CHECKING:
    from reflink.catalog import Catalog


def semantic_step(
    references: Sequence[Reference],
    source: Candidates,
    policy: Policy,
    *,
    judge: Judge | None = None,
    watch: Stopwatch | None = None,
    forbidden: Sequence[tuple[str, ...]] | None = None,
    absent: Sequence[float] | None = None,
) -> list[Link | Open]:
    """Decide the references that identifiers, locators and the first search suffice for; return the others as Open.

    ``forbidden``: for each reference, ids of works that are not candidates, including their aliases in the catalog.
    ``absent``: for each reference, the share of absent works, instead of that of the policy. ``watch`` records the time of
    ``text``, ``model``, ``search`` and ``verdict``.

    Cost: one search for all references that no identifier or locator decides, since a search costs far more than the verdict.
    """
    judge, watch, catalog = judge or shipped(), watch or Stopwatch(), source.catalog
    never = forbidden or [()] * len(references)
    if policy.profile == "paper":
        hits = source.near(references, policy, watch, never)
        triples = zip(references, hits, never, strict=True)
        links = [_paper_semantic(reference, found, catalog, policy, without) for reference, found, without in triples]
        watch.lap("verdict")
        return links
    shares = absent or [policy.absent] * len(references)
    accepts = {share: policy.accept_at(share) for share in {*shares}}
    cases = [
        Case(reference, _bearers(reference, catalog), catalog.places(reference), catalog, without, share)
        for reference, without, share in zip(references, never, shares, strict=True)
    ]
    judge_all(cases, judge)
    settled = [case.link(max(policy.sure, accepts[case.absent]), judge) for case in cases]
    waiting = [(row, case) for row, case in enumerate(cases) if settled[row] is None]
    watch.lap("verdict")
    undecided, never_of = [case.reference for _, case in waiting], [never[row] for row, _ in waiting]
    hits = source.near(undecided, policy, watch, never_of)
    for (_, case), near in zip(waiting, hits, strict=True):
        case.propose(((cited, rounded(score)) for cited, score in near), source.method)
    judge_all([case for _, case in waiting], judge)
    opened: dict[int, Open] = {}
    for (row, case), near in zip(waiting, hits, strict=True):
        link = case.link(max(policy.sure, accepts[case.absent]), judge)
        # Neither the locator nor the title finds a similar work, so the work is not in the catalog. The title alone would not
        # suffice, since it may be cut short; nor would a first search without some works, which the second may find.
        unlike = case.best < min(policy.refuse, accepts[case.absent])
        if link is None and unlike and source.complete and near and reference_places(case.reference):
            link = case.no_link("no-candidate", judge, versions=policy.versions)
        if link is None and source.complete and not source.searches_again(case.reference):
            link = _decided(case, policy, accepts[case.absent], judge)
        if link is None:
            semantic = tuple(Candidate.made({"cited": cited, "score": rounded(score)}) for cited, score in near)
            found = Found.made({"by_identifier": case.bearers, "places": case.places, "semantic": semantic})
            opened[row] = Open.made({"reference": case.reference, "found": found, "forbidden": never[row]})
        settled[row] = link
    watch.lap("verdict")
    return [link or opened[row] for row, link in enumerate(settled)]


def _decided(case: Case, policy: Policy, accept: float, judge: Judge) -> Link:
    """Return the outcome of a reference for which no search is left."""
    if link := case.link(accept, judge):
        return link
    nothing = not case.bearers and not lexical_query(case.reference, policy)
    why: Unresolved = "empty" if nothing else "no-candidate"
    return case.no_link(why, judge, accept, policy.versions)


def _bearers(reference: Reference, catalog: Catalog) -> tuple[str, ...]:
    tagged, weak = catalog.lookup(reference.ids), catalog.lookup(reference.ids_weak)
    return tuple(sorted({*tagged, *weak})) if weak else tagged


def lexical_step(
    opens: Sequence[Open],
    source: Candidates,
    policy: Policy,
    *,
    judge: Judge | None = None,
    watch: Stopwatch | None = None,
    absent: Sequence[float] | None = None,
) -> list[Link]:
    """Decide all open references in order: a link, or the reason why there is none. Costs one search.

    ``absent``: the shares of absent works that the semantic step was given for these references.

    If the search finds nothing, the verdict decides on the candidates of the semantic step. ``watch`` records the time of
    ``text``, ``search`` and ``verdict``.
    """
    watch, catalog = watch or Stopwatch(), source.catalog
    texts = [lexical_query(item.reference, policy) for item in opens]
    # The published method does not use a second candidate.
    searched = replace(policy, candidates=1, lexical_floor=None) if policy.profile == "paper" else policy
    watch.lap("text")
    hits = source.wider(opens, texts, searched, watch)
    watch.lap("search")
    judge = judge or shipped()
    if policy.profile == "paper":
        links = [
            _paper_lexical(item.reference, text, near, catalog) for item, text, near in zip(opens, texts, hits, strict=True)
        ]
        watch.lap("verdict")
        return links
    cases = []
    shares = absent or [policy.absent] * len(opens)
    for item, near, share in zip(opens, hits, shares, strict=True):
        case = Case(item.reference, item.found.by_identifier, item.found.places, catalog, item.forbidden, share)
        case.propose(((candidate.cited, candidate.score) for candidate in item.found.semantic), source.method)
        case.propose(((cited, rounded(score)) for cited, score in near), source.wider_method)
        cases.append(case)
    judge_all(cases, judge)
    accepts = {case.absent: policy.accept_at(case.absent) for case in cases}
    links = [_decided(case, policy, accepts[case.absent], judge) for case in cases]
    watch.lap("verdict")
    return links


def propose(references: Sequence[Reference], source: Candidates, policy: Policy) -> list[tuple[str, ...]]:
    """Return the distinct candidates of each reference by locator and both searches; ids of single works, not canonical."""
    semantic = source.near(references, policy, Stopwatch())
    opens = [
        Open(reference=reference, found=Found(semantic=tuple(Candidate(cited=id_, score=score) for id_, score in near)))
        for reference, near in zip(references, semantic, strict=True)
    ]
    texts = [lexical_query(reference, policy) for reference in references]
    lexical = source.wider(opens, texts, policy)
    return [
        tuple(dict.fromkeys([*source.catalog.places(reference), *(id_ for id_, _ in [*a, *b])]))
        for reference, a, b in zip(references, semantic, lexical, strict=True)
    ]


class Linker:
    """Run both steps over one catalog, in process.

    ``encoder`` None: the default encoder if the catalog has vectors. Raises SnapshotError if the catalog's vectors were made by
    another model, at another precision, or from texts of another mode or separator.
    """

    def __init__(
        self, catalog: Catalog, encoder: Any = None, policy: Policy | None = None, *, judge: Judge | None = None
    ) -> None:
        self.catalog, self.policy, self.judge = catalog, policy or Policy(), judge or shipped()
        if encoder is None and catalog.vectors is not None:
            from reflink.semantic import Encoder

            encoder = Encoder()
        self.encoder: Encodes | None = encoder
        self.source: Candidates = native_candidates(catalog, self.policy, encoder)
        if encoder is not None and catalog.vectors is not None and catalog.manifest.model is not None:
            catalog.check_model(encoder.name, self.policy.semantic_mode, encoder.precision, encoder.separator)

    @classmethod
    def over(cls, source: Candidates, policy: Policy | None = None, *, judge: Judge | None = None) -> Self:
        """Return a linker over another source of candidates than the catalog's own indexes."""
        linker = cls.__new__(cls)
        linker.catalog, linker.policy, linker.judge = source.catalog, policy or Policy(), judge or shipped()
        linker.encoder, linker.source = None, source
        return linker

    def link(self, references: Sequence[Reference], forbidden: Mapping[str, Iterable[str]] | None = None) -> list[Link]:
        """Return one outcome for each reference, in order. ``forbidden``: reference id -> ids of works it does not cite."""
        without = [tuple((forbidden or {}).get(reference.id, ())) for reference in references]
        first = semantic_step(references, self.source, self.policy, judge=self.judge, forbidden=without)
        opens = [item for item in first if isinstance(item, Open)]
        rest = iter(lexical_step(opens, self.source, self.policy, judge=self.judge))
        return [next(rest) if isinstance(item, Open) else item for item in first]


def _distinct(found: Iterable[tuple[str, float]], catalog: Catalog) -> list[Candidate]:
    """Return the distinct canonical candidates, best first, equal scores by smallest id."""
    best: dict[str, float] = {}
    for cited, score in found:
        best.setdefault(catalog.canonical(cited), rounded(score))
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return [Candidate(cited=cited, score=score) for cited, score in ranked]


def _paper_link(reference: Reference, found: list[Candidate], method: Method, catalog: Catalog) -> Link:
    best, work = found[0], catalog.get(found[0].cited)
    return Link(
        reference=reference.id, citing=reference.citing, cited=best.cited, method=method, score=best.score,
        runner_up=found[1] if len(found) > 1 else None, status=work.status if work else None,
    )  # fmt: skip


def _paper_semantic(
    reference: Reference, found: list[tuple[str, float]], catalog: Catalog, policy: Policy, forbidden: tuple[str, ...]
) -> Link | Open:
    ranked = _distinct(found, catalog)
    if ranked and found[0][1] >= policy.threshold:
        return _paper_link(reference, ranked, "semantic", catalog)
    semantic = tuple(Candidate(cited=cited, score=rounded(score)) for cited, score in found)
    return Open(reference=reference, found=Found(semantic=semantic), forbidden=forbidden)


def _paper_lexical(reference: Reference, text: str, found: list[tuple[str, float]], catalog: Catalog) -> Link:
    if ranked := _distinct(found, catalog):
        return _paper_link(reference, ranked, "lexical", catalog)
    why: Unresolved = "no-candidate" if text else "empty"
    return Link(reference=reference.id, citing=reference.citing, cited=None, unresolved=why)
