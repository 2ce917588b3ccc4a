"""Self-attention over concatenated texts of different lengths, without padding and without masks.

Queries are already scaled. The computation of a text depends only on its length, not on the other texts of the pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Layout:
    """The positions of the texts of a pass.

    ``runs``: (number of texts, their length in tokens) for each run of equal lengths; ``starts`` int32 [n + 1]: offset of each
    text, on the device.
    """

    runs: tuple[tuple[int, int], ...]
    starts: Tensor

    @classmethod
    def of(cls, lengths: npt.NDArray[np.int64], device: torch.device) -> Layout:
        """Return the layout of texts of these lengths, in this order; sorted lengths give few runs."""
        runs = tuple((sum(1 for _ in same), length) for length, same in groupby(lengths.tolist()))
        starts = np.zeros(len(lengths) + 1, np.int32)
        np.cumsum(lengths, out=starts[1:])
        return cls(runs, to_device(torch.from_numpy(starts), device))

    @property
    def longest(self) -> int:
        """Tokens of the longest text."""
        return max(length for _, length in self.runs)


Attention = Callable[[Tensor, int, Layout], Tensor]


def to_device(values: Tensor, device: torch.device) -> Tensor:
    """Copy to the device; to CUDA without waiting for the copy."""
    return values.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else values.to(device)


def by_products(qkv: Tensor, heads: int, layout: Layout) -> Tensor:
    """Compute attention by two products and a softmax for each run of equal lengths: ``qkv`` [tokens, 3 · dim] → [tokens, dim].

    On a CPU this is faster than torch's attention, whose blocks are made for long texts. It uses float32 in any precision:
    oneDNN, which would multiply bf16, caches a compiled kernel for each number and length of texts, which takes gigabytes.
    """
    out = qkv.new_zeros(qkv.shape[0], qkv.shape[1] // 3)
    size, first = out.shape[1] // heads, 0
    for number, length in layout.runs:
        rows = slice(first, first + number * length)
        parts = torch.empty(3, number, heads, length, size, device=qkv.device)
        parts.copy_(qkv[rows].view(number, length, 3, heads, size).permute(2, 0, 3, 1, 4))
        query, key, value = parts.view(3, number * heads, length, size)
        weights = torch.softmax(torch.bmm(query, key.transpose(1, 2)), -1)
        mixed = torch.bmm(weights, value).view(number, heads, length, size)
        out[rows].view(number, length, heads, size).copy_(mixed.transpose(1, 2))
        first = rows.stop
    return out


def by_runs(qkv: Tensor, heads: int, layout: Layout) -> Tensor:
    """Compute the same by torch's attention, which chooses its kernel, for each run of equal lengths."""
    out = qkv.new_empty(qkv.shape[0], qkv.shape[1] // 3)
    size, first = out.shape[1] // heads, 0
    for number, length in layout.runs:
        rows = slice(first, first + number * length)
        query, key, value = qkv[rows].view(number, length, 3, heads, size).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, scale=1.0)
        out[rows].view(number, length, heads, size).copy_(mixed.transpose(1, 2))
        first = rows.stop
    return out


def at_once(qkv: Tensor, heads: int, layout: Layout) -> Tensor:
    """Compute the same for all lengths in one kernel: flash attention on CUDA, fp16 or bf16 only.

    Used for bf16, and for fp16 where the kernels of ``fused`` cannot be: without CuPy, or for heads of another size.
    """
    from torch.nn.attention import varlen

    attend: Any = varlen.varlen_attn
    query, key, value = qkv.view(qkv.shape[0], 3, heads, -1).unbind(1)
    longest, starts = layout.longest, layout.starts
    mixed: Tensor = attend(query, key, value, starts, starts, longest, longest, scale=1.0)
    return mixed.reshape(qkv.shape[0], -1)


def choose(device: torch.device, dtype: torch.dtype, heads: int, dim: int) -> Attention:
    """Return the fastest attention that works here.

    ``at_once`` is probed on a small input: a torch without it, or with a different one, falls back to ``by_runs``.
    """
    if device.type == "cpu":
        return by_products
    if device.type != "cuda" or dtype is torch.float32:
        return by_runs
    layout = Layout.of(np.array([9, 5, 5, 1]), device)
    probe = torch.randn(20, 3 * dim, device=device, generator=torch.Generator(device).manual_seed(0)).to(dtype)
    try:
        same = torch.allclose(
            at_once(probe, heads, layout).float(), by_runs(probe, heads, layout).float(), atol=0.02, rtol=0.02
        )
    except (ImportError, AttributeError, RuntimeError, TypeError, ValueError):
        return by_runs
    return at_once if same else by_runs
