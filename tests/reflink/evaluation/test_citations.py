"""Statistics of a citation graph against plain computations."""

from __future__ import annotations

import statistics as plain

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.evaluation.citations import Distribution, statistics
from reflink.graph.rows import Row, read
from tests.profiles import examples

#: (citing paper, cited work or "") of each reference, those of a paper adjacent.
LINKS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["u", "v", "w", ""])), max_size=20).map(sorted)


def rows(links: list[tuple[str, str]]) -> list[Row]:
    return [
        read(
            orjson.dumps({
                "reference": f"{paper}#{n}", "citing": paper, "cited": work or None, "method": "lexical" if work else None,
            }),
            bare=True,
        )
        for n, (paper, work) in enumerate(links)
    ]  # fmt: skip


@settings(max_examples=examples(60))
@given(LINKS, st.data())
def test_citing_papers_and_contexts_are_counted(links: list[tuple[str, str]], data: st.DataObject) -> None:
    contexts = {row.reference: data.draw(st.integers(1, 4)) for row in rows(links) if data.draw(st.booleans())}
    found = statistics(rows(links), contexts).to_dict()
    citing = {work: {paper for paper, other in links if other == work} for _, work in links if work}
    assert (found["references"], found["linked"]) == (len(links), sum(bool(work) for _, work in links))
    assert found["papers"] == len({paper for paper, work in links if work})
    assert found["methods"] == ({"lexical": found["linked"]} if citing else {})
    assert (found["citing"]["n"], found["citing"]["sum"]) == (len(citing), len({link for link in links if link[1]}))
    numbers = [contexts[row.reference] for row in rows(links) if row.cited and row.reference in contexts]
    assert (found["contexts"]["n"], found["contexts"]["sum"]) == (len(numbers), sum(numbers))
    assert found["contexts"]["one"] == numbers.count(1)


@settings(max_examples=examples(60))
@given(st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_a_distribution_is_described(values: list[int]) -> None:
    found = Distribution.of(values).to_dict()
    assert found["mean"] == pytest.approx(plain.fmean(values), abs=1e-6)
    assert found["sd"] == pytest.approx(plain.pstdev(values), abs=1e-6)
    assert found["max"] == max(values)
    assert (found["one"], found["from_2"]) == (values.count(1), len(values) - values.count(1))
    assert found["from_5"] == sum(value >= 5 for value in values)
    assert sum(found["counts"].values()) == found["n"] == len(values)


def test_nothing_is_linked_in_an_empty_graph() -> None:
    found = statistics([], {}).to_dict()
    assert (found["citing"]["mean"], found["citing"]["max"], found["contexts_of_work"]) == (0, 0, 0)
