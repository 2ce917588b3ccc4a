"""Connected components of records that are one work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from reflink.catalog.components import components


def union(groups: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return the components of two members or more, each ascending, where the members of each group are connected."""
    edges = [pair for group in groups for pair in pairwise(group)]
    return list(components(np.array(edges, np.uint32).reshape(-1, 2)))
