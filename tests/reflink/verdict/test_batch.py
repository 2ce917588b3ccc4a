"""The evidence of a batch equals the plain definition and the evidence of single pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from reflink.evaluation.records import read_queries, read_works, without_identifiers
from reflink.lexical import LexicalIndex
from reflink.text import work_text
from reflink.verdict.batch import compare_all
from reflink.verdict.evidence import COLUMN
from reflink.verdict.kernels.points import log_odds
from reflink.verdict.scorecard import FEATURES, features
from tests.data import shared_data
from tests.profiles import examples
from tests.reflink.verdict import plain
from tests.reflink.verdict.evidences import rows
from tests.reflink.verdict.records import pools

Floats = npt.NDArray[np.float64]
Pairs = npt.NDArray[np.int64]


def one_by_one(
    references: Sequence[Reference], works: Sequence[Work], pairs: Pairs, by_identifier: Sequence[bool] | None = None
) -> Floats:
    given = by_identifier if by_identifier is not None else [False] * len(pairs)
    return rows(
        [plain.evidence(references[a], works[b], by_identifier=bool(by)) for (a, b), by in zip(pairs, given, strict=True)]
    )


def all_pairs(references: Sequence[Reference], works: Sequence[Work]) -> Pairs:
    return np.array(list(product(range(len(references)), range(len(works)))), np.int64).reshape(-1, 2)


def assert_same(found: Floats, expected: Floats, references: Sequence[Reference], works: Sequence[Work], pairs: Pairs) -> None:
    """Assert equal numbers and equal NaN; name the column and the records of the first difference."""
    assert found.shape == expected.shape
    differ = np.argwhere(~np.isclose(found, expected, rtol=0, atol=1e-12, equal_nan=True))
    for row, column in differ[:1]:
        a, b = pairs[row]
        name = list(COLUMN)[column]
        raise AssertionError(f"{name}: {found[row, column]}, not {expected[row, column]}: {references[a]!r} {works[b]!r}")


@settings(max_examples=examples(400))
@given(pools(), st.data())
def test_a_batch_of_awkward_records_has_the_evidence_of_single_pairs(
    pool: tuple[list[Reference], list[Work]], data: st.DataObject
) -> None:
    references, works = pool
    pairs = all_pairs(references, works)
    by = data.draw(st.none() | st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    found = compare_all(references, works, pairs, None if by is None else np.array(by, np.bool_))
    assert_same(found, one_by_one(references, works, pairs, by), references, works, pairs)


@settings(max_examples=examples(300))
@given(st.lists(st.text(max_size=12) | st.text(alphabet="0123456789ivxXsScd- .½²٣", max_size=6), min_size=8, max_size=8))
def test_any_text_is_accepted_in_any_field(texts: list[str]) -> None:
    a, b, c, d, e, f, g, h = texts
    works = [
        Work(id="w", title=a, venue=b, volume=c, fpage=d, authors=(e, f)),
        Work(id="v", title=f"{a} {g}", venue=f"{b}({g}", volume=g, fpage=h, authors=(f,)),
    ]
    references = [
        Reference(id="r", citing="c", position=1, title=a, venue=b, volume=g, first_page=h, last_names=(e, f, g), raw_text=h),
        Reference(id="s", citing="c", position=2, raw_text=f"{e}, {f}. {a}. {b} 2009;{c}:{d}. {g}"),
        Reference(id="t", citing="c", position=3, title=f"{a}: {g} {h}", volume=c, first_page=d, last_names=(f"{e} {f}",)),
    ]
    pairs = all_pairs(references, works)
    found = compare_all(references, works, pairs)
    assert_same(found, one_by_one(references, works, pairs), references, works, pairs)


def test_misspelt_names_and_early_marks_have_the_plain_evidence() -> None:
    titles = ["The authors sent response to that", "One two three four reply to five", "Growth in response to drought", "Reply"]
    titles += ["Data from: growth", "Executive summary of growth", "Growth: a comment", "Growth 2nd part B", "Part II: growth"]
    people = ["Smiht", "Smith", "Smyth", "Simth", "Johannson", "Jonahson", "Hohannsen", "Lee", "Lea", "Garcia Lopez", "Lopes"]
    works = [Work(id=f"w{at}", title=title, authors=(name,)) for at, title in enumerate(titles) for name in people]
    references = [
        Reference(id=f"c#{name}", citing="c", position=1, title="Growth", last_names=(name,), raw_text=titles[at % len(titles)])
        for at, name in enumerate(people)
    ]
    pairs = all_pairs(references, works)
    assert_same(compare_all(references, works, pairs), one_by_one(references, works, pairs), references, works, pairs)


@pytest.fixture(scope="module")
def real() -> tuple[list[Reference], list[Work], Pairs]:
    """Return references of the shared data, each with its work and the works with the most similar titles."""
    works = [listing.work for listing in islice(read_works(shared_data() / "works.jsonl.gz"), 12_000)]
    place = {work.id: at for at, work in enumerate(works)}
    queries = [query for query in read_queries(shared_data() / "references_dev.jsonl.gz") if query.truth in place][:300]
    index = LexicalIndex("T")
    index.add([work.id for work in works], [work_text(work, "T", lexical=True) for work in works])
    index.settle()
    texts = [work_text(works[place[query.truth]], "T", lexical=True) for query in queries]
    pairs = [
        (row, place[cited])
        for row, (query, near) in enumerate(zip(queries, index.search(texts, 9), strict=True))
        for cited in dict.fromkeys([query.truth, *(id_ for id_, _ in near)])
    ]
    # Every third reference keeps its identifiers.
    references = [
        query.reference if row % 3 == 0 else without_identifiers(query.reference) for row, query in enumerate(queries)
    ]
    return references, works, np.array(pairs, np.int64)


@pytest.mark.parametrize("hidden", [False, True], ids=["tagged", "raw text only"])
def test_a_batch_of_real_pairs_has_the_evidence_of_single_pairs(
    real: tuple[list[Reference], list[Work], Pairs], hidden: bool
) -> None:
    references, works, pairs = real
    if hidden:
        references = [
            Reference(id=each.id, citing=each.citing, position=each.position, raw_text=each.raw_query) for each in references
        ]
    used = sorted(set(pairs[:, 1].tolist()))
    pairs = np.stack([pairs[:, 0], np.searchsorted(used, pairs[:, 1])], axis=1)
    works = [works[at] for at in used]
    found = compare_all(references, works, pairs)
    assert len(pairs) >= 2500
    assert_same(found, one_by_one(references, works, pairs), references, works, pairs)
    # The result does not depend on the order of pairs or on the rest of the batch.
    order = np.random.default_rng(1).permutation(len(pairs))[:200]
    assert np.array_equal(compare_all(references, works, pairs[order]), found[order], equal_nan=True)
    row = int(order[0])
    alone = compare_all([references[pairs[row, 0]]], [works[pairs[row, 1]]], np.zeros((1, 2), np.int64))
    assert np.array_equal(alone, found[row : row + 1], equal_nan=True)


def test_an_empty_batch_gives_an_empty_table() -> None:
    assert compare_all([], [], np.empty((0, 2), np.int64)).shape == (0, len(COLUMN))


def test_log_odds_are_the_sum_of_the_points_of_the_features(real: tuple[list[Reference], list[Work], Pairs]) -> None:
    references, works, pairs = real
    found = compare_all(references, works, pairs)
    weights = np.random.default_rng(2).normal(size=(3, len(FEATURES) + 1))
    cards = weights[found[:, COLUMN["card"]].astype(int)]
    expected = (features(found) * cards[:, :-1]).sum(axis=1) + cards[:, -1]
    np.testing.assert_allclose(log_odds(found, weights), expected, rtol=0, atol=1e-12)


def test_weights_of_other_features_are_refused() -> None:
    with pytest.raises(ValueError, match=r"weights of shape \(3, 5\): expected one for each"):
        log_odds(np.zeros((1, len(COLUMN))), np.zeros((3, 5)))


def test_very_long_names_years_and_titles_are_cut() -> None:
    long = " ".join(f"n{number}" for number in range(60_000))
    sound = Reference(id="a", citing="c", position=1, title="Wheat yields", last_names=("Li",), year=2001)
    odd = Reference(
        id="b",
        citing="c",
        position=1,
        title="erratum" + " " * 150 + "(a b c d" + " " * 150 + "(",
        last_names=(long,),
        year=10**400,
    )
    works = [
        Work(id="w", title="Wheat yields", authors=("Li",), year=2001),
        Work(id="x", title="Wheat yields", authors=(long[:300], "…"), year=-(10**400)),
    ]
    references = [sound, odd]
    both = np.array([(reference, work) for reference in range(2) for work in range(2)])
    found = compare_all(references, works, both)
    assert_same(found, one_by_one(references, works, both), references, works, both)
    assert np.isnan(found[1:, COLUMN["year"]]).all()
    assert found[3, COLUMN["authors"]] == 1.0  # the name's first 300 characters are all that is compared


def test_an_author_without_letters_matches_no_citation() -> None:
    reference = Reference(id="a", citing="c", position=1, raw_text="Wheat yields and what they tell, 2001")
    work = Work(id="w", title="Wheat yields", authors=("…", "-"))
    (row,) = compare_all([reference], [work], np.zeros((1, 2), np.int64))
    assert row[COLUMN["authors"]] == row[COLUMN["agreeing"]] == row[COLUMN["first_author"]] == 0.0
    np.testing.assert_allclose(row, np.array(plain.evidence(reference, work)), rtol=0, atol=1e-12)
