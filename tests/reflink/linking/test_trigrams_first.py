"""Trigrams before vectors: the same outcomes, and only the references that trigrams leave open are encoded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Link, Reference
from reflink.linking.linker import Linker, lexical_step, semantic_step
from reflink.linking.native import NativeCandidates, TrigramsFirst, native_candidates
from reflink.linking.policy import Open, Policy
from reflink.stopwatch import Stopwatch
from tests.profiles import examples
from tests.reflink.linking.letters import (
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
    work,
)

FIRST = Policy(first="trigrams")
#: A linker that leaves everything open, except what the second search would not search.
PATIENT = replace(FIRST, sure=1.0, refuse=0.0)
#: Changes that leave a reference without locator and with another title, so that no stage is sure of it.
VAGUE: dict[str, Any] = {**UNPLACED, "title": "Limitations of photosynthesis", "year": 2006, "raw_text": "Limitations"}


def linker(policy: Policy = FIRST, encoder: Letters | None = None) -> Linker:
    return Linker(catalog(), encoder or Letters(), policy, judge=JUDGE)


def decided(*references: Reference, policy: Policy = FIRST) -> list[Link | Open]:
    return semantic_step(references, TrigramsFirst(catalog()), policy, judge=JUDGE)


@pytest.mark.parametrize("changed", [{}, UNPLACED, WRITTEN])
def test_what_trigrams_decide_is_not_encoded(changed: dict[str, Any]) -> None:
    found = linker(encoder=Never()).link([cite(each, **changed) for each in WORKS[:3]])
    assert [link.cited for link in found] == [each.id for each in WORKS[:3]]
    assert {link.method for link in found} == ({"lexical"} if changed else {"place"})


def test_an_absent_work_is_refused_by_trigrams_alone() -> None:
    (link,) = decided(ELSEWHERE)
    assert isinstance(link, Link)
    assert (link.cited, link.unresolved) == (None, "not-in-catalog")


def test_a_refusal_requires_that_every_work_is_searched() -> None:
    incomplete = catalog()
    assert incomplete.trigrams is not None
    incomplete.trigrams.remove([WORKS[3].id])
    references = [ELSEWHERE, cite(work(8, "Roots"), **WRITTEN)]
    for item in semantic_step(references, TrigramsFirst(incomplete), FIRST, judge=JUDGE):
        assert isinstance(item, Open)


def test_an_open_reference_is_encoded_and_keeps_the_candidates_of_trigrams() -> None:
    reference = cite(WORKS[0], **VAGUE)
    (opened,) = decided(reference)
    assert isinstance(opened, Open)
    assert opened.found.semantic == tuple(decided_candidates(reference))
    encoder = Letters()
    source = TrigramsFirst(catalog(), encoder)
    (link,) = lexical_step([Open.from_json(opened.to_json())], source, FIRST, judge=JUDGE)
    assert encoder.calls == [1]
    assert link == linker().link([reference])[0]


def decided_candidates(reference: Reference) -> Any:
    (opened,) = decided(reference, policy=PATIENT)
    assert isinstance(opened, Open)
    return opened.found.semantic


def test_the_method_is_that_of_the_search_that_proposed_the_work_first() -> None:
    """The trigram index lacks the work, the vectors have it."""
    here = catalog()
    assert here.trigrams is not None
    here.trigrams.remove([WORKS[0].id])
    reference = cite(WORKS[0], **UNPLACED)
    (link,) = Linker(here, Letters(), FIRST, judge=JUDGE).link([reference])
    assert (link.cited, link.method) == (WORKS[0].id, "semantic")
    assert linker().link([reference])[0].method == "lexical"


@pytest.mark.parametrize("reference", [cite(work(8, "Roots of the oak"), **WRITTEN), EMPTY])
def test_a_reference_without_title_is_decided_by_the_first_step(reference: Reference) -> None:
    (link,) = decided(reference, policy=PATIENT)
    assert isinstance(link, Link)
    assert link.cited is None
    before = Linker(catalog(), Letters(), replace(PATIENT, first="vectors"), judge=JUDGE).link([reference])[0]
    assert link.unresolved == before.unresolved


def test_the_published_method_searches_vectors_first() -> None:
    reference = cite(WORKS[0])
    policy = replace(PAPER, first="trigrams")
    assert type(native_candidates(catalog(), policy)) is NativeCandidates
    assert linker(policy).link([reference]) == linker(PAPER).link([reference])
    assert policy.fingerprint() == PAPER.fingerprint()


def test_forbidden_works_are_no_candidates_of_either_search() -> None:
    reference, source = cite(WORKS[0], **VAGUE), TrigramsFirst(catalog(), Letters())
    never = (WORKS[0].id,)
    (near,) = source.near([reference], FIRST, Stopwatch(), [never])
    (wider,) = source.wider([Open(reference=reference, forbidden=never)], ["limitations"], FIRST)
    for hits in (near, wider):
        assert hits
        assert WORKS[0].id not in {cited for cited, _ in hits}


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.builds(
            cite,
            st.sampled_from([*WORKS, work(9, "Soil fungi of the wet forest"), work(10, "Drought in grain legumes")]),
            id=st.just("c#1"),
            volume=st.sampled_from(["175", None]),
            year=st.sampled_from([2007, 2009, None]),
            title=st.sampled_from(["Wheat", "Drought stress in grain legumes", "Photosynthetic limitations"]),
        ),
        max_size=6,
    )
)
def test_both_orders_decide_alike_where_every_search_finds_every_work(references: list[Reference]) -> None:
    """The searches return five candidates, and the catalog has five works: only the order differs."""
    policy = replace(PRODUCTION, refuse=0.0)
    first, second = (linker(replace(policy, first=order)).link(references) for order in ("vectors", "trigrams"))
    assert [(link.cited, link.unresolved, link.probability) for link in first] == [
        (link.cited, link.unresolved, link.probability) for link in second
    ]
