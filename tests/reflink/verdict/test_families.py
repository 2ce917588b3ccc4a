"""The verdict on works that are easily confused: required links and forbidden links."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from reflink.evaluation.judges import HeldOut
from reflink.linking.policy import Policy
from tests.data import shared_data
from tests.reflink.verdict.families import Case, Records, cases, link
from tests.reflink.verdict.made_up import INVENTED, Invented

#: Cases that the shipped verdict decides wrongly (docs/accuracy.md); the list may only shrink.
SHORTFALLS: Final = frozenset(json.loads(Path(__file__).with_name("shortfalls.json").read_text("utf-8")))


@pytest.fixture(scope="module")
def records() -> Records:
    return Records.read(shared_data())


@pytest.fixture(scope="module")
def judges() -> HeldOut:
    return HeldOut.shipped()


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_only_the_cited_work_is_linked(case: Case, records: Records, judges: HeldOut) -> None:
    made = link(records.references[case.rid], [records.works[id_] for id_ in case.catalog], judges)
    detail = f"{made.probability} {'; '.join(made.reasons)}"
    if str(case) in SHORTFALLS:
        assert made.cited != case.cited, f"decided correctly: remove it from shortfalls.json: {detail}"
    else:
        assert made.cited == case.cited, detail


def test_shortfalls_are_a_small_share_of_the_cases() -> None:
    assert {str(case) for case in cases()} >= SHORTFALLS
    assert len(SHORTFALLS) < 0.07 * len(list(cases()))


@pytest.mark.parametrize("case", INVENTED, ids=str)
def test_only_the_cited_work_is_linked_among_invented_records(case: Invented, judges: HeldOut) -> None:
    # A reference that its locator settles is not searched, so it has no runner-up; with ``sure`` 1 every reference is searched.
    made = link(case.reference, case.works, judges, Policy(sure=1.0) if case.other else None)
    assert made.cited == case.cited, f"{made.probability} {'; '.join(made.reasons)}"
    if case.other is not None:
        assert made.runner_up is not None
        assert made.runner_up.cited == case.other


def test_every_family_has_cases_to_link_and_to_refuse() -> None:
    made = Counter(case.family for case in (*cases(), *INVENTED) if case.cited is not None)
    refused = Counter(case.family for case in (*cases(), *INVENTED) if case.cited is None)
    assert all(made[family] + refused[family] >= 8 for family in made)
    assert made.keys() - refused.keys() == {"one text in several journals", "references with errors"}
    assert not refused.keys() - made.keys()


def test_the_cases_name_records_of_the_data(records: Records) -> None:
    assert records.references.keys() == {case.rid for case in cases()}
    assert records.works.keys() == {id_ for case in cases() for id_ in case.catalog}
