"""The bounds on overlaps and sizes against their definitions."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from reflink.lexical.cpu.bounds import needed, reachable, score
from reflink.lexical.trigrams import score as score_of_texts

sizes = st.integers(1, 400)
leasts = st.one_of(st.floats(0, 1.2), st.fractions(0, 1, max_denominator=50).map(float))


@given(sizes, sizes, st.integers(0, 400))
def test_score_equals_its_definition(a: int, b: int, overlap: int) -> None:
    overlap = min(overlap, a, b)
    assert score(overlap, a, b) == score_of_texts(overlap, a, b)
    if overlap:
        j, c = Fraction(overlap, a + b - overlap), Fraction(overlap, min(a, b))
        assert score(overlap, a, b) == float(2 * j * c / (j + c))


@given(leasts, sizes, sizes)
def test_needed_returns_the_least_overlap_that_reaches_a_score(least: float, a: int, b: int) -> None:
    reaching = [overlap for overlap in range(1, min(a, b) + 1) if score(overlap, a, b) >= least]
    if reaching:
        assert needed(least, a, b) == reaching[0]
    else:
        assert needed(least, a, b) > min(a, b)


@given(leasts, sizes, st.integers(0, 300), st.integers(0, 100))
def test_reachable_returns_whether_any_size_can_reach_a_score(least: float, a: int, b_from: int, more: int) -> None:
    can = any(score(min(a, b), a, b) >= least for b in range(max(1, b_from), b_from + more + 1))
    assert reachable(least, a, b_from, b_from + more) == can


@given(leasts, sizes, st.integers(1, 399))
def test_the_overlap_needed_does_not_fall_with_the_size(least: float, a: int, b: int) -> None:
    # So the bound of the smallest row holds for its whole block.
    assert needed(least, a, b) <= needed(least, a, b + 1)
