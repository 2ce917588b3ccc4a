"""The verdict on batches, against the library's linker over the same catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.catalog import Catalog
from reflink.catalog.build import build
from reflink.cli.inputs import read_papers
from reflink.entities import Link, Paper, Reference, Work
from reflink.linking.linker import Linker
from reflink.linking.policy import Open, Policy
from tests.data import ROOT
from tests.workers.backfill.joining import joined
from workers.backfill.deciding import COLUMNS, Rules, by_keys, by_text, isolated, outcome
from workers.engine.errors import EngineUnavailable


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("catalog") / "catalog"
    build(ROOT / "examples/works.jsonl", folder, encoder=None)
    return folder


@pytest.fixture(scope="module")
def catalog(snapshot: Path) -> Catalog:
    return Catalog.open(snapshot)


@pytest.fixture(scope="module")
def references() -> list[Reference]:
    papers = [paper for _, paper in read_papers([str(ROOT / "examples/papers")]) if isinstance(paper, Paper)]
    return [*{each.id: each for paper in papers for each in paper.references}.values()]


def decided(works: list[Work], references: list[Reference], rules: Rules) -> list[Link]:
    first = by_keys(joined(works, references), rules)
    rest = iter(by_text(rules)([each for each in first if isinstance(each, Open)]) if rules.catalog else ())
    return [next(rest) if isinstance(each, Open) else each for each in first]


@pytest.mark.parametrize("policy", [Policy(), Policy(absent=0.9, versions="link"), Policy(accept=0.9, sure=0.999)])
def test_outcomes_are_those_of_the_linker(snapshot: Path, catalog: Catalog, references: list[Reference], policy: Policy):
    links = decided([*catalog], references, Rules(policy, str(snapshot)))
    assert links == Linker(catalog, policy=policy).link(references)
    found = {link.method for link in links}
    assert found >= {"identifier", "place", "lexical", None}


def test_without_a_snapshot_outcomes_are_those_of_a_catalog_without_trigrams(catalog: Catalog, references: list[Reference]):
    assert catalog.journals is not None
    journals = b"\n".join(journal.to_json() for journal in catalog.journals)
    plain = Catalog(catalog.works, None, None, catalog.manifest, catalog.journals)
    links = decided([*catalog], references, Rules(Policy(), journals=journals))
    assert links == Linker(plain).link(references)
    assert {link.method for link in links} == {"identifier", "place", None}


def test_batches_of_any_size_give_the_same_outcomes(catalog: Catalog, references: list[Reference]):
    rows, rules = joined([*catalog], references), Rules(Policy())
    apart = [link for at in range(0, len(rows), 7) for link in by_keys(rows[at : at + 7], rules)]
    assert apart == by_keys(rows, rules)


def test_an_outcome_has_the_columns_of_an_export(catalog: Catalog, references: list[Reference]):
    links = Linker(catalog).link(references)
    linked = next(link for link in links if link.cited and link.runner_up)
    values = dict(zip(COLUMNS, outcome(linked), strict=True))
    assert (values["reference"], values["cited"], values["method"]) == (linked.reference, linked.cited, linked.method)
    assert values["probability"] == linked.probability
    assert values["reasons"] == list(linked.reasons)
    assert linked.runner_up is not None
    assert values["runner_up"] == linked.runner_up.cited


def test_a_row_that_cannot_be_decided_does_not_affect_the_others():
    def decide(rows: list[int]) -> list[Link]:
        if 5 in rows:
            raise ZeroDivisionError("five")
        return [Link(reference=str(row), citing="c", cited=None) for row in rows]

    results = isolated([*range(9)], decide)
    assert [each.reference for each in results if isinstance(each, Link)] == [*"01234678"]
    assert isinstance(results[5], ZeroDivisionError)
    assert isolated([], decide) == []


def test_no_row_is_at_fault_for_a_service_that_does_not_answer():
    def decide(rows: list[int]) -> list[Link]:
        raise EngineUnavailable("no node answers")

    with pytest.raises(EngineUnavailable):
        isolated([1, 2], decide)
