from __future__ import annotations

import pytest

from reflink.evaluation.pairs import fold_of
from reflink.evaluation.records import KINDS
from reflink.evaluation.rivals.siamese.pairs import (
    BATCH,
    SEVERAL,
    TEST_FOLD,
    Example,
    batches,
    is_in_first_half,
    part_of,
    read_known,
    select,
)
from tests.data import shared_data

from .toy import GROUPS, QUERIES

EXAMPLES = [
    Example([number + 1] * (number % 9 + 1), [number + 1], f"g{number // 2}", frozenset({f"a{number % 5}"}))
    for number in range(300)
]


@pytest.mark.parametrize("several", [False, True])
def test_each_work_has_one_match_and_its_negatives_are_other_works(several: bool):
    made = list(batches(EXAMPLES, several, seed=5))
    matches = []
    for batch in made:
        assert len(batch.pairs) <= BATCH
        counts = dict.fromkeys(range(len(batch.metadata)), 0)
        for one, other, label in batch.pairs:
            first, second = batch.metadata[one][0] - 1, batch.citations[other][0] - 1
            if label:
                matches.append((first, second))
            else:
                assert EXAMPLES[first].group != EXAMPLES[second].group
                counts[one] += 1
        assert set(counts.values()) == {SEVERAL if several else 1}
    assert sorted(matches) == [(number, number) for number in range(len(EXAMPLES))]


def test_half_of_several_negatives_share_an_author():
    for batch in batches(EXAMPLES, several=True, seed=5):
        sharing = [EXAMPLES[batch.metadata[one][0] - 1].names & EXAMPLES[batch.citations[other][0] - 1].names
                   for one, other, label in batch.pairs if not label]  # fmt: skip
        assert sum(map(bool, sharing)) >= len(sharing) // 2


def test_batches_depend_on_the_seed_alone():
    assert list(batches(EXAMPLES, True, seed=5)) == list(batches(EXAMPLES, True, seed=5))
    assert list(batches(EXAMPLES, True, seed=5)) != list(batches(EXAMPLES, True, seed=6))


def test_one_work_alone_has_no_negative():
    (batch,) = batches(EXAMPLES[:2], several=False, seed=1)
    assert [label for *_, label in batch.pairs] == [1, 1]


def test_no_part_knows_the_papers_or_works_of_the_test():
    parts = select(QUERIES, GROUPS, limit=50)
    papers = {part: {query.reference.citing for query in queries} for part, queries in parts.items()}
    assert all(fold_of(paper) == TEST_FOLD for paper in papers["test"])
    assert all(part_of(paper) == part for part, some in papers.items() for paper in some)
    tested = {query.truth for query in parts["test"]}
    assert tested
    assert all(query.truth not in tested for part in ("training", "validation") for query in parts[part])
    assert len(parts["training"]) == 50
    assert len(parts["validation"]) <= 7
    assert select(QUERIES, GROUPS, 50, lambda query: False)["training"] == []


def test_real_references_are_divided_by_citing_paper():
    known = list(read_known(shared_data() / "references_dev.jsonl.gz"))
    counts = {
        part: sum(part_of(query.reference.citing) == part for query in known) for part in ("test", "validation", "training")
    }
    assert len(known) > 50_000
    assert 0.15 < counts["test"] / len(known) < 0.25
    assert 0.1 < counts["validation"] / (counts["validation"] + counts["training"]) < 0.2
    assert sum(query.kind in KINDS for query in known) == 10_288


def test_halves_of_the_journals():
    names = [f"Journal of {number}" for number in range(200)]
    assert 60 < sum(map(is_in_first_half, names)) < 140
    assert is_in_first_half("Plant  Cell.") == is_in_first_half("plant cell")
    assert not is_in_first_half(None)
