"""Connected components of works that share identifiers."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def components(edges: NDArray[np.uint32]) -> Iterator[list[int]]:
    """Yield the components, each ascending, of the graph with these edges, uint32 [n, 2]: pairs of rows."""
    nodes, places = np.unique(edges, return_inverse=True)
    parent = array("q", range(len(nodes)))

    def root(node: int) -> int:
        while (above := parent[node]) != node:
            parent[node] = node = parent[above]
        return node

    for first, second in places.reshape(-1, 2):
        one, other = sorted((root(first), root(second)))
        parent[other] = one
    roots = np.array([root(node) for node in range(len(nodes))], np.int64)
    order = np.argsort(roots, kind="stable")
    for members in np.split(nodes[order], np.flatnonzero(np.diff(roots[order])) + 1):
        if len(members):
            yield members.tolist()
