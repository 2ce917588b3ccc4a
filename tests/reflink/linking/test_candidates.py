"""Forbidden works: a reference is judged as if the catalog had none of them, whatever proposes them and in either profile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reflink.entities import Ids, Link, Reference
from reflink.linking.candidates import lexical_hits, semantic_hits
from reflink.linking.linker import Linker
from reflink.linking.policy import Open, Policy
from reflink.stopwatch import Stopwatch
from tests.reflink.linking.test_linker import (
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

#: The first work again, by another id, and one that shares an identifier with the second.
AGAIN = work(11, WORKS[0].title or "")
SAME = work(12, "Mapping of loci for phosphorus deficiency", ids={"doi": "10.1/12", "pmid": "5"})
SECOND = WORKS[1].model_copy(update={"ids": Ids(doi="10.1/2", pmid="5")})
ALL = [WORKS[0], SECOND, *WORKS[2:], AGAIN, SAME]
#: A reference of each kind, as each method finds it: by identifier, by place, by meaning, by letters.
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
@example(PAPER, SECOND, WRITTEN, [SECOND])  # the best two are one work, and the search is asked for one
def test_a_reference_is_judged_as_if_the_catalog_had_no_forbidden_work(
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
def test_a_work_is_forbidden_under_every_name_that_it_has(name: str) -> None:
    reference = cite(SECOND, **UNPLACED)
    assert linked(reference, EAGER, ALL).cited == catalog(ALL).canonical("pmid:5")
    assert linked(reference, EAGER, ALL, (name,)).cited not in ("doi:10.1/2", "doi:10.1/12")


def test_what_is_unknown_may_be_forbidden() -> None:
    reference = cite(WORKS[2])
    assert linked(reference, PRODUCTION, ALL, ("doi:10.1/gone", "")) == linked(reference, PRODUCTION, ALL)


def test_of_one_batch_each_reference_has_its_own() -> None:
    references = [cite(WORKS[0], id=f"c#{number}", **UNPLACED) for number in range(3)]
    linker = Linker(catalog(ALL), Letters(), EAGER, judge=JUDGE)
    found = linker.link(references, {"c#0": [WORKS[0].id], "c#2": [AGAIN.id, WORKS[0].id]})
    alone = [
        linked(each, EAGER, ALL, never)
        for each, never in zip(references, [(WORKS[0].id,), (), (AGAIN.id, WORKS[0].id)], strict=True)
    ]
    assert found == alone
    assert [each.cited for each in found][:2] == [AGAIN.id, WORKS[0].id]


def test_as_many_are_proposed_as_without_anything_forbidden() -> None:
    few, here = Policy(candidates=2), catalog(ALL)
    references = [cite(each, **UNPLACED) for each in (WORKS[0], WORKS[2])]
    never: list[tuple[str, ...]] = [(WORKS[0].id, AGAIN.id), ()]
    plain = semantic_hits(references, here, Letters(), few, Stopwatch())
    near = semantic_hits(references, here, Letters(), few, Stopwatch(), None, never)
    assert [len(each) for each in near] == [2, 2]
    assert not {cited for cited, _ in near[0]} & set(never[0])
    assert near[1] == plain[1], "it is not asked for more than it would be"
    texts, seeds = ["drought stress in grain legumes", "wheat"], [(), ()]
    (without, other) = lexical_hits(texts, here, 1, seeds, None, [(WORKS[2].id,), ()])
    assert [len(without), len(other)] == [1, 1]
    assert without[0][0] != WORKS[2].id
    assert [other] == lexical_hits(texts, here, 1, seeds)[1:]


def test_what_is_forbidden_goes_with_the_reference_to_the_second_step() -> None:
    """The lexical step runs in another process: it knows what its event says."""
    patient, never = Policy(sure=1.1, refuse=0.0), (WORKS[0].id, AGAIN.id)
    (opened,) = semantic_step([cite(WORKS[0])], catalog(ALL), Letters(), patient, forbidden=[never])
    assert isinstance(opened, Open)
    assert opened.forbidden == never
    assert not {each.cited for each in opened.found.semantic} & set(never)
    (link,) = lexical_step([Open.from_json(opened.to_json())], catalog(ALL), EAGER)
    assert link.cited not in never
