"""The exact search on a torch device: an fp16 product with all rows, then exact scores of the groups that may hold a best row.

1. Multiply all rows with all queries in fp16, with sums in fp32, and keep the maximum of each group of ``GROUP`` rows.
2. Score the groups with the highest maxima exactly. The true k-th best score is at least the k-th best of these scores.
3. So a group whose maximum is lower than that score by more than the error of the product holds none of the best rows.
4. If this does not exclude every group that was not scored in step 2, score the remaining possible groups too.

``products`` has the arithmetic and the bound of its error. Dead rows count in the maxima and nowhere else: they can cost the
scoring of another group, but never a hit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import torch

from reflink.semantic.cpu.rows import Single, View
from reflink.semantic.cpu.scanning import Found
from reflink.semantic.gpu import rows as device_rows
from reflink.semantic.gpu.products import FEW, Products, chosen, error_of_products

#: Groups scored exactly in step 2, in addition to k.
MORE: Final = 5


def scan(view: View, queries: Single, k: int) -> Iterator[Found]:
    """Yield the candidates as ``scanning.scan``, but on the device of the view and for each part of its rows."""
    assert view.device is not None
    for part in view.device.read(view):  # outer loop, because a part may have to be sent to the device
        yield from _scan_queries(part, queries, k)


def _scan_queries(part: device_rows.Part, queries: Single, k: int) -> Iterator[Found]:
    base, matrix, alive = part
    products = chosen(matrix.device, matrix.shape[1])
    for first in range(0, len(queries), device_rows.QUERIES):
        batch = torch.from_numpy(queries[first : first + device_rows.QUERIES])
        for query_of, rows, scores in scan_part(matrix, alive, batch, k, products):
            yield query_of.cpu().numpy() + first, rows.cpu().numpy() + base, scores.cpu().numpy()


def scan_part(
    matrix: torch.Tensor, alive: torch.Tensor, queries: torch.Tensor, k: int, products: Products
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Yield query, row and score of the candidates among the rows ``matrix`` fp16 [rows, dim], in whole groups.

    ``queries``: float32 [n, dim], in host memory.
    """
    number, groups = len(queries), len(matrix) // device_rows.GROUP
    given, queries = queries, queries.to(matrix.device)
    maxima = _maxima(matrix, queries, products)
    first_groups = min(k + MORE, groups)
    highest, groups_of = _highest(maxima, min(first_groups + 1, groups), products)
    at_once = products.exact_at_once(matrix.shape[1], first_groups)
    if number <= FEW:
        scores = products.exact(matrix, alive, groups_of[:, :first_groups], queries)
        if (found := _decided_on_host(scores, highest, groups_of, error_of_products(given), k)) is not None:
            query_of, rows, values = map(torch.from_numpy, found)
            yield query_of, rows, values
            return
    kth = torch.empty(number, dtype=torch.float32, device=matrix.device)
    for first in range(0, number, at_once):
        here = slice(first, min(first + at_once, number))
        scores = products.exact(matrix, alive, groups_of[here, :first_groups], queries[here])
        wanted = min(k, scores.shape[1])
        kth[here] = scores.topk(wanted, dim=1).values[:, -1] if wanted == k else -torch.inf
        query_of, column = torch.nonzero((scores >= kth[here, None]) & torch.isfinite(scores), as_tuple=True)
        group = groups_of[here][query_of, column // device_rows.GROUP]
        yield query_of + first, group * device_rows.GROUP + column % device_rows.GROUP, scores[query_of, column]
    if first_groups == groups:
        return
    bound = (kth - error_of_products(queries)).half()
    undecided = torch.nonzero(highest[:, first_groups] >= bound).flatten()
    if not len(undecided):
        return
    maxima[undecided[:, None], groups_of[undecided, :first_groups]] = torch.nan  # already scored: NaN compares false
    several = max(1, device_rows.SCORES // groups)
    for first in range(0, len(undecided), several):
        query = undecided[first : first + several]
        of, group = torch.nonzero(maxima[query, :groups] >= bound[query, None], as_tuple=True)
        for start in range(0, len(of), at_once * first_groups):
            some = slice(start, start + at_once * first_groups)
            query_rows = query[of[some]]
            scores = products.exact(matrix, alive, group[some, None], queries[query_rows])
            pair, column = torch.nonzero((scores >= kth[query_rows, None]) & torch.isfinite(scores), as_tuple=True)
            yield query_rows[pair], group[some][pair] * device_rows.GROUP + column, scores[pair, column]


def _decided_on_host(
    scores: torch.Tensor, highest: torch.Tensor, groups_of: torch.Tensor, error: torch.Tensor, k: int
) -> Found | None:
    """Return the candidates of few queries, chosen on the host: one copy is faster than many small operations on a device.

    None if step 2 does not decide them all. ``error`` is in host memory.
    """
    # Numbers of groups are below 2**24, so float32 holds them.
    copied = torch.cat([scores, highest.float(), groups_of.float()], dim=1).cpu().numpy()
    of_rows, of_groups, groups = np.split(copied, (scores.shape[1], scores.shape[1] + highest.shape[1]), axis=1)
    if k > of_rows.shape[1]:
        return None
    kth = np.partition(of_rows, -k, axis=1)[:, -k, None]
    others = of_groups[:, of_rows.shape[1] // device_rows.GROUP :]
    if (others >= (kth - error.numpy()[:, None]).astype(np.float16)).any():
        return None
    query_of, column = np.nonzero((of_rows >= kth) & np.isfinite(of_rows))
    rows = groups[query_of, column // device_rows.GROUP].astype(np.int64) * device_rows.GROUP + column % device_rows.GROUP
    return query_of, rows, of_rows[query_of, column]


def _maxima(matrix: torch.Tensor, queries: torch.Tensor, products: Products) -> torch.Tensor:
    """Return the highest score of each group: fp16 [n, groups], in whole sections of ``GROUP``, -inf behind the groups."""
    groups = len(matrix) // device_rows.GROUP
    sections = -(-groups // device_rows.GROUP)
    maxima = torch.empty((len(queries), sections * device_rows.GROUP), dtype=torch.float16, device=matrix.device)
    maxima[:, groups:] = -torch.inf
    products.maxima(matrix, queries, maxima)
    return maxima


def _highest(maxima: torch.Tensor, number: int, products: Products) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the ``number`` highest maxima of each query and their groups: [n, number], highest first.

    They lie in the ``number`` sections with the highest maxima: each of those sections has a maximum at least as high as that
    of any other section.
    """
    queries, sections = len(maxima), maxima.shape[1] // device_rows.GROUP
    if sections <= 2 * number:
        highest, groups = maxima.topk(number, dim=1)
        return highest, groups
    best = products.of_groups(maxima).topk(number, dim=1).indices
    inside = maxima.view(queries, sections, device_rows.GROUP).gather(1, best[:, :, None].expand(-1, -1, device_rows.GROUP))
    highest, at = inside.flatten(1).topk(number, dim=1)
    return highest, best.gather(1, at // device_rows.GROUP) * device_rows.GROUP + at % device_rows.GROUP
