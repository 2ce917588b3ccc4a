"""Forbidden works are never candidates, in both profiles and for each method."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reflink.entities import Ids, Link, Reference
from reflink.linking.linker import Linker
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Open, Policy
from reflink.stopwatch import Stopwatch
from tests.reflink.linking.letters import (
    JUDGE,
    PAPER,
    PRODUCTION,
    UNPLACED,
    WORKS,
    WRITTEN,
    Letters,
    catalog,
    cite,
    lexical_step,
    semantic_step,
    work,
)

#: The first work under another id, and a work that shares an identifier with the second.
AGAIN = work(11, WORKS[0].title or "")
SAME = work(12, "Mapping of loci for phosphorus deficiency", ids={"doi": "10.1/12", "pmid": "5"})
SECOND = WORKS[1].model_copy(update={"ids": Ids(doi="10.1/2", pmid="5")})
ALL = [WORKS[0], SECOND, *WORKS[2:], AGAIN, SAME]
#: A reference for each method: identifier, locator, semantic, lexical.
KINDS: list[dict[str, Any]] = [{"ids": {"doi": "10.1/1"}}, {}, UNPLACED, WRITTEN]
EAGER = Policy(sure=0.2, accept=0.2, refuse=0.0)


def linked(reference: Reference, policy: Policy, works: list[Any], forbidden: tuple[str, ...] = ()) -> Link:
    linker = Linker(catalog(works), Letters(), policy, judge=JUDGE)
    return linker.link([reference], {reference.id: forbidden})[0]


@given(
    st.sampled_from([PAPER, Policy(profile="paper", threshold=0.0), PRODUCTION, EAGER]),
    st.sampled_from(ALL),
    st.sampled_from(KINDS),
    st.lists(st.sampled_from(ALL), min_size=1, max_size=3, unique_by=lambda each: each.id),
)
@example(PAPER, SECOND, WRITTEN, [SECOND])  # the best two are one work, and the search has a limit of one
def test_a_reference_is_linked_as_in_a_catalog_without_the_forbidden_works(
    policy: Policy, target: Any, changed: dict[str, Any], never: list[Any]
) -> None:
    reference, whole = cite(target, **changed), catalog(ALL)
    gone = {whole.canonical(each.id) for each in never}
    left = [each for each in ALL if whole.canonical(each.id) not in gone]
    found = linked(reference, policy, ALL, tuple(each.id for each in never))
    expected = linked(reference, policy, left)
    assert (found.cited, found.method, found.score, found.probability) == (
        expected.cited,
        expected.method,
        expected.score,
        expected.probability,
    )
    assert found.cited not in gone


@pytest.mark.parametrize("name", ["doi:10.1/2", "doi:10.1/12", "pmid:5"])
def test_a_forbidden_work_is_forbidden_under_each_of_its_ids(name: str) -> None:
    reference = cite(SECOND, **UNPLACED)
    assert linked(reference, EAGER, ALL).cited == catalog(ALL).canonical("pmid:5")
    assert linked(reference, EAGER, ALL, (name,)).cited not in ("doi:10.1/2", "doi:10.1/12")


def test_an_unknown_work_may_be_forbidden() -> None:
    reference = cite(WORKS[2])
    assert linked(reference, PRODUCTION, ALL, ("doi:10.1/gone", "")) == linked(reference, PRODUCTION, ALL)


def test_each_reference_of_a_batch_has_its_own_forbidden_works() -> None:
    references = [cite(WORKS[0], id=f"c#{number}", **UNPLACED) for number in range(3)]
    linker = Linker(catalog(ALL), Letters(), EAGER, judge=JUDGE)
    found = linker.link(references, {"c#0": [WORKS[0].id], "c#2": [AGAIN.id, WORKS[0].id]})
    alone = [
        linked(each, EAGER, ALL, never)
        for each, never in zip(references, [(WORKS[0].id,), (), (AGAIN.id, WORKS[0].id)], strict=True)
    ]
    assert found == alone
    assert [each.cited for each in found][:2] == [AGAIN.id, WORKS[0].id]


def test_forbidden_works_do_not_reduce_the_number_of_candidates() -> None:
    few, here = Policy(candidates=2), catalog(ALL)
    references = [cite(each, **UNPLACED) for each in (WORKS[0], WORKS[2])]
    never: list[tuple[str, ...]] = [(WORKS[0].id, AGAIN.id), ()]
    source = NativeCandidates(here, Letters())
    plain = source.near(references, few, Stopwatch())
    near = source.near(references, few, Stopwatch(), never)
    assert [len(each) for each in near] == [2, 2]
    assert not {cited for cited, _ in near[0]} & set(never[0])
    assert near[1] == plain[1], "the limit is unchanged"
    texts = ["drought stress in grain legumes", "wheat"]
    opens = [Open(reference=references[0], forbidden=(WORKS[2].id,)), Open(reference=references[1])]
    (without, other) = source.wider(opens, texts, Policy(candidates=1))
    assert [len(without), len(other)] == [1, 1]
    assert without[0][0] != WORKS[2].id
    assert [other] == source.wider([Open(reference=each) for each in references], texts, Policy(candidates=1))[1:]


def test_forbidden_works_are_passed_on_to_the_lexical_step() -> None:
    """The lexical step runs in another process and reads them from its event."""
    patient, never = Policy(sure=1.1, refuse=0.0), (WORKS[0].id, AGAIN.id)
    (opened,) = semantic_step([cite(WORKS[0])], catalog(ALL), Letters(), patient, forbidden=[never])
    assert isinstance(opened, Open)
    assert opened.forbidden == never
    assert not {each.cited for each in opened.found.semantic} & set(never)
    (link,) = lexical_step([Open.from_json(opened.to_json())], catalog(ALL), EAGER)
    assert link.cited not in never
