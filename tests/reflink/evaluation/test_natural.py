"""Evaluation of PubMed's lists with natural absence, and the mixture of both sources."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Ids, Work
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.natural import Natural, assuming, link_lists, mixture
from reflink.evaluation.records import Listing
from reflink.linking.policy import Policy
from tests.profiles import examples
from tests.reflink.evaluation.outcomes import outcome
from tests.reflink.evaluation.pubmed_files import RECORDS, TITLED_TEXTS, written


def linked(folder: Path, listings: list[Listing]) -> Natural:
    return link_lists(written(folder), listings, Policy(), HeldOut.shipped(), folder / "cache")


@pytest.fixture(scope="module")
def natural(tmp_path_factory: pytest.TempPathFactory) -> Natural:
    return linked(tmp_path_factory.mktemp("natural"), [])


def test_every_reference_with_an_id_has_an_outcome(natural: Natural) -> None:
    assert len(natural.outcomes) == 2 * len(RECORDS) + len(TITLED_TEXTS)
    present = len(RECORDS) + len(TITLED_TEXTS) // 2
    assert sum(each.present for each in natural.outcomes) == present
    assert natural.absent == pytest.approx(1 - present / len(natural.outcomes))
    assert {each.contents for each in natural.outcomes} == {"title", "neither"}
    assert all(each.truth for each in natural.outcomes)
    assert natural.undecided == 0


def test_present_works_are_linked_and_absent_ones_are_not(natural: Natural) -> None:
    assert all(each.right for each in natural.outcomes if each.present and each.contents == "neither")
    assert not any(each.link.cited for each in natural.outcomes if not each.present and each.contents == "neither")


def test_mistakes_are_the_errors_with_a_cause(natural: Natural) -> None:
    errors = [each for each in natural.outcomes if each.error]
    assert [each.outcome for each in natural.mistakes] == errors
    assert all(each.outcome.cause for each in natural.mistakes)


def test_a_link_that_no_identifier_decides_is_left_out(tmp_path: Path) -> None:
    """The work at the locator of an absent reference has a DOI, and the reference has a PMID."""
    work = Work(
        id="doi:10.1/x", ids=Ids(doi="10.1/x"), title="Another subject", authors=("Nobody",), venue="Acta Botanica", year=2001,
        volume="1", fpage="21",
    )  # fmt: skip
    found = linked(tmp_path, [Listing(work, work.id)])
    assert found.undecided == 1
    assert len(found.outcomes) == 2 * len(RECORDS) + len(TITLED_TEXTS) - 1


def test_absent_references_are_left_out_until_a_share_is_present(tmp_path: Path, natural: Natural) -> None:
    folder = written(tmp_path)
    mostly = link_lists(folder, [], Policy(), HeldOut.shipped(), folder / "cache", 0.8)
    present = sum(each.present for each in mostly.outcomes)
    assert present == sum(each.present for each in natural.outcomes)
    assert present / len(mostly.outcomes) == pytest.approx(0.8, abs=0.02)
    assert mostly.absent == pytest.approx(0.2, abs=0.02)


@given(st.integers(0, 12), st.integers(0, 12))
@settings(max_examples=examples(20))
def test_a_mixture_has_as_many_of_each_source(articles: int, lists: int) -> None:
    first, second = (
        [replace(outcome(kind=kind), rid=f"{kind}{n}") for n in range(count)]
        for kind, count in (("front", articles), ("pubmed", lists))
    )
    mixed = mixture(first, second)
    least = min(articles, lists)
    assert [each.kind for each in mixed] == ["front"] * least + ["pubmed"] * least
    assert len({each.rid for each in mixed}) == 2 * least
    assert mixture(first[::-1], second[::-1]) == mixed, "the order of the inputs does not matter"


def test_a_higher_share_of_absent_works_lowers_probabilities_and_drops_links(natural: Natural) -> None:
    policy = Policy()
    assert assuming(natural.outcomes, policy, policy.absent) == [replace(each, cause=None) for each in natural.outcomes]
    lower = assuming(natural.outcomes, policy, 0.999999)
    for before, after in zip(natural.outcomes, lower, strict=True):
        assert after.chosen == before.chosen
        assert not after.right or before.right
        if before.link.probability is not None:
            assert (after.link.probability or 0.0) <= before.link.probability
        assert after.link.cited is None or (after.link.probability or 0.0) >= policy.accept
    assert sum(each.link.cited is not None for each in lower) < sum(each.link.cited is not None for each in natural.outcomes)


def test_another_share_gives_the_links_of_a_run_that_assumes_it(tmp_path: Path, natural: Natural) -> None:
    folder = written(tmp_path)
    run = link_lists(folder, [], Policy(absent=0.9), HeldOut.shipped(), folder / "cache")
    shifted = assuming(natural.outcomes, Policy(), 0.9)
    assert [each.link.cited for each in shifted] == [each.link.cited for each in run.outcomes]
    for a, b in zip(shifted, run.outcomes, strict=True):
        assert a.link.probability == pytest.approx(b.link.probability, abs=1e-4)
