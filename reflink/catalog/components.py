"""Connected components of works that share identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def union(groups: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return the components, each ascending, of the graph in which the members of each group are connected."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        while (above := parent.setdefault(node, node)) != node:
            parent[node] = node = parent[above]
        return node

    for group in groups:
        for member in group:
            parent[root(member)] = root(group[0])
    components: dict[int, list[int]] = {}
    for node in sorted(parent):
        components.setdefault(root(node), []).append(node)
    return list(components.values())
