"""Encoding in passes: tokenise texts, group them, run the groups on all cores or queue them on a GPU, restore the order."""

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
from reflink.semantic.encoder.batches import Rows, batches
from reflink.semantic.encoder.spent import Spent
from reflink.semantic.encoder.token_budget import TokenBudget, is_out_of_memory
from reflink.semantic.encoder.tokens import Integers, Tokeniser, Tokens

#: Texts tokenised at a time, on a CPU and on a GPU, which computes one chunk while the next is tokenised.
CHUNK: Final = 8192
GPU_CHUNK: Final = 2048

#: Min tokens of a pass when a chunk is divided among cores: with fewer, starting the pass would dominate its cost.
LEAST_TOKENS: Final = 256

Done = list[tuple[Rows, Tensor]]


class Forward(Protocol):
    """A model: concatenated token ids of n texts, and their lengths → vectors [n, dim], float32, on ``device``."""

    padded: bool
    device: torch.device
    dim: int

    def __call__(self, ids: Integers, lengths: Integers) -> Tensor:
        """Run the model. Texts are in descending order of length."""
        ...


class Passes:
    """An encoder made of a tokenizer and a forward pass.

    On a CPU each pass runs on one thread, and passes run concurrently on all cores: no core waits for the slowest part of a
    product, and load from another process slows only the core that it uses. On a GPU passes are queued, and the encoder waits
    only for the last one.
    """

    def __init__(self, tokeniser: Tokeniser, forward: Forward, token_budget: int) -> None:
        self._tokeniser, self._forward = tokeniser, forward
        self.budget = TokenBudget(token_budget)
        self.dim = forward.dim
        self.tokens_read = 0
        self.spent = Spent()
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def tokens(self, texts: Sequence[str]) -> Integers:
        """Return the number of tokens that the model reads of each text: int64 [n]."""
        return self._tokeniser(texts).lengths

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return unit vectors, float32 [n, dim], in the order of the texts. Raises NoMemory if a single text does not fit."""
        vectors = np.empty((len(texts), self.dim), np.float32)
        done: Done = []
        size = GPU_CHUNK if self._forward.device.type == "cuda" else CHUNK
        for first in range(0, len(texts), size):
            started = time.perf_counter()
            tokens = self._tokeniser(texts[first : first + size])
            tokenised = time.perf_counter()
            done += [(rows + first, part) for rows, part in self._chunk(tokens)]
            self.tokens_read += len(tokens.flat)
            self.spent.tokens_s += tokenised - started
            self.spent.model_s += time.perf_counter() - tokenised
        started = time.perf_counter()
        if done:
            # A copy from the device waits for it, so copy once at the end.
            vectors[np.concatenate([rows for rows, _ in done])] = _on_host(torch.cat([part for _, part in done])).numpy()
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
        # The budget may have been halved since the texts were grouped.
        if len(rows) == 1 or size <= self.budget.tokens:
            reason = ""
            try:
                with torch.inference_mode():
                    vectors = torch.nn.functional.normalize(self._forward(tokens.take(rows), lengths))
                self.budget.passed()
                return [(rows, vectors)]
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                reason = " ".join(str(error).split())[:200]
            # After the except block, because its traceback would keep the tensors of the pass alive.
            self._failed(reason, len(rows), size)
        parts = batches(lengths, self.budget.tokens, padded=self._forward.padded)
        return [piece for part in parts for piece in self._pass(tokens, rows[part])]

    def _failed(self, reason: str, texts: int, size: int) -> None:
        device = self._forward.device
        self.budget.failed(size)
        if device.type == "cuda":
            torch.cuda.empty_cache()
        if texts == 1:
            raise NoMemory(f"no memory on {device} for one text of {size} tokens: free some, or use a smaller model ({reason})")

    def _threads(self, number: int) -> ThreadPoolExecutor:
        if self._pool is None or self._pool[0] != number:
            self._pool = number, _single_threaded(number)
        return self._pool[1]


def _on_host(vectors: Tensor) -> Tensor:
    """Copy to host memory; from a GPU into pinned memory, which is several times as fast."""
    if vectors.device.type != "cuda":
        return vectors
    host = torch.empty(vectors.shape, dtype=vectors.dtype, pin_memory=True)
    return host.copy_(vectors)


def _single_threaded(number: int) -> ThreadPoolExecutor:
    """Return a pool of threads on each of which torch computes single-threaded. The caller's number of threads is kept."""
    before, ready = torch.get_num_threads(), threading.Barrier(number + 1)

    def begin() -> None:
        torch.set_num_threads(1)
        ready.wait()

    pool = ThreadPoolExecutor(number, thread_name_prefix="encoder", initializer=begin)
    nothing: list[Any] = [pool.submit(lambda: None) for _ in range(number)]
    ready.wait()
    # torch keeps the number of threads per thread, but new threads get the number set last.
    torch.set_num_threads(before)
    for future in nothing:
        future.result()
    return pool
