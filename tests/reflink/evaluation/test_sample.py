"""The draw of links, the file of verdicts, and the accuracy that they show."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Paper
from reflink.errors import BadRecord
from reflink.evaluation.sample import LinkVerdict, accuracy, draw, draw_apart, read, references_of, write
from reflink.graph.rows import Row
from reflink.graph.rows import read as row_of
from tests.profiles import examples
from tests.reflink.evaluation.small import reference


def row(name: str, cited: str | None = "w") -> Row:
    link = {"reference": name, "citing": name.split("#")[0], "cited": cited}
    return row_of(orjson.dumps(link), bare=True)


ROWS = [
    row(f"{paper}#{n}", None if n % 4 == 0 else f"w{(n + at) % 5}") for at, paper in enumerate("abcdefgh") for n in range(9)
]


@settings(max_examples=examples(40))
@given(st.integers(1, 80), st.integers(0, 20), st.randoms(use_true_random=False))
def test_a_draw_is_of_links_and_does_not_depend_on_their_order(size: int, seed: int, order: random.Random) -> None:
    drawn = draw(ROWS, size, seed)
    linked = [one for one in ROWS if one.cited]
    assert len(drawn) == min(size, len(linked)) == len({one.reference for one in drawn})
    assert all(one.cited for one in drawn)
    shuffled = order.sample(ROWS, len(ROWS))
    assert draw(shuffled, size, seed) == drawn
    assert draw(ROWS, size + 5, seed)[:size] == drawn, "a larger sample extends it"


def test_each_link_is_drawn_about_as_often_as_another() -> None:
    counts = {one.reference: 0 for one in ROWS if one.cited}
    for seed in range(2000):
        for one in draw(ROWS, 8, seed):
            counts[one.reference] += 1
    expected = 2000 * 8 / len(counts)
    assert max(abs(count - expected) for count in counts.values()) < 5 * expected**0.5


@settings(max_examples=examples(40))
@given(st.integers(1, 12), st.integers(0, 20))
def test_links_drawn_apart_share_no_paper_and_no_work(size: int, seed: int) -> None:
    drawn = draw_apart(ROWS, size, seed)
    assert len({one.citing for one in drawn}) == len({one.cited for one in drawn}) == len(drawn)
    assert len(drawn) == min(size, 5), "five works are cited"
    assert draw_apart(ROWS, size, seed) == drawn


def test_a_work_that_most_papers_cite_does_not_limit_the_draw() -> None:
    rows = [row(f"p{n}#1", "all" if n < 900 else f"w{n}") for n in range(1000)]
    assert len(draw_apart(rows, 50)) == 50
    assert len(draw_apart(rows, 200)) == 101
    assert draw_apart(rows, 80)[:50] == draw_apart(rows, 50), "a larger sample extends it"


def verdict(name: str, given_: str) -> LinkVerdict:
    return LinkVerdict(name, "w", given_, "2026-11-26")


def test_the_accuracy_is_that_of_the_decided_links() -> None:
    sample = [row(f"a#{n}") for n in range(301)]
    verdicts = [verdict(f"a#{n}", "wrong" if n < 3 else "right") for n in range(300)]
    found = accuracy(sample, [*verdicts, verdict("elsewhere#1", "wrong"), LinkVerdict("a#300", "other", "wrong", "")])
    assert (found["right"], found["wrong"], found["unclear"], found["unread"]) == (297, 3, 0, 1)
    assert found["accuracy"] == found["at_least"] == 0.99
    published = [(0.9613, 0.9975), (0.9666, 0.9983), (0.9710, 0.9966), (0.9736, 0.9972)]
    assert [tuple(round(limit, 4) for limit in each["interval"]) for each in found["intervals"]] == published


def test_an_unclear_link_is_left_out_or_counts_as_wrong() -> None:
    sample = [row(f"a#{n}") for n in range(4)]
    given_ = [verdict("a#0", "right"), verdict("a#1", "unclear"), verdict("a#2", "wrong"), verdict("a#2", "right")]
    found = accuracy(sample, given_)
    assert (found["right"], found["unclear"], found["unread"]) == (2, 1, 1)
    assert (found["accuracy"], found["at_least"]) == (1, round(2 / 3, 6))
    assert accuracy(sample, [])["accuracy"] is None


def test_verdicts_survive_and_invalid_lines_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    assert read(path) == []
    given_ = [verdict("a#0", "right"), verdict("b#ü", "unclear")]
    write(path, given_)
    assert read(path) == given_
    for bad in ('{"reference": "a"}', '{"reference": "a", "cited": "w", "verdict": "label", "date": ""}', "{"):
        path.write_text(bad)
        with pytest.raises(BadRecord, match="line 1"):
            read(path)


def test_references_come_from_papers_or_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "references.jsonl"
    paper = Paper(id="c", references=(reference(id="c#1", title="Iron"), reference(id="c#2", title="Zinc")))
    single = {"rid": "d#1", "citing": "d", "raw_text": "Rice", "title": "Rice"}
    path.write_bytes(paper.to_json() + b"\n" + orjson.dumps(single) + b"\n")
    found = references_of(path, ["c#2", "d#1", "e#1"])
    assert {name: each.title for name, each in found.items()} == {"c#2": "Zinc", "d#1": "Rice"}
