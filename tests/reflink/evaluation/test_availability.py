"""Shares and lengths of fields: by hand, by their definition, and on real works."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from reflink.evaluation import published
from reflink.evaluation.availability import fields, limits
from reflink.evaluation.records import read_works
from tests.data import shared_data


def _work(**fields: object) -> Work:
    return Work.from_dict({"id": "w", **fields})


def _reference(**fields: object) -> Reference:
    return Reference.from_dict({"id": "r", "citing": "c", "position": 1, **fields})


def test_shares_of_fields_stand_beside_the_published_ones() -> None:
    works = [_work(title="A", authors=["Li", "Wu"], year=2001), _work(title="B", venue="  ")]
    references = [_reference(raw_text="only text"), _reference(title="A", venue="J"), _reference(year=1999, last_names=["Li"])]
    found = fields(works, references)
    shares = {side: {letter: of["share"] for letter, of in found[side].items()} for side in ("candidates", "references")}
    assert shares["candidates"] == {"T": 1.0, "V": 0.0, "Y": 0.5, "L": 0.5, "A": 0.0}
    assert shares["references"] == dict.fromkeys("TVYL", 0.333333) | {"A": 0.0}
    assert found["candidates"]["L"]["published"] == 0.965
    assert found["references"]["T"]["published"] == 0.992
    assert (found["works"], found["queries"]) == (2, 3)


def test_shares_of_no_records_are_zero() -> None:
    found = fields([], [])
    assert {of["share"] for side in ("candidates", "references") for of in found[side].values()} == {0.0}
    assert {of["characters"] for of in limits([]).values()} == {None}


@given(st.lists(st.integers(1, 400), min_size=1, max_size=80))
def test_a_limit_is_the_lowest_that_95_percent_do_not_exceed(lengths: list[int]) -> None:
    found = limits([*(_work(title="x" * n) for n in lengths), _work(year=2001)])
    limit = found["T"]["characters"]
    assert sum(n <= limit for n in lengths) >= 0.95 * len(lengths)
    assert sum(n < limit for n in lengths) < 0.95 * len(lengths)
    assert (found["T"]["works"], found["Y"]["characters"], found["A"]["characters"]) == (len(lengths), 4, None)
    assert {letter: of["published"] for letter, of in found.items()} == published.LIMITS


def test_the_length_of_names_includes_the_spaces_between_them() -> None:
    assert limits([_work(authors=["Wang", "Li"])])["L"]["characters"] == len("Wang Li")


def test_real_works_have_fields_and_lengths_near_the_published_ones() -> None:
    works = [listing.work for listing in islice(read_works(shared_data() / "works.jsonl.gz"), 2000)]
    found, lengths = fields(works, []), limits(works)
    assert all(found["candidates"][letter]["share"] > 0.9 for letter in "TVYL")
    assert lengths["Y"]["characters"] == 4
    assert 100 < lengths["T"]["characters"] < 300
