"""The exact search on a torch device: an fp16 product with all rows, then exact scores of the groups that may hold a best row.

1. Multiply all rows with all queries in fp16, with sums in fp32, and keep the maximum of each group of ``GROUP`` rows.
2. Score the groups with the highest maxima exactly. The true k-th best score is at least the k-th best of these scores.
3. So a group whose maximum is lower than that score by more than the error of the product holds none of the best rows.
4. If this does not exclude every group that was not scored in step 2, score the remaining possible groups too.

The error of a product is at most the sum of three terms: the length of the rounding error of the query in fp16; four times the
error of rounded float32 sums, which leaves room for hardware that truncates; one step of fp16 for storing the score.
Dead rows count in the maxima and nowhere else: they can cost the scoring of another group, but never a hit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import torch

from reflink.semantic.cpu.rows import Single, View
from reflink.semantic.cpu.scanning import Found, error_of_sums
from reflink.semantic.gpu import rows as places

#: Groups scored exactly in step 2, in addition to k.
MORE: Final = 5
#: A step of fp16 just below 1, the highest score.
STEP: Final = 2.0**-11


def scan(view: View, queries: Single, k: int) -> Iterator[Found]:
    """Yield the candidates as ``scanning.scan``, but on the device of the view and for each part of its rows."""
    assert view.device is not None
    for part in view.device.read(view):  # outer loop, because a part may have to be sent to the device
        yield from _scan_queries(part, queries, k)


def _scan_queries(part: places.Part, queries: Single, k: int) -> Iterator[Found]:
    base, matrix, alive = part
    for first in range(0, len(queries), places.QUERIES):
        batch = torch.from_numpy(queries[first : first + places.QUERIES]).to(matrix.device)
        for query_of, rows, scores in _scan_part(matrix, alive, batch, k):
            yield query_of.cpu().numpy() + first, rows.cpu().numpy() + base, scores.cpu().numpy()


def _scan_part(
    matrix: torch.Tensor, alive: torch.Tensor, queries: torch.Tensor, k: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    maxima, error = _maxima(matrix, queries)
    groups = maxima.shape[1]
    chosen_groups = min(k + MORE, groups)
    highest, chosen = maxima.topk(min(chosen_groups + 1, groups), dim=1)
    at_once = max(1, places.GATHERED // (chosen_groups * places.GROUP * matrix.shape[1] * 10))
    kth = torch.empty(len(queries), dtype=torch.float32, device=matrix.device)
    for first in range(0, len(queries), at_once):
        here = slice(first, min(first + at_once, len(queries)))
        scores = _score(matrix, alive, chosen[here, :chosen_groups], queries[here])
        wanted = min(k, scores.shape[1])
        kth[here] = scores.topk(wanted, dim=1).values[:, -1] if wanted == k else -torch.inf
        query_of, column = torch.nonzero((scores >= kth[here, None]) & torch.isfinite(scores), as_tuple=True)
        group = chosen[here][query_of, column // places.GROUP]
        yield query_of + first, group * places.GROUP + column % places.GROUP, scores[query_of, column]
    if chosen_groups == groups:
        return
    bound = (kth - error).half()
    undecided = torch.nonzero(highest[:, chosen_groups] >= bound).flatten()
    if not len(undecided):
        return
    maxima[undecided[:, None], chosen[undecided, :chosen_groups]] = torch.nan  # already scored: NaN compares false
    several = max(1, places.SCORES // groups)
    for first in range(0, len(undecided), several):
        query = undecided[first : first + several]
        of, group = torch.nonzero(maxima[query] >= bound[query, None], as_tuple=True)
        for start in range(0, len(of), at_once * chosen_groups):
            some = slice(start, start + at_once * chosen_groups)
            query_rows = query[of[some]]
            scores = _score(matrix, alive, group[some, None], queries[query_rows])
            pair, column = torch.nonzero((scores >= kth[query_rows, None]) & torch.isfinite(scores), as_tuple=True)
            yield query_rows[pair], group[some][pair] * places.GROUP + column, scores[pair, column]


def _maxima(matrix: torch.Tensor, queries: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the highest score of each group, fp16 [n, groups], and each query's max error of these scores, float32 [n]."""
    half = queries.half()
    error = (queries - half.float()).double().norm(dim=1) * 1.01 + 4 * error_of_sums(matrix.shape[1]) + STEP
    number, rows = len(queries), len(matrix)
    maxima = torch.empty((number, rows // places.GROUP), dtype=torch.float16, device=matrix.device)
    step = max(1, places.SCORES // number // places.GROUP) * places.GROUP
    scores = torch.empty(number * min(step, rows), dtype=torch.float16, device=matrix.device)
    for first in range(0, rows, step):
        block = matrix[first : first + step]
        product = scores[: number * len(block)].view(number, len(block))
        torch.mm(half, block.T, out=product)
        groups = slice(first // places.GROUP, (first + len(block)) // places.GROUP)
        torch.amax(product.view(number, -1, places.GROUP), dim=2, out=maxima[:, groups])
    return maxima, error.float()


def _score(matrix: torch.Tensor, alive: torch.Tensor, groups: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
    """Return the exact scores of all rows of ``groups`` [n, m] against ``queries`` [n, dim]: [n, m * GROUP], -inf if dead.

    float64 holds every sum exactly (see VectorIndex), so the order in which a device adds does not matter.
    """
    number, dim = queries.shape
    rows = matrix.view(-1, places.GROUP, dim)[groups].view(number, -1, dim).double()
    scores = torch.bmm(rows, queries.double()[:, :, None]).squeeze(2).float()
    return scores.masked_fill(~alive.view(-1, places.GROUP)[groups].view(number, -1), -torch.inf)
