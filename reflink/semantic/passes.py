"""Texts through a model in passes: tokenised, grouped, run on all cores or queued on a GPU, put back in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from reflink.errors import NoMemory
from reflink.semantic.batches import Rows, batches
from reflink.semantic.spent import Spent
from reflink.semantic.token_budget import TokenBudget, is_out_of_memory
from reflink.semantic.tokens import Integers, Tokeniser, Tokens

#: Texts tokenised at a time. A GPU computes one lot while the next is tokenised.
CHUNK: Final = 8192

#: A core is not given less than these tokens, so that starting a pass stays cheap beside the pass.
LEAST_TOKENS: Final = 256

Done = list[tuple[Rows, Tensor]]


class Forward(Protocol):
    """A model: token ids of texts end to end, and their lengths → vectors [n, dim], float32, on ``device``."""

    padded: bool
    device: torch.device
    dim: int

    def __call__(self, ids: Integers, lengths: Integers) -> Tensor:
        """Longest text first."""
        ...


class Passes:
    """An encoder made of a tokenizer and a forward pass.

    On a CPU every core has passes of its own, each on one thread: nothing waits for the slowest part of a product, and another
    process's use of a core costs that core alone. On a GPU passes are queued, and only the end is waited for.
    """

    def __init__(self, tokeniser: Tokeniser, forward: Forward, token_budget: int) -> None:
        self._tokeniser, self._forward = tokeniser, forward
        self.budget = TokenBudget(token_budget)
        self.dim = forward.dim
        self.tokens_read = 0
        self.spent = Spent()
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def tokens(self, texts: Sequence[str]) -> Integers:
        """Tokens that the model reads of each text."""
        return self._tokeniser(texts).lengths

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Unit vectors, float32 [n, dim], in the order of the texts. Raises NoMemory when one text alone does not fit."""
        vectors = np.empty((len(texts), self.dim), np.float32)
        done: Done = []
        for first in range(0, len(texts), CHUNK):
            started = time.perf_counter()
            tokens = self._tokeniser(texts[first : first + CHUNK])
            tokenised = time.perf_counter()
            done += [(rows + first, part) for rows, part in self._chunk(tokens)]
            self.tokens_read += len(tokens.flat)
            self.spent.tokens_s += tokenised - started
            self.spent.model_s += time.perf_counter() - tokenised
        started = time.perf_counter()
        if done:
            # One copy from the device at the end, so that passes follow one another without waiting.
            vectors[np.concatenate([rows for rows, _ in done])] = torch.cat([part for _, part in done]).cpu().numpy()
        self.spent.model_s += time.perf_counter() - started
        return vectors

    def _chunk(self, tokens: Tokens) -> Done:
        threads = torch.get_num_threads() if self._forward.device.type == "cpu" else 1
        limit = self.budget.tokens
        if threads > 1:
            limit = min(limit, max(LEAST_TOKENS, -(-len(tokens.flat) // threads)))
        groups = list(batches(tokens.lengths, limit, padded=self._forward.padded))
        if threads > 1 and len(groups) > 1:
            parts = self._threads(threads).map(lambda rows: self._pass(tokens, rows), groups)
        else:
            parts = map(lambda rows: self._pass(tokens, rows), groups)  # noqa: C417
        return [piece for part in parts for piece in part]

    def _pass(self, tokens: Tokens, rows: Rows) -> Done:
        lengths = tokens.lengths[rows]
        size = int(lengths.max() * len(rows) if self._forward.padded else lengths.sum())
        # The budget may have been halved since these were grouped.
        if len(rows) == 1 or size <= self.budget.tokens:
            told = ""
            try:
                with torch.inference_mode():
                    vectors = torch.nn.functional.normalize(self._forward(tokens.take(rows), lengths))
                self.budget.passed()
                return [(rows, vectors)]
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                told = " ".join(str(error).split())[:200]
            # Here, where no traceback holds the tensors of the pass any more.
            self._failed(told, len(rows), size)
        parts = batches(lengths, self.budget.tokens, padded=self._forward.padded)
        return [piece for part in parts for piece in self._pass(tokens, rows[part])]

    def _failed(self, told: str, texts: int, size: int) -> None:
        device = self._forward.device
        self.budget.failed(size)
        if device.type == "cuda":
            torch.cuda.empty_cache()
        if texts == 1:
            raise NoMemory(f"no memory on {device} for one text of {size} tokens: free some, or use a smaller model ({told})")

    def _threads(self, number: int) -> ThreadPoolExecutor:
        if self._pool is None or self._pool[0] != number:
            self._pool = number, _single_threaded(number)
        return self._pool[1]


def _single_threaded(number: int) -> ThreadPoolExecutor:
    """So many threads, each of which torch computes on by itself. The caller's own number of threads stays what it was."""
    before, ready = torch.get_num_threads(), threading.Barrier(number + 1)

    def begin() -> None:
        torch.set_num_threads(1)
        ready.wait()

    pool = ThreadPoolExecutor(number, thread_name_prefix="encoder", initializer=begin)
    nothing: list[Any] = [pool.submit(lambda: None) for _ in range(number)]
    ready.wait()
    # torch keeps the number by thread, but gives new threads the one that was set last.
    torch.set_num_threads(before)
    for future in nothing:
        future.result()
    return pool
