"""Passes of an encoder with limited memory."""

import heapq
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="the encoder is an extra: pip install reflink-stream[semantic]")

from reflink.semantic.encoder.passes import Passes  # noqa: E402
from reflink.semantic.encoder.tokens import Integers, Tokens  # noqa: E402
from tests.profiles import examples  # noqa: E402


def tokenised(texts: Sequence[str]) -> Tokens:
    return Tokens.of([[1 + ord(letter) for letter in text] + [1] for text in texts])


class Small:
    """A model with memory for a limited number of tokens; its vector is the text's length and sum."""

    device = torch.device("cpu")
    dim = 2

    def __init__(self, fits: int, padded: bool) -> None:
        self.fits, self.padded, self.refused = fits, padded, 0

    def __call__(self, ids: Integers, lengths: Integers) -> torch.Tensor:
        assert lengths.tolist() == sorted(lengths.tolist(), reverse=True)
        if (lengths.max() * len(lengths) if self.padded else len(ids)) > self.fits:
            self.refused += 1
            raise torch.OutOfMemoryError("no memory: simulated")
        sums = [part.sum() for part in np.split(ids, np.cumsum(lengths)[:-1])]
        return torch.from_numpy(np.stack([lengths * 100.0, np.array(sums, float)], 1)).float()


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("abz", max_size=12), max_size=30), st.integers(13, 60), st.booleans(), st.integers(1, 3))
def test_passes_that_do_not_fit_are_split_and_lose_no_text(texts: list[str], fits: int, padded: bool, threads: int) -> None:
    expected = Passes(tokenised, Small(10**9, padded), 10**9).encode(texts)  # type: ignore[arg-type]
    model = Small(fits, padded)
    passes = Passes(tokenised, model, 400)  # type: ignore[arg-type]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        assert passes.encode(texts).tolist() == expected.tolist()
    finally:
        torch.set_num_threads(before)
    assert passes.budget.halved == model.refused
    assert passes.tokens_read == sum(len(text) + 1 for text in texts)


@pytest.mark.parametrize("threads", [2, 3, 4])
@pytest.mark.parametrize("number", [256, 512, 700, 1024, 2048])
def test_all_threads_compute_for_about_as_long(number: int, threads: int) -> None:
    # Lengths like those of references. The threads take passes in turn; time is counted in tokens.
    lengths = np.random.default_rng(number).gamma(10, 3.6, number).astype(int) + 2
    sizes: list[int] = []

    class Recording(Small):
        def __call__(self, ids: Integers, lengths: Integers) -> torch.Tensor:
            sizes.append(len(ids))
            return super().__call__(ids, lengths)

    passes = Passes(tokenised, Recording(10**9, padded=False), 4096)  # type: ignore[arg-type]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        passes.encode(["a" * (length - 1) for length in lengths])
    finally:
        torch.set_num_threads(before)
    assert sum(sizes) == lengths.sum()
    assert max(sizes) <= 4096
    busy = [0] * threads
    for size in sizes:
        heapq.heapreplace(busy, busy[0] + size)
    assert max(busy) <= 1.05 * lengths.sum() / threads


def test_the_reduced_budget_is_kept_and_grows_back() -> None:
    model = Small(100, padded=False)
    passes = Passes(tokenised, model, 400)  # type: ignore[arg-type]
    texts = ["abcdefghi"] * 40
    passes.encode(texts)
    assert (passes.budget.tokens, model.refused) == (100, 2)
    passes.encode(texts)
    assert model.refused == 2
    model.fits = 10**9
    for _ in range(200):
        passes.encode(texts[:2])
    assert (passes.budget.tokens, model.refused) == (400, 2)


def test_a_text_that_does_not_fit_alone_raises_an_error() -> None:
    passes = Passes(tokenised, Small(5, padded=False), 400)  # type: ignore[arg-type]
    with pytest.raises(MemoryError, match="no memory on cpu for one text of 10 tokens"):
        passes.encode(["a", "abcdefghi"])
    assert passes.encode(["a"]).shape == (1, 2)


def test_other_errors_do_not_count_as_out_of_memory() -> None:
    class Broken(Small):
        def __call__(self, ids: Integers, lengths: Integers) -> torch.Tensor:
            raise RuntimeError("shapes cannot be multiplied")

    passes = Passes(tokenised, Broken(5, padded=False), 400)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="shapes"):
        passes.encode(["a"])
    assert passes.budget.halved == 0
