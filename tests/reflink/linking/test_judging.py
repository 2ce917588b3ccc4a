"""A case decides as if each candidate had been compared separately, in any order of proposals."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.catalog import Catalog
from reflink.entities import Ids, Link, Method, Reference, RelatedWork, Work
from reflink.linking.judging import Case, Judged, judge_all, rounded
from reflink.verdict import Evidence, evidence
from reflink.verdict.evidence import Floats
from reflink.verdict.judge import shipped
from reflink.verdict.reasons import IDENTIFIER_ELSEWHERE, VOCABULARY
from tests.profiles import examples
from tests.reflink.verdict.evidences import sensible

JUDGE = sensible()
TITLES = ("Photosynthesis under water stress in plants", "Photosynthesis under water stress", "Wheat yields and heat")
REFERENCE = Reference(
    id="doi:10.1/0#1", citing="doi:10.1/0", position=1, title=TITLES[0], last_names=("Flexas",), year=2007,
    ids=Ids(doi="10.1/3"),
)  # fmt: skip
ELSEWHERE = REFERENCE.model_copy(update={"id": "doi:10.1/9#1", "citing": "doi:10.1/9", "title": TITLES[2], "ids": Ids()})

Described = tuple[str, int | None, bool, int | None]
works = st.lists(
    st.tuples(st.sampled_from(TITLES), st.none() | st.integers(2006, 2008), st.booleans(), st.none() | st.integers(0, 2)),
    min_size=1,
    max_size=6,
)
numbers = st.lists(st.integers(0, 6), max_size=2)
proposals = st.lists(st.tuples(st.integers(0, 7), st.floats(0, 1), st.sampled_from(["semantic", "lexical"])), max_size=8)


class Counting:
    """A judge that counts the pairs of each pass."""

    def __init__(self) -> None:
        self.passes: list[int] = []

    def probabilities(self, rows: Floats, absent: float = 0.5) -> Floats:
        self.passes.append(len(rows))
        return JUDGE.probabilities(rows, absent)

    def contributions(self, row: Floats) -> dict[str, float]:
        return JUDGE.contributions(row)


def catalog_of(described: list[Described]) -> Catalog:
    catalog = Catalog.empty(lexical_mode=None)
    catalog.add(
        [
            Work(
                id=f"doi:10.1/{number}", ids=Ids(doi=f"10.1/{number}", pmid=None if pmid is None else str(pmid)), title=title,
                authors=("Flexas",) if same else ("Nobody",), year=year, status="retracted" if same else None,
            )
            for number, (title, year, same, pmid) in enumerate(described)
        ]
    )  # fmt: skip
    return catalog


def plain(
    reference: Reference, catalog: Catalog, bearers: list[str], proposed: list[tuple[str, float, Method]]
) -> list[tuple[str, Method, float, float]]:
    """Return (canonical id, method, score, probability) of each candidate, best first."""
    own = catalog.canonical(reference.citing)
    bearing = {catalog.canonical(each) for each in bearers}
    first: dict[str, tuple[Method, float]] = {}
    best: dict[str, float] = {}
    for cited, score, method in proposed:
        one, work = catalog.canonical(cited), catalog.get(cited)
        if one == own and one not in bearing:
            continue
        first.setdefault(one, (method, score))
        if work is not None:
            found = evidence(reference, work, by_identifier=one in bearing)
            best[one] = max(best.get(one, 0.0), JUDGE.probability(found))
    return sorted(((one, *first[one], best[one]) for one in best), key=lambda each: (-each[3], each[0]))


def shown(judged: Judged) -> tuple[str, str, float, float]:
    return judged.cited, judged.method, judged.score, pytest.approx(judged.probability, abs=1e-9)


def ids_of(chosen: list[int]) -> list[str]:
    return [f"doi:10.1/{number}" for number in chosen]


@settings(max_examples=examples(300))
@given(works, numbers, numbers, proposals, st.floats(0, 1), st.booleans())
def test_a_case_ranks_its_candidates_by_their_separate_verdicts(
    described: list[Described],
    bearers: list[int],
    places: list[int],
    proposed: list[tuple[int, float, Method]],
    least: float,
    often: bool,
) -> None:
    catalog, judge = catalog_of(described), Counting()
    bearing, placed = ids_of(bearers), ids_of(places)
    candidates: list[tuple[str, float, Method]] = [(f"doi:10.1/{number}", score, method) for number, score, method in proposed]
    case = Case(REFERENCE, bearing, placed, catalog)
    for cited, score, method in candidates:
        case.propose([(cited, score)], method)
        if often:
            judge_all([case], judge)
    judge_all([case], judge)
    certain: list[tuple[str, float, Method]] = [(each, 1.0, "identifier") for each in bearing]
    certain += [(each, 1.0, "place") for each in placed]
    expected = plain(REFERENCE, catalog, bearing, certain + candidates)
    assert [shown(each) for each in case.ranked()] == expected
    compared = {cited for cited, _, _ in certain + candidates if cited in catalog}
    assert sum(judge.passes) <= len(compared), "a work is compared once"
    link = case.link(least, judge)
    if not expected or case.best < least:
        assert link is None
        return
    assert link is not None
    assert (link.cited, link.method, link.score) == expected[0][:3]
    assert link.probability == rounded(expected[0][3])
    runner_up = link.runner_up and (link.runner_up.cited, link.runner_up.score, link.runner_up.probability)
    assert runner_up == ((expected[1][0], expected[1][2], rounded(expected[1][3])) if len(expected) > 1 else None)


@given(st.lists(st.tuples(works, numbers, proposals), min_size=1, max_size=4))
def test_a_batch_of_cases_needs_one_pass_and_has_the_verdicts_of_single_cases(
    several: list[tuple[list[Described], list[int], list[tuple[int, float, Method]]]],
) -> None:
    catalog = catalog_of([one for described, _, _ in several for one in described][:8])

    def cases() -> list[Case]:
        made = []
        for at, (_, bearers, proposed) in enumerate(several):
            case = Case((REFERENCE, ELSEWHERE)[at % 2], ids_of(bearers), (), catalog)
            for number, score, method in proposed:
                case.propose([(f"doi:10.1/{number}", score)], method)
            made.append(case)
        return made

    together, alone, judge = cases(), cases(), Counting()
    judge_all(together, judge)
    for case in alone:
        judge_all([case], JUDGE)
    assert len(judge.passes) <= 1
    for one, other in zip(together, alone, strict=True):
        assert [each[:4] for each in one.ranked()] == [(*each[:3], pytest.approx(each.probability)) for each in other.ranked()]


def judged(catalog: Catalog, reference: Reference = REFERENCE, bearers: tuple[str, ...] = (), **more: Any) -> Case:
    """Return a case with verdicts on all works."""
    case = Case(reference, bearers, more.get("places", ()), catalog, absent=more.get("absent", 0.5))
    case.propose(((work.id, 0.5) for work in catalog), "semantic")
    judge_all([case], JUDGE)
    return case


def test_a_link_has_the_evidence_reasons_and_status_of_its_work() -> None:
    catalog = catalog_of([(TITLES[2], 1950, False, None), (TITLES[0], 2007, True, None)])
    link = judged(catalog).link(0.5, JUDGE)
    assert link is not None
    assert (link.cited, link.status, link.unresolved) == ("doi:10.1/1", "retracted", None)
    assert link.evidence == evidence(REFERENCE, catalog.get("doi:10.1/1") or Work(id="")).present()
    assert link.evidence["title"] == 1.0
    assert link.reasons
    assert set(link.reasons) <= set(VOCABULARY)
    assert type(link).from_json(link.to_json()) == link


def test_an_outcome_without_a_link_has_the_evidence_of_the_best_candidate() -> None:
    catalog = catalog_of([(TITLES[2], 1950, False, None), (TITLES[1], 1990, False, None)])
    case = judged(catalog, REFERENCE.model_copy(update={"ids": Ids()}))
    assert case.link(0.5, JUDGE) is None
    link = case.no_link("no-candidate", JUDGE)
    assert (link.cited, link.unresolved, link.method, link.score) == (None, "not-in-catalog", None, None)
    assert link.runner_up is not None
    assert link.runner_up.cited == "doi:10.1/1"
    assert link.runner_up.probability == link.probability == rounded(case.best)
    assert link.evidence == evidence(case.reference, catalog.get("doi:10.1/1") or Work(id="")).present()
    assert "no author in common" in link.reasons


@pytest.mark.parametrize("why", ["empty", "no-candidate"])
def test_an_outcome_without_candidates_has_no_evidence(why: Any) -> None:
    case = Case(ELSEWHERE, (), (), catalog_of([]))
    judge = Counting()
    judge_all([case], judge)
    link = case.no_link(why, judge)
    assert (link.unresolved, link.probability, link.runner_up, link.reasons, link.evidence) == (why, None, None, (), {})
    assert case.link(0.0, judge) is None
    assert (case.best, judge.passes) == (0.0, [])


def test_an_identifier_of_a_work_not_linked_is_a_reason() -> None:
    right, wrong = (TITLES[0], 2007, True, None), (TITLES[2], 1950, False, None)
    catalog = catalog_of([wrong, right, wrong, wrong])
    reference = REFERENCE.model_copy(update={"citing": "doi:10.1/9"})
    link = judged(catalog, reference, ("doi:10.1/3",)).link(0.5, JUDGE)
    assert link is not None
    assert link.cited == "doi:10.1/1"
    assert link.reasons[0] == IDENTIFIER_ELSEWHERE
    followed = judged(catalog, reference, ("doi:10.1/1",)).link(0.5, JUDGE)
    assert followed is not None
    assert (followed.cited, followed.method) == ("doi:10.1/1", "identifier")
    assert IDENTIFIER_ELSEWHERE not in followed.reasons
    nobody = judged(catalog_of([wrong]), reference, ("doi:10.1/0",)).no_link("no-candidate", JUDGE)
    assert nobody.reasons[0] == IDENTIFIER_ELSEWHERE
    assert nobody.runner_up is not None
    assert nobody.runner_up.cited == "doi:10.1/0"


def test_the_citing_paper_is_a_candidate_only_by_its_identifier() -> None:
    catalog = catalog_of([(TITLES[0], 2007, True, None)])
    assert judged(catalog).ranked() == []
    assert [each.cited for each in judged(catalog, bearers=("doi:10.1/0",)).ranked()] == ["doi:10.1/0"]


def test_equal_works_rank_by_id_and_records_of_one_work_are_one_candidate() -> None:
    same = (TITLES[0], 2007, True, None)
    reference = REFERENCE.model_copy(update={"citing": "doi:10.1/9", "ids": Ids()})
    assert [each.cited for each in judged(catalog_of([same, same, same]), reference).ranked()] == ids_of([0, 1, 2])
    twin = (*same[:3], 1)
    worse = (TITLES[1], 2007, True, 1)
    ranked = judged(catalog_of([worse, twin, same]), reference).ranked()
    assert [each.cited for each in ranked] == ["doi:10.1/0", "doi:10.1/2"]
    assert Evidence(*ranked[0].row.tolist()).equal == 1, "the better record of the one work counts"


REPLY = "A reply to the authors"
BY_LOCATOR = Reference(id="r", citing="c", position=1, raw_text="New Phytol. 2007 Jul;175(1):81-93")


@pytest.mark.parametrize(
    ("titles", "ids", "outcome"),
    [
        ((TITLES[0], REPLY), {}, (None, "ambiguous")),
        ((TITLES[0], None), {}, (None, "ambiguous")),
        ((None, None), {}, (None, "ambiguous")),
        ((TITLES[0], f"{TITLES[0]} (2nd record)"), {}, ("doi:10.1/0", None)),
        ((TITLES[0], f"{TITLES[0]} (2nd record)", REPLY), {}, (None, "ambiguous")),
        ((TITLES[0], REPLY), {"ids": Ids(doi="10.1/1")}, ("doi:10.1/1", None)),
        ((TITLES[0], REPLY), {"ids_weak": Ids(doi="10.1/1")}, ("doi:10.1/1", None)),
    ],
)
def test_two_works_at_the_locator_of_a_reference_without_title_are_ambiguous(
    titles: tuple[str | None, ...], ids: dict[str, Ids], outcome: tuple[str | None, str | None]
):
    catalog = Catalog.empty(lexical_mode=None)
    fields: dict[str, Any] = {"venue": "New Phytologist", "year": 2007, "volume": "175", "fpage": "81"}
    works = [Work(id=f"doi:10.1/{n}", ids=Ids(doi=f"10.1/{n}"), title=title, **fields) for n, title in enumerate(titles)]
    catalog.add(works)
    reference = BY_LOCATOR.model_copy(update=ids)
    bearers = [*catalog.lookup(reference.ids), *catalog.lookup(reference.ids_weak)]
    case = Case(reference, bearers, catalog.places(reference), catalog)
    judge_all([case], shipped())
    link = case.link(0.5, shipped()) or case.no_link("no-candidate", shipped(), 0.5)
    assert (link.cited, link.unresolved) == outcome
    assert link.runner_up is not None
    assert {"venue matches", "page matches"} <= {*link.reasons}
    assert case.no_link("no-candidate", shipped(), 1.0).unresolved == "not-in-catalog"


TITLED = Reference(
    id="r", citing="c", position=1, title="Reporting trials of irrigation in dry years", last_names=("Flexas", "Bota"),
    year=2010,
)  # fmt: skip
PLACED = {"venue": "Field Crops Research", "volume": "12", "first_page": "101"}
VERSIONS = (("Annals of Agronomy", "7", "55"), ("Soil Letters", "30", "9"), ("Field Crops Research", "12", "101"))


def of_versions(reference: Reference, *which: int, title: str | None = None, **more: Any) -> Link:
    """Return the outcome in a catalog of some of VERSIONS."""
    catalog = Catalog.empty(lexical_mode=None)
    catalog.add(
        [
            Work(
                id=f"doi:10.1/{n}", ids=Ids(doi=f"10.1/{n}"), title=title or TITLED.title, authors=("Flexas", "Bota"),
                year=2010, venue=venue, volume=volume, fpage=page,
            )
            for n, (venue, volume, page) in enumerate(VERSIONS)
            if n in which
        ]
    )  # fmt: skip
    case = Case(reference, catalog.lookup(reference.ids), (), catalog)
    case.propose(((work.id, 0.5) for work in catalog), "semantic")
    judge_all([case], shipped())
    return case.link(0.5, shipped()) or case.no_link("no-candidate", shipped(), 0.5, **more)


@pytest.mark.parametrize(("which", "outcome"), [((0,), "other-version"), ((0, 1), "other-version"), ((0, 1, 2), None)])
def test_another_version_is_named_and_the_cited_one_linked(which: tuple[int, ...], outcome: str | None) -> None:
    made = of_versions(TITLED.model_copy(update=PLACED), *which)
    assert made.unresolved == outcome
    if outcome is None:
        assert (made.cited, made.related) == ("doi:10.1/2", None)
        return
    assert made.related is not None
    assert made.runner_up is not None
    assert made.related.work == made.runner_up.cited
    assert made.related.relation == "version-of"
    assert type(made).from_json(made.to_json()) == made


def test_the_policy_may_link_to_another_version_but_not_to_a_work_about_it() -> None:
    reference = TITLED.model_copy(update=PLACED)
    made = of_versions(reference, 0, versions="link")
    assert (made.cited, made.unresolved) == ("doi:10.1/0", None)
    assert made.related == RelatedWork(work="doi:10.1/0", relation="version-of")
    erratum = of_versions(reference, 0, title=f"Erratum: {TITLED.title}", versions="link")
    assert (erratum.cited, erratum.unresolved) == (None, "other-version")
    assert erratum.related == RelatedWork(work="doi:10.1/0", relation="corrects")


def test_two_versions_that_the_reference_does_not_tell_apart_are_ambiguous() -> None:
    assert of_versions(TITLED, 0).cited == "doi:10.1/0"
    made = of_versions(TITLED, 0, 1)
    assert (made.cited, made.unresolved, made.related) == (None, "ambiguous", None)
    assert of_versions(TITLED.model_copy(update={"ids": Ids(doi="10.1/1")}), 0, 1).cited == "doi:10.1/1"
    assert of_versions(TITLED.model_copy(update=PLACED), 0, 2).cited == "doi:10.1/2"


def test_records_of_one_work_are_not_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = ("Field Crops Res", "12", "101")
    monkeypatch.setattr(sys.modules[__name__], "VERSIONS", (*VERSIONS[:2], VERSIONS[2], twin))
    assert of_versions(TITLED, 2, 3).cited == "doi:10.1/2"


def test_a_candidate_keeps_the_method_of_its_first_proposal() -> None:
    catalog = catalog_of([(TITLES[0], 2007, True, None)])
    reference = REFERENCE.model_copy(update={"citing": "doi:10.1/9", "ids": Ids()})
    one = ("doi:10.1/0",)
    for bearers, places, method, score in ((one, one, "identifier", 1.0), ((), one, "place", 1.0), ((), (), "semantic", 0.5)):
        (candidate,) = judged(catalog, reference, bearers, places=places).ranked()
        assert (candidate.method, candidate.score) == (method, score)


def test_a_higher_share_of_absent_works_lowers_each_probability() -> None:
    catalog = catalog_of([(TITLES[1], 2007, True, None), (TITLES[2], None, False, None)])
    reference = REFERENCE.model_copy(update={"citing": "doi:10.1/9", "ids": Ids()})
    by_share = [judged(catalog, reference, absent=absent).best for absent in (0.1, 0.5, 0.9)]
    assert by_share == sorted(by_share, reverse=True)
    assert by_share[0] > by_share[-1]
