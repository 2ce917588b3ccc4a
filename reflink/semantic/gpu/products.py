"""The arithmetic of the search on a torch device: by kernels on a GPU, by torch's operators anywhere; the same hits.

Both multiply rows and queries inexactly, with an error of at most ``error_of_products``, and score chosen rows exactly.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, Protocol

import torch

from reflink.gpu import program
from reflink.semantic.cpu.scanning import error_of_sums
from reflink.semantic.gpu import rows as device_rows

SOURCE: Final = Path(__file__).with_name("search.cu")
#: Max queries whose rows are multiplied without storing scores, and thread blocks that do it.
FEW: Final = 4
BLOCKS: Final = 1056
#: Groups that a thread block of ``group_maxima`` reduces, and threads of a block.
REDUCED: Final = 128
THREADS: Final = 256
#: A step of fp16 just below 1, the highest score.
STEP: Final = 2.0**-11


class Products(Protocol):
    """Scores of rows in whole groups of ``GROUP``."""

    def maxima(self, matrix: torch.Tensor, queries: torch.Tensor, out: torch.Tensor) -> None:
        """Write the highest score of each group of ``matrix`` fp16 [rows, dim] to the first columns of ``out`` fp16 [n, …]."""
        ...

    def of_groups(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the maximum of each group of ``scores`` fp16 [n, groups * GROUP]: fp16 [n, groups]."""
        ...

    def exact(self, matrix: torch.Tensor, alive: torch.Tensor, groups: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        """Return the exact scores of all rows of ``groups`` int64 [n, m]: float32 [n, m * GROUP], -inf for a dead row."""
        ...

    def exact_at_once(self, dim: int, groups: int) -> int:
        """Return how many queries with this number of groups ``exact`` may score at once, for its memory."""
        ...


def error_of_products(queries: torch.Tensor) -> torch.Tensor:
    """Return the max error of the inexact scores of each query, float32 [n].

    It is the length of the rounding error of the query in fp16, four times the error of rounded float32 sums, which leaves room
    for hardware that truncates, and one step of fp16 for storing the score.
    """
    rounded = (queries - queries.half().float()).double().norm(dim=1) * 1.01
    error: torch.Tensor = rounded + 4 * error_of_sums(queries.shape[1]) + STEP
    return error.float()


class ByTorch:
    """By torch's operators."""

    def maxima(self, matrix: torch.Tensor, queries: torch.Tensor, out: torch.Tensor) -> None:
        """As ``Products.maxima``."""
        half, number, rows = queries.half(), len(queries), len(matrix)
        step = max(1, device_rows.SCORES // number // device_rows.GROUP) * device_rows.GROUP
        scores = torch.empty(number * min(step, rows), dtype=torch.float16, device=matrix.device)
        for first in range(0, rows, step):
            block = matrix[first : first + step]
            product = scores[: number * len(block)].view(number, len(block))
            torch.mm(half, block.T, out=product)
            self._reduce(product, out, first // device_rows.GROUP)

    def _reduce(self, scores: torch.Tensor, out: torch.Tensor, first: int) -> None:
        groups = scores.shape[1] // device_rows.GROUP
        torch.amax(scores.view(len(scores), groups, device_rows.GROUP), dim=2, out=out[:, first : first + groups])

    def of_groups(self, scores: torch.Tensor) -> torch.Tensor:
        """As ``Products.of_groups``."""
        out = scores.new_empty(len(scores), scores.shape[1] // device_rows.GROUP)
        self._reduce(scores, out, 0)
        return out

    def exact(self, matrix: torch.Tensor, alive: torch.Tensor, groups: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        """As ``Products.exact``. float64 holds every sum exactly (see VectorIndex), so the order of the sum does not matter."""
        number, dim = queries.shape
        rows = matrix.view(-1, device_rows.GROUP, dim)[groups].view(number, -1, dim).double()
        scores = torch.bmm(rows, queries.double()[:, :, None]).squeeze(2).float()
        return scores.masked_fill(~alive.view(-1, device_rows.GROUP)[groups].view(number, -1), -torch.inf)

    def exact_at_once(self, dim: int, groups: int) -> int:
        """As ``Products.exact_at_once``: bounded by ``GATHERED``."""
        return max(1, device_rows.GATHERED // (groups * device_rows.GROUP * dim * 10))


class ByKernels(ByTorch):
    """By the kernels of ``search.cu``, except the product with more than ``FEW`` queries, which is cuBLAS's."""

    def __init__(self, kernels: program.Kernels) -> None:
        self._kernels = kernels

    def maxima(self, matrix: torch.Tensor, queries: torch.Tensor, out: torch.Tensor) -> None:
        """As ``Products.maxima``."""
        if len(queries) > FEW:
            super().maxima(matrix, queries, out)
            return
        groups = len(matrix) // device_rows.GROUP
        self._kernels.launch(
            "maxima_of_few", (min(groups, BLOCKS),), (THREADS,), matrix, queries, len(queries), groups, out, out.stride(0)
        )

    def _reduce(self, scores: torch.Tensor, out: torch.Tensor, first: int) -> None:
        groups = scores.shape[1] // device_rows.GROUP
        blocks = -(-len(scores) * groups // REDUCED)
        self._kernels.launch("group_maxima", (blocks,), (THREADS,), scores, len(scores), groups, out, out.stride(0), first)

    def exact(self, matrix: torch.Tensor, alive: torch.Tensor, groups: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        """As ``Products.exact``."""
        number, chosen = groups.shape
        scores = torch.empty((number, chosen * device_rows.GROUP), dtype=torch.float32, device=matrix.device)
        self._kernels.launch(
            "exact_scores", (number * chosen,), (THREADS,), matrix, alive, groups.contiguous(), queries, chosen, scores
        )
        return scores

    def exact_at_once(self, dim: int, groups: int) -> int:
        """As ``Products.exact_at_once``: no rows are gathered; the scores and, where needed, a copy of the query are."""
        return max(1, device_rows.GATHERED // (groups * (device_rows.GROUP * 4 * 4 + dim * 4)))


@cache
def chosen(device: torch.device, dim: int) -> Products:
    """Return the products for vectors of ``dim`` dimensions: kernels on a GPU with CuPy, else torch's operators.

    If the kernels cannot be compiled, which ``compiled`` logs, the process keeps torch's operators: another attempt at each
    search would delay it.
    """
    if device.type == "cuda" and dim % device_rows.GROUP == 0 and (kernels := program.compiled(SOURCE, {"DIM": dim}, device)):
        return ByKernels(kernels)
    return ByTorch()
