"""Fields and their lengths, by hand and as laws; and on the real data within what is known of it."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from reflink.evaluation import published
from reflink.evaluation.availability import fields, limits
from reflink.evaluation.records import read_works
from tests.data import shared_data


def _work(**told: object) -> Work:
    return Work.from_dict({"id": "w", **told})


def _reference(**told: object) -> Reference:
    return Reference.from_dict({"id": "r", "citing": "c", "position": 1, **told})


def test_shares_of_fields_by_hand_with_the_papers_beside() -> None:
    works = [_work(title="A", authors=["Li", "Wu"], year=2001), _work(title="B", venue="  ")]
    references = [_reference(raw_text="only text"), _reference(title="A", venue="J"), _reference(year=1999, last_names=["Li"])]
    told = fields(works, references)
    shares = {side: {letter: of["share"] for letter, of in told[side].items()} for side in ("candidates", "references")}
    assert shares["candidates"] == {"T": 1.0, "V": 0.0, "Y": 0.5, "L": 0.5, "A": 0.0}
    assert shares["references"] == dict.fromkeys("TVYL", 0.333333) | {"A": 0.0}
    assert told["candidates"]["L"]["published"] == 0.965
    assert told["references"]["T"]["published"] == 0.992
    assert (told["works"], told["queries"]) == (2, 3)


def test_no_records_have_no_field() -> None:
    told = fields([], [])
    assert {of["share"] for side in ("candidates", "references") for of in told[side].values()} == {0.0}
    assert {of["characters"] for of in limits([]).values()} == {None}


@given(st.lists(st.integers(1, 400), min_size=1, max_size=80))
def test_a_limit_leaves_95_of_100_whole_and_no_lower_one_does(lengths: list[int]) -> None:
    told = limits([*(_work(title="x" * n) for n in lengths), _work(year=2001)])
    limit = told["T"]["characters"]
    assert sum(n <= limit for n in lengths) >= 0.95 * len(lengths)
    assert sum(n < limit for n in lengths) < 0.95 * len(lengths)
    assert (told["T"]["works"], told["Y"]["characters"], told["A"]["characters"]) == (len(lengths), 4, None)
    assert {letter: of["published"] for letter, of in told.items()} == published.LIMITS


def test_the_length_of_the_names_counts_the_spaces_between_them() -> None:
    assert limits([_work(authors=["Wang", "Li"])])["L"]["characters"] == len("Wang Li")


def test_real_works_have_the_fields_and_lengths_that_the_paper_saw() -> None:
    works = [listing.work for listing in islice(read_works(shared_data() / "works.jsonl.gz"), 2000)]
    told, lengths = fields(works, []), limits(works)
    assert all(told["candidates"][letter]["share"] > 0.9 for letter in "TVYL")
    assert lengths["Y"]["characters"] == 4
    assert 100 < lengths["T"]["characters"] < 300
