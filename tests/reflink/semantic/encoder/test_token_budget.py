"""The token budget after passes that succeed and passes that run out of memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.semantic.encoder.token_budget import TokenBudget, is_out_of_memory


def test_the_budget_is_halved_kept_and_grows_back() -> None:
    budget = TokenBudget(4096, patience=3)
    budget.failed(4000)
    assert (budget.tokens, budget.halved) == (2000, 1)
    sizes = []
    for _ in range(9):
        budget.passed()
        sizes.append(budget.tokens)
    assert sizes == [2000, 2000, 4000, 4000, 4000, 4096, 4096, 4096, 4096]


def test_concurrent_failures_halve_the_budget_once() -> None:
    budget = TokenBudget(4096)
    for _ in range(3):
        budget.failed(4090)
    assert (budget.tokens, budget.halved) == (2045, 3)


@given(st.integers(1, 100_000), st.integers(1, 100_000), st.integers(1, 8))
def test_the_budget_converges_to_the_capacity_with_ever_rarer_retries(most: int, fits: int, patience: int) -> None:
    budget = TokenBudget(most, patience=patience)
    failures = []
    for number in range(4000):
        if budget.tokens > max(fits, 1):
            budget.failed(budget.tokens)
            failures.append(number)
        else:
            budget.passed()
        assert 1 <= budget.tokens <= most
    assert len(failures) <= 2 * most.bit_length() + 12
    assert budget.tokens * 2 > min(fits, most) or failures


def test_a_full_budget_that_succeeds_resets_the_patience() -> None:
    budget = TokenBudget(8, patience=2)
    budget.failed(8)
    for _ in range(2):
        budget.passed()
    budget.failed(8)  # growing failed: the patience doubles
    grown = []
    for _ in range(4):
        budget.passed()
        grown.append(budget.tokens)
    assert grown == [4, 4, 4, 8]
    for _ in range(4):
        budget.passed()
    budget.failed(8)
    budget.passed()
    budget.passed()
    assert budget.tokens == 8


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried to"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_only_errors_of_missing_memory_are_recognised(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) == expected


def test_out_of_memory_errors_of_torch_are_recognised() -> None:
    torch = pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")
    assert is_out_of_memory(torch.OutOfMemoryError("no memory"))
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)


def test_a_budget_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="token_budget is 0"):
        TokenBudget(0)
