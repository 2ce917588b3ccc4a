"""Groups of texts for passes of an encoder."""

from hypothesis import given
from hypothesis import strategies as st

from reflink.semantic.encoder.batches import batches


@given(st.lists(st.integers(0, 300)), st.integers(1, 1000), st.booleans())
def test_groups_have_every_text_once_longest_first_and_are_as_large_as_the_budget_allows(
    lengths: list[int], budget: int, padded: bool
) -> None:
    groups = list(batches(lengths, budget, padded=padded))
    flat = [int(row) for group in groups for row in group]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[row] for row in flat] == sorted(lengths, reverse=True)
    sizes, at = [max(1, lengths[row]) for row in flat], 0
    for group in groups:
        here, end = sizes[at : at + len(group)], at + len(group)
        assert len(group) == 1 or (here[0] * len(here) if padded else sum(here)) <= budget
        assert end == len(flat) or (here[0] * (len(here) + 1) if padded else sum(here) + sizes[end]) > budget
        at = end
