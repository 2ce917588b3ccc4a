"""Link references to works: propose candidates by identifiers, locators, vectors and trigrams, then decide by the verdict.

The two steps are pure functions that run in different processes. ``semantic_step`` needs a catalog's works, identifiers and
vectors; ``lexical_step`` needs its works, identifiers and trigrams. ``Linker`` composes them.

Profile ``paper`` is the published method (its recommended framework): the semantic top-1 if it reaches the threshold, else the
lexical top-1 without a threshold. In profile ``production`` each stage only proposes candidates, and one verdict decides from
the two records alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflink.blocking.locators import reference_places
from reflink.encoders import Encodes
from reflink.entities import Candidate, Link, Method, Reference, Unresolved
from reflink.linking.candidates import lexical_hits, lexical_query, semantic_hits
from reflink.linking.judging import Case, judge_all, rounded
from reflink.linking.policy import Found, Open, Policy
from reflink.stopwatch import Stopwatch
from reflink.verdict import Judge
from reflink.verdict.judge import shipped

if TYPE_CHECKING:
    from reflink.catalog import Catalog


def semantic_step(
    references: Sequence[Reference],
    catalog: Catalog,
    encoder: Encodes | None,
    policy: Policy,
    *,
    judge: Judge | None = None,
    watch: Stopwatch | None = None,
    precise: Encodes | None = None,
    forbidden: Sequence[tuple[str, ...]] | None = None,
    absent: Sequence[float] | None = None,
) -> list[Link | Open]:
    """Decide the references that identifiers, locators and the semantic index suffice for; return the others as Open.

    ``precise``: a more precise encoder than ``encoder``, used for references whose best two candidates are closer than
    ``encoder`` can distinguish. ``forbidden``: for each reference, ids of works that are not candidates, including their
    aliases in the catalog. ``absent``: for each reference, the share of absent works, instead of that of the policy. ``watch``
    records the time of ``text``, ``model``, ``search`` and ``verdict``.

    Cost: one encoding and one search for all references, and one more of each for those that ``precise`` encodes. References
    that an identifier or locator decides are not encoded, since encoding costs far more than the verdict. Without an encoder
    or vectors there are no semantic candidates.
    """
    judge, watch = judge or shipped(), watch or Stopwatch()
    never = forbidden or [()] * len(references)
    if policy.profile == "paper":
        hits = semantic_hits(references, catalog, encoder, policy, watch, precise, never)
        triples = zip(references, hits, never, strict=True)
        links = [_paper_semantic(reference, found, catalog, policy, without) for reference, found, without in triples]
        watch.lap("verdict")
        return links
    shares = absent or [policy.absent] * len(references)
    accepts = {share: policy.accept_at(share) for share in {*shares}}
    # A work without a vector can still be found by its trigrams, so only a complete index allows refusing.
    complete = catalog.vectors is not None and len(catalog.vectors) >= len(catalog)
    cases = [
        Case(reference, _bearers(reference, catalog), catalog.places(reference), catalog, without, share)
        for reference, without, share in zip(references, never, shares, strict=True)
    ]
    judge_all(cases, judge)
    settled = [case.link(max(policy.sure, accepts[case.absent]), judge) for case in cases]
    waiting = [(row, case) for row, case in enumerate(cases) if settled[row] is None]
    watch.lap("verdict")
    asked_for, never_for = [case.reference for _, case in waiting], [never[row] for row, _ in waiting]
    hits = semantic_hits(asked_for, catalog, encoder, policy, watch, precise, never_for)
    for (_, case), near in zip(waiting, hits, strict=True):
        case.propose(((cited, rounded(score)) for cited, score in near), "semantic")
    judge_all([case for _, case in waiting], judge)
    opened: dict[int, Open] = {}
    for (row, case), near in zip(waiting, hits, strict=True):
        link = case.link(max(policy.sure, accepts[case.absent]), judge)
        # Neither the locator nor the title finds a similar work, so the work is not in the catalog. The title alone would not
        # suffice, since it may be cut short.
        unlike = case.best < min(policy.refuse, accepts[case.absent])
        if link is None and unlike and complete and near and reference_places(case.reference):
            link = case.no_link("no-candidate", judge, versions=policy.versions)
        if link is None:
            semantic = tuple(Candidate.made({"cited": cited, "score": rounded(score)}) for cited, score in near)
            found = Found.made({"by_identifier": case.bearers, "places": case.places, "semantic": semantic})
            opened[row] = Open.made({"reference": case.reference, "found": found, "forbidden": never[row]})
        settled[row] = link
    watch.lap("verdict")
    return [link or opened[row] for row, link in enumerate(settled)]


def _bearers(reference: Reference, catalog: Catalog) -> tuple[str, ...]:
    return tuple(sorted({*catalog.lookup(reference.ids), *catalog.lookup(reference.ids_weak)}))


def lexical_step(
    opens: Sequence[Open],
    catalog: Catalog,
    policy: Policy,
    *,
    judge: Judge | None = None,
    watch: Stopwatch | None = None,
    absent: Sequence[float] | None = None,
) -> list[Link]:
    """Decide all open references in order: a link, or the reason why there is none. Costs one search.

    ``absent``: the shares of absent works that the semantic step was given for these references.

    Without trigrams the verdict decides on the candidates of the semantic step. The search begins with these candidates, since
    they are probably among the best by trigrams too. ``watch`` records the time of ``text``, ``search`` and ``verdict``.
    """
    watch = watch or Stopwatch()
    texts = [lexical_query(item.reference, policy) for item in opens]
    seeds = [tuple(candidate.cited for candidate in item.found.semantic) for item in opens]
    # The published method does not use a second candidate.
    wanted, floor = (1, None) if policy.profile == "paper" else (policy.candidates, policy.lexical_floor)
    watch.lap("text")
    hits = lexical_hits(texts, catalog, wanted, seeds, floor, [item.forbidden for item in opens])
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
        case.propose(((candidate.cited, candidate.score) for candidate in item.found.semantic), "semantic")
        case.propose(((cited, rounded(score)) for cited, score in near), "lexical")
        cases.append(case)
    judge_all(cases, judge)
    accepts = {case.absent: policy.accept_at(case.absent) for case in cases}
    links = []
    for case, item, text in zip(cases, opens, texts, strict=True):
        nothing = not text and not item.found.by_identifier
        why: Unresolved = "empty" if nothing else "no-candidate"
        accept = accepts[case.absent]
        links.append(case.link(accept, judge) or case.no_link(why, judge, accept, policy.versions))
    watch.lap("verdict")
    return links


def propose(
    references: Sequence[Reference], catalog: Catalog, encoder: Encodes | None, policy: Policy
) -> list[tuple[str, ...]]:
    """Return the distinct candidates of each reference by locator, vectors and trigrams; ids of single works, not canonical."""
    semantic = semantic_hits(references, catalog, encoder, policy, Stopwatch())
    texts = [lexical_query(reference, policy) for reference in references]
    lexical = lexical_hits(texts, catalog, policy.candidates, [[id_ for id_, _ in near] for near in semantic])
    return [
        tuple(dict.fromkeys([*catalog.places(reference), *(id_ for id_, _ in [*a, *b])]))
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
        if encoder is not None and catalog.vectors is not None and catalog.manifest.model is not None:
            catalog.check_model(encoder.name, self.policy.semantic_mode, encoder.precision, encoder.separator)

    def link(self, references: Sequence[Reference], forbidden: Mapping[str, Iterable[str]] | None = None) -> list[Link]:
        """Return one outcome for each reference, in order. ``forbidden``: reference id -> ids of works it does not cite."""
        without = [tuple((forbidden or {}).get(reference.id, ())) for reference in references]
        first = semantic_step(references, self.catalog, self.encoder, self.policy, judge=self.judge, forbidden=without)
        opens = [item for item in first if isinstance(item, Open)]
        rest = iter(lexical_step(opens, self.catalog, self.policy, judge=self.judge))
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
