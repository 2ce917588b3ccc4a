"""The exact search on a torch device: all rows in fp16 with sums in fp32, and the groups that may hold one of the best exactly.

A product of one block of rows with all queries is read once more, for the maximum of each group of ``GROUP`` rows. The
groups with the highest maxima are scored as defined; the k-th best of those scores is one that the true k-th best cannot be
below. A group whose maximum is lower than that by more than the product's error holds none of the best. Where that is not
shown of every group left out, all that remain possible are scored too.

Error of a score: of the query's rounding to fp16, at most the length of what is lost; of the sums, at most four times that
of rounded float32 sums, which leaves room for hardware that truncates; one step of fp16 for writing the score.
Rows that are dead count in the maxima and nowhere else: they may cost a group more, never a hit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import torch

from reflink.semantic import device as places
from reflink.semantic.rows import Single, View
from reflink.semantic.scanning import Found, error_of_sums

#: Groups scored exactly at first, beside as many as hits are wanted.
MORE: Final = 5
#: A step of fp16 below 1, the highest score there is.
STEP: Final = 2.0**-11


def scan(view: View, queries: Single, k: int) -> Iterator[Found]:
    """As ``scanning.scan``, on the device of the view; for each part of its rows, what the best are chosen from."""
    assert view.device is not None
    for part in view.device.read(view):  # each once for all queries: it may have to be sent
        yield from _scan_queries(part, queries, k)


def _scan_queries(part: places.Part, queries: Single, k: int) -> Iterator[Found]:
    base, matrix, alive = part
    for first in range(0, len(queries), places.QUERIES):
        asked = torch.from_numpy(queries[first : first + places.QUERIES]).to(matrix.device)
        for query_of, rows, scores in _scan_part(matrix, alive, asked, k):
            yield query_of.cpu().numpy() + first, rows.cpu().numpy() + base, scores.cpu().numpy()


def _scan_part(
    matrix: torch.Tensor, alive: torch.Tensor, queries: torch.Tensor, k: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    maxima, error = _maxima(matrix, queries)
    groups = maxima.shape[1]
    many = min(k + MORE, groups)
    highest, chosen = maxima.topk(min(many + 1, groups), dim=1)
    at_once = max(1, places.GATHERED // (many * places.GROUP * matrix.shape[1] * 10))
    kth = torch.empty(len(queries), dtype=torch.float32, device=matrix.device)
    for first in range(0, len(queries), at_once):
        here = slice(first, min(first + at_once, len(queries)))
        scores = _score(matrix, alive, chosen[here, :many], queries[here])
        wanted = min(k, scores.shape[1])
        kth[here] = scores.topk(wanted, dim=1).values[:, -1] if wanted == k else -torch.inf
        query_of, column = torch.nonzero((scores >= kth[here, None]) & torch.isfinite(scores), as_tuple=True)
        group = chosen[here][query_of, column // places.GROUP]
        yield query_of + first, group * places.GROUP + column % places.GROUP, scores[query_of, column]
    if many == groups:
        return
    least = (kth - error).half()
    open_ = torch.nonzero(highest[:, many] >= least).flatten()
    if not len(open_):
        return
    maxima[open_[:, None], chosen[open_, :many]] = torch.nan  # done: not above anything
    several = max(1, places.SCORES // groups)
    for first in range(0, len(open_), several):
        query = open_[first : first + several]
        of, group = torch.nonzero(maxima[query] >= least[query, None], as_tuple=True)
        for start in range(0, len(of), at_once * many):
            some = slice(start, start + at_once * many)
            asked = query[of[some]]
            scores = _score(matrix, alive, group[some, None], queries[asked])
            pair, column = torch.nonzero((scores >= kth[asked, None]) & torch.isfinite(scores), as_tuple=True)
            yield asked[pair], group[some][pair] * places.GROUP + column, scores[pair, column]


def _maxima(matrix: torch.Tensor, queries: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The highest score of each group [n, groups] as fp16, and how far below the score as defined each query's may be."""
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
    """Scores as defined of all rows of ``groups`` [n, m] against ``queries`` [n, dim]: [n, m * GROUP]; minus infinity if dead.

    float64 holds every sum exactly, see VectorIndex: the order in which a device adds does not matter.
    """
    number, dim = queries.shape
    rows = matrix.view(-1, places.GROUP, dim)[groups].view(number, -1, dim).double()
    scores = torch.bmm(rows, queries.double()[:, :, None]).squeeze(2).float()
    return scores.masked_fill(~alive.view(-1, places.GROUP)[groups].view(number, -1), -torch.inf)
