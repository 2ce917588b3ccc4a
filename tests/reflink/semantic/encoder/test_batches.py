import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reflink.semantic.encoder.batches import batches


@given(st.lists(st.integers(0, 300)), st.integers(1, 1000))
def test_every_text_once_within_budget_longest_first(lengths: list[int], budget: int) -> None:
    groups = list(batches(lengths, budget))
    assert sorted(np.concatenate([np.empty(0, np.int64), *groups]).tolist()) == list(range(len(lengths)))
    for group in groups:
        longest = max(lengths[row] for row in group)
        assert len(group) == 1 or longest * len(group) <= budget
    flat = [lengths[row] for group in groups for row in group]
    assert flat == sorted(lengths, reverse=True)


@given(st.lists(st.integers(1, 300), min_size=1), st.integers(300, 1000))
def test_a_group_takes_all_that_fits(lengths: list[int], budget: int) -> None:
    groups = list(batches(lengths, budget))
    for group in groups[:-1]:
        assert max(lengths[row] for row in group) * (len(group) + 1) > budget


@given(st.lists(st.integers(0, 300)), st.integers(1, 1000))
def test_without_padding_the_sum_is_bounded_and_no_group_could_take_more(lengths: list[int], budget: int) -> None:
    groups = list(batches(lengths, budget, padded=False))
    flat = [int(row) for group in groups for row in group]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[row] for row in flat] == sorted(lengths, reverse=True)
    cost = [max(1, lengths[row]) for row in flat]
    at = 0
    for group in groups:
        here = cost[at : at + len(group)]
        assert len(group) == 1 or sum(here) <= budget
        at += len(group)
        assert at == len(flat) or sum(here) + cost[at] > budget
