"""The decisions of both steps in both profiles, on a small catalog with an encoder of letter pairs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.catalog import Catalog
from reflink.cli.explain import consider
from reflink.entities import Ids, Link, Reference, Work
from reflink.linking.judging import rounded
from reflink.linking.linker import Linker
from reflink.linking.policy import Found, Open, Policy
from reflink.text import work_text
from reflink.verdict.reasons import IDENTIFIER_ELSEWHERE
from tests.reflink.linking.letters import (
    DIM,
    ELSEWHERE,
    EMPTY,
    JUDGE,
    PAPER,
    PRODUCTION,
    UNPLACED,
    WORKS,
    WRITTEN,
    Letters,
    Never,
    catalog,
    cite,
    lexical_step,
    one,
    semantic_step,
    work,
)


@pytest.mark.parametrize("target", [WORKS[0], WORKS[1], WORKS[2], WORKS[4]])
def test_production_links_with_probability_reasons_and_status(target: Work) -> None:
    link = one(cite(target, **UNPLACED))
    assert (link.cited, link.method, link.status) == (target.id, "semantic", target.status)
    assert link.probability is not None
    assert link.probability >= PRODUCTION.sure
    assert link.reasons
    assert link.evidence["title"] == 1.0
    assert link.runner_up is not None
    assert link.runner_up.cited != link.cited
    assert link.runner_up.probability is not None
    assert link.runner_up.probability <= link.probability


@pytest.mark.parametrize("changed", [{}, {"title": None}])
def test_a_reference_settled_by_its_locator_is_not_encoded(changed: dict[str, Any]) -> None:
    policy = Policy(sure=0.5)
    for target in WORKS:
        (link,) = semantic_step([cite(target, raw_text=None, **changed)], catalog(), Never(), policy)
        assert isinstance(link, Link)
        assert (link.cited, link.method, link.score, link.runner_up) == (target.id, "place", 1.0, None)


def test_the_verdict_may_reject_the_work_at_a_locator() -> None:
    same_place = cite(WORKS[1], title="Sodium hypochlorite and seeds", last_names=["Chun"], raw_text=None)
    link = one(same_place)
    assert link.cited is None
    assert link.runner_up is not None
    assert link.runner_up.cited == WORKS[1].id
    assert link.runner_up.score == 1.0
    (opened,) = semantic_step([same_place], catalog(), Letters(), Policy(refuse=0.0))
    assert isinstance(opened, Open)
    assert opened.found.places == (WORKS[1].id,)


def test_the_lexical_step_compares_the_works_at_a_locator() -> None:
    reference = cite(WORKS[0], title=None, raw_text=None)
    opened = Open(reference=reference, found=Found(places=(WORKS[0].id, "doi:10.1/gone")))
    (link,) = lexical_step([opened], catalog(), PRODUCTION)
    assert (link.cited, link.method) == (WORKS[0].id, "place")


def test_production_leaves_a_reference_to_an_absent_work_unresolved() -> None:
    for policy in (PRODUCTION, Policy(refuse=0.0)):
        link = one(ELSEWHERE, policy)
        assert (link.cited, link.method, link.unresolved) == (None, None, "not-in-catalog")
        assert link.runner_up is not None
        assert link.runner_up.probability == link.probability


def test_the_semantic_step_refuses_a_searched_reference_below_the_threshold() -> None:
    (link,) = semantic_step([ELSEWHERE], catalog(), Letters(), PRODUCTION)
    assert isinstance(link, Link)
    assert link.unresolved == "not-in-catalog"
    assert link.probability is not None
    assert link.probability < PRODUCTION.refuse
    assert link == one(ELSEWHERE)
    (opened,) = semantic_step([ELSEWHERE], catalog(), Letters(), Policy(refuse=rounded(link.probability) / 2))
    assert isinstance(opened, Open)


@pytest.mark.parametrize("encoder", [None, Never()])
def test_the_semantic_step_refuses_no_reference_that_it_did_not_search(encoder: Letters | None) -> None:
    always = Policy(refuse=1.0)
    unsearched = [ELSEWHERE.model_copy(update={"title": None}), cite(WORKS[0], **WRITTEN), EMPTY]
    unsearched += [ELSEWHERE] if encoder is None else []
    for item in semantic_step(unsearched, catalog(), encoder, always):
        assert isinstance(item, Open)
    places = cite(WORKS[0], title=None, last_names=["Chun"], year=1950)
    (opened,) = semantic_step([places], catalog(), encoder, Policy(refuse=1.0, sure=1.1))
    assert isinstance(opened, Open)


@pytest.mark.parametrize("changed", [{}, UNPLACED])
def test_no_step_links_below_the_accepted_probability(changed: dict[str, Any]) -> None:
    strict = Policy(sure=0.1, accept=1.1, refuse=0.0)
    (opened,) = semantic_step([cite(WORKS[0], **changed)], catalog(), Letters(), strict)
    assert isinstance(opened, Open)
    assert one(cite(WORKS[0], **changed), strict).unresolved == "not-in-catalog"


def test_the_semantic_step_refuses_nothing_while_a_work_has_no_vector() -> None:
    here = catalog()
    here.add_unencoded([work(6, "Wheat yields under heat", authors=("Li",), venue="Crop Science")])
    (opened,) = semantic_step([ELSEWHERE], here, Letters(), PRODUCTION)
    assert isinstance(opened, Open)
    found = one(cite(here.get("doi:10.1/6") or WORKS[0], **UNPLACED), of=here)
    assert (found.cited, found.method) == ("doi:10.1/6", "lexical")


def test_a_higher_share_of_absent_works_lowers_the_probability_of_a_link() -> None:
    reference = cite(WORKS[0], title="Photosynthetic limitations", year=2008, raw_text=None, **UNPLACED)
    found = [one(reference, Policy(absent=absent, refuse=0.0)).probability or 0.0 for absent in (0.01, 0.5, 0.99)]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


def test_reasons_for_no_link() -> None:
    assert one(EMPTY).unresolved == "empty"
    assert one(EMPTY, PAPER).unresolved == "empty"
    nothing = catalog(WORKS[:1])
    nothing.remove([WORKS[0].id])
    assert one(ELSEWHERE, of=nothing).unresolved == "no-candidate"
    assert one(ELSEWHERE, PAPER, of=nothing).unresolved == "no-candidate"


def test_a_reference_with_an_identifier_is_linked_without_encoding() -> None:
    link = one(cite(WORKS[0], ids={"doi": "10.1/1"}), encoder=Never())
    assert (link.cited, link.method) == (WORKS[0].id, "identifier")
    bare = Reference(id="c#1", citing="c", position=1, ids=Ids(doi="10.1/2"))
    assert one(bare, encoder=Never()).cited == WORKS[1].id
    weak = Reference(id="c#1", citing="c", position=1, ids_weak=Ids(doi="10.1/2"))
    assert one(weak, encoder=Never()).cited == WORKS[1].id


def test_the_metadata_outrank_an_identifier_of_another_work() -> None:
    for changed in ({}, UNPLACED, {**UNPLACED, "title": None}):
        link = one(cite(WORKS[0], ids={"doi": "10.1/3"}, **changed))
        assert link.cited == WORKS[0].id
        assert link.reasons[0] == IDENTIFIER_ELSEWHERE
    none = one(ELSEWHERE.model_copy(update={"ids": Ids(doi="10.1/2")}))
    assert none.cited is None
    assert IDENTIFIER_ELSEWHERE in none.reasons
    assert none.runner_up is not None
    assert none.runner_up.cited == WORKS[1].id
    assert IDENTIFIER_ELSEWHERE not in one(cite(WORKS[0], ids={"doi": "10.1/1"})).reasons
    assert IDENTIFIER_ELSEWHERE not in one(cite(WORKS[0])).reasons


def test_a_citation_without_title_is_linked_by_the_lexical_step() -> None:
    raw = cite(WORKS[0], **WRITTEN)
    assert semantic_step([raw], catalog(), Never(), PRODUCTION) == [Open(reference=raw)]
    link = one(raw)
    assert (link.cited, link.method) == (WORKS[0].id, "lexical")


@pytest.mark.parametrize("changed", [{}, UNPLACED, WRITTEN])
def test_a_reference_to_its_own_paper_needs_the_identifier(changed: dict[str, Any]) -> None:
    own = cite(WORKS[0], citing=WORKS[0].id, **changed)
    assert one(own).cited is None
    assert one(own).runner_up is None or one(own).runner_up.cited != WORKS[0].id  # type: ignore[union-attr]
    assert one(own.model_copy(update={"ids": Ids(doi="10.1/1")})).cited == WORKS[0].id


@pytest.mark.parametrize("changed", [{}, UNPLACED, WRITTEN])
def test_records_of_one_work_are_linked_by_the_canonical_id_and_are_not_runners_up(changed: dict[str, Any]) -> None:
    twin = work(0, WORKS[0].title or "", fpage="81", ids={"doi": "10.1/0", "pmid": "7"})
    here = catalog([*WORKS, twin, work(7, "Another title for it", ids={"pmid": "7", "doi": "10.1/1"})])
    for policy in (PRODUCTION, PAPER):
        link = one(cite(WORKS[0], **changed), policy, here)
        assert link.cited == "doi:10.1/0"
        assert link.runner_up is None or link.runner_up.cited not in ("doi:10.1/0", "doi:10.1/1", "doi:10.1/7")


@pytest.mark.parametrize("changed", [{}, UNPLACED, WRITTEN])
def test_of_equal_works_the_smallest_id_is_linked(changed: dict[str, Any]) -> None:
    twin = WORKS[1].model_copy(update={"id": "doi:10.1/2b", "ids": Ids(doi="10.1/2b")})
    for works in ([twin, *WORKS], [*WORKS, twin]):
        link = one(cite(WORKS[1], **changed), of=catalog(works))
        assert link.cited == "doi:10.1/2"
        assert link.runner_up is not None
        assert link.runner_up.cited == "doi:10.1/2b"
        assert link.runner_up.probability == link.probability


def test_profile_paper_links_the_semantic_top_at_the_threshold() -> None:
    link = one(cite(WORKS[0]), PAPER)
    assert (link.cited, link.method, link.probability) == (WORKS[0].id, "semantic", None)
    exact = Policy(profile="paper", threshold=0.0)
    assert one(ELSEWHERE, exact).method == "semantic"


def test_profile_paper_links_the_lexical_top_below_the_threshold() -> None:
    never = Policy(profile="paper", threshold=1.1)
    link = one(ELSEWHERE, never)
    assert link.method == "lexical"
    assert link.cited is not None
    best = catalog().trigrams
    assert best is not None
    from reflink.text import reference_text

    ids = best.search([reference_text(ELSEWHERE, "Raw", lexical=True)], 1).ids
    assert link.cited == ids[0, 0]


def test_profile_paper_ignores_identifiers_and_may_link_the_citing_paper() -> None:
    link = one(cite(WORKS[0], ids={"doi": "10.1/2"}, citing=WORKS[0].id), PAPER)
    assert (link.cited, link.method) == (WORKS[0].id, "semantic")


def test_a_lexical_floor_removes_hits_below_it_except_in_profile_paper() -> None:
    reference = cite(WORKS[4], raw_text="Pfam protein families")
    for profile, links in (("production", {WORKS[4].id, None}), ("paper", {WORKS[4].id})):
        found = {
            lexical_step([Open(reference=reference)], catalog(), Policy(profile=profile, lexical_floor=floor))[0].cited  # type: ignore[arg-type]
            for floor in (None, 0.99)
        }
        assert found == links


def test_an_open_reference_round_trips_through_json() -> None:
    patient, reference = Policy(refuse=0.0, sure=1.1), cite(WORKS[0], title="Sodium and seeds", ids={"doi": "10.1/2"})
    first = semantic_step([reference], catalog(), Letters(), patient)[0]
    assert isinstance(first, Open)
    assert first.found.semantic
    assert (first.found.by_identifier, first.found.places) == ((WORKS[1].id,), (WORKS[0].id,))
    assert Open.from_json(first.to_json()) == first
    assert lexical_step([Open.from_json(first.to_json())], catalog(), patient) == [one(reference, patient)]


def test_the_lexical_step_skips_removed_works() -> None:
    gone = Open(reference=ELSEWHERE, found=Found(by_identifier=("doi:10.1/gone",)))
    assert lexical_step([gone], catalog(), PRODUCTION)[0].cited is None


def test_each_step_needs_only_its_own_index() -> None:
    reference = cite(WORKS[3], title="Wheats")
    vectors_only, trigrams_only = Catalog.empty(dim=DIM, lexical_mode=None), Catalog.empty()
    texts = [work_text(each, "TVL", lexical=False) for each in WORKS]
    vectors_only.add(WORKS, Letters().encode(texts))
    trigrams_only.add(WORKS)
    never = Policy(sure=1.1, refuse=0.0)
    first = semantic_step([reference], vectors_only, Letters(), never)[0]
    assert isinstance(first, Open)
    assert lexical_step([first], trigrams_only, never) == [one(reference, never)]
    assert Linker(trigrams_only, judge=JUDGE).link([cite(WORKS[3], **UNPLACED)])[0].method == "lexical"


references = st.lists(
    st.sampled_from(
        [
            *map(cite, WORKS),
            cite(WORKS[0], **UNPLACED),
            cite(WORKS[2], **WRITTEN),
            ELSEWHERE,
            EMPTY,
            cite(WORKS[0], title=None),
            cite(WORKS[1], ids={"doi": "10.1/4"}),
        ]
    ),
    max_size=8,
)
CATALOG = catalog()


@given(references, st.integers(0, 8), st.sampled_from([PAPER, PRODUCTION]))
def test_batching_does_not_change_outcomes(given_: list[Reference], cut: int, policy: Policy) -> None:
    linker = Linker(CATALOG, Letters(), policy, judge=JUDGE)
    whole = linker.link(given_)
    assert whole == linker.link(given_[:cut]) + linker.link(given_[cut:])
    for reference, link in zip(given_, whole, strict=True):
        assert (link.reference, link.citing) == (reference.id, reference.citing)
        assert (link.cited is None) == (link.unresolved is not None) == (link.method is None)
        assert link.cited is None or CATALOG.canonical(link.cited) == link.cited


TRANSLATED = work(
    7, "Yield of wheat on saline soils", authors=("Silva",), translated_titles=("Produtividade do trigo em solos salinos",)
)


@pytest.mark.parametrize("title", [TRANSLATED.title, *TRANSLATED.translated_titles])
@pytest.mark.parametrize("placed", [True, False])
def test_a_work_is_linked_under_each_of_its_titles(title: str, placed: bool) -> None:
    made = Catalog.empty()
    made.add([*WORKS, TRANSLATED])
    where = {} if placed else {"volume": None, "first_page": None}
    link = Linker(made, judge=JUDGE).link([cite(TRANSLATED, title=title, **where)])[0]
    assert (link.cited, link.evidence["title"]) == (TRANSLATED.id, 1.0)
    without = Catalog.empty()
    without.add([*WORKS, TRANSLATED.model_copy(update={"translated_titles": ()})])
    plain = Linker(without, judge=JUDGE).link([cite(TRANSLATED, title=title, **where)])[0]
    assert (plain == link) == (title == TRANSLATED.title)


@pytest.mark.parametrize("title", [TRANSLATED.title, *TRANSLATED.translated_titles])
def test_the_explanation_of_a_link_by_a_translated_title_has_its_probability(title: str) -> None:
    made = Catalog.empty()
    made.add([*WORKS, TRANSLATED])
    linker, reference = Linker(made, judge=JUDGE), cite(TRANSLATED, title=title, volume=None, first_page=None)
    best = consider(reference, linker)[0]
    link = linker.link([reference])[0]
    assert (best.canonical, rounded(best.verdict.probability)) == (link.cited, link.probability)
    assert best.work == TRANSLATED
