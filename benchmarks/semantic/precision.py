"""Measure the effect of a precision on results: all queries against all works, beside fp32 vectors and brute force.

    python -m benchmarks.semantic precision [--precision bf16] [--device cpu] [--cache FOLDER] [--json FILE]

Vectors of works and queries are kept in the cache folder, because encoding takes longest. Three variants, each through the
index (fp16 rows): fp32; queries in the precision over fp32 works (alone, and with close ones encoded again in fp32, as the
linker does); and both in the precision. Reported: how often the top-1 is that of brute force over fp32 vectors, how far below
it the others are, how often it is the right work, and how many decisions at the paper's threshold differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.progress import track

from reflink.catalog.encoding import encode_once
from reflink.evaluation.records import read_queries, read_works, without_identifiers
from reflink.evaluation.worlds import Groups
from reflink.linking.native import CLOSE
from reflink.linking.policy import Policy
from reflink.semantic import Encoder, VectorIndex
from reflink.text import reference_text, work_text

CHUNK = 4096

Single = npt.NDArray[np.float32]


def measure(works_file: Path, references: Path, precision: str, cache: Path, device: str = "cpu") -> dict[str, Any]:
    """Print the section and return its figures."""
    listings = list(read_works(works_file))
    queries = list(read_queries(references))
    groups, threshold = Groups.read(listings), Policy().threshold
    ids = [listing.work.id for listing in listings]
    texts = [work_text(listing.work, "TVL", lexical=False) for listing in listings]
    asked = [reference_text(without_identifiers(query.reference), "TVL", lexical=False) for query in queries]
    right = [set(groups.same(query.truth)) for query in queries]
    exact_works, exact_queries = encoded(texts, "fp32", cache, device), encoded(asked, "fp32", cache, device)
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__))
    best = brute_force(exact_works[order], exact_queries)
    figures: dict[str, Any] = {"queries": len(asked), "works": len(ids)}
    rows = {name: row for row, name in enumerate(ids)}
    figures["brute_force_right"] = share(right, [ids[order[row]] for row in best])
    print(
        f"{len(asked):,} queries, {len(ids):,} works, mode TVL; brute force over fp32: right {figures['brute_force_right']:.2%}"
    )
    decided = None
    index, indexed = VectorIndex(exact_works.shape[1]), ""
    ways = [("fp32", "fp32", False), ("fp32", precision, False), ("fp32", precision, True), (precision, precision, False)]
    for of_works, of_queries, twice in ways if precision != "fp32" else ways[:1]:
        if of_works != indexed:
            vectors = exact_works if of_works == "fp32" else encoded(texts, of_works, cache, device)
            index, indexed = VectorIndex(vectors.shape[1]), of_works
            for first in range(0, len(ids), 65_536):
                index.add(ids[first : first + 65_536], vectors[first : first + 65_536])
            index.place(None if device == "cpu" else device)
        near = exact_queries if of_queries == "fp32" else encoded(asked, of_queries, cache, device)
        name = of_works if of_works == of_queries else f"{of_works} works, {of_queries} queries"
        if twice:  # as the linker does
            best_two = index.search(near, 2).scores
            gaps = best_two[:, 0] - best_two[:, 1]
            close = (gaps > 0) & (gaps < CLOSE) | (np.abs(best_two[:, 0] - threshold) < CLOSE)
            near = np.where(close[:, None], exact_queries, near)
            name += f", the {int(close.sum())} close ones in fp32"
        hits = index.search(near, 1)
        found = [str(each) for each in hits.ids[:, 0]]
        # Compared by fp32's own scores, because equal works are the same answer.
        reached = dots(exact_queries, exact_works[[rows[each] for each in found]])
        lost = dots(exact_queries, exact_works[order[best]]) - reached
        accepts = hits.scores[:, 0] >= threshold
        decided = accepts if decided is None else decided
        cosines = dots(near, exact_queries)
        figures[name] = {
            "least_cosine": float(cosines.min()), "mean_cosine": float(cosines.mean()), "same": float((lost <= 0).mean()),
            "others": int((lost > 0).sum()), "furthest": float(lost.max()), "right": share(right, found),
            "decisions_changed": int((accepts != decided).sum()),
            "score_error": float(np.abs(hits.scores[:, 0] - reached).max()),
        }  # fmt: skip
        one = figures[name]
        print(
            f"{name}: cosine to fp32 least {one['least_cosine']:.6f}, mean {one['mean_cosine']:.6f}; top-1 of brute force over "
            f"fp32 {one['same']:.4%}, the other {one['others']} at most {one['furthest']:.1e} below; right {one['right']:.2%}; "
            f"decisions at {threshold} other than fp32's: {one['decisions_changed']}; "
            f"error of a score at most {one['score_error']:.1e}"
        )
    return figures


def encoded(texts: Sequence[str], precision: Any, cache: Path, device: str) -> Single:
    """Return the vectors, float32 [n, dim]; each chunk is cached in a file."""
    encoder = Encoder(device=device, precision=precision)
    chunks = track(range(0, len(texts), CHUNK), f"encoding, {precision}")
    return np.concatenate([encode_once(texts[first : first + CHUNK], encoder, "TVL", cache) for first in chunks])


def brute_force(works: Single, queries: Single) -> npt.NDArray[np.int64]:
    """Return the row of the nearest work of each query, the first of equal ones; float32 products."""
    return np.concatenate([(queries[first : first + 256] @ works.T).argmax(axis=1) for first in range(0, len(queries), 256)])


def dots(a: Single, b: Single) -> npt.NDArray[np.float64]:
    """Return the row-wise dot products in float64."""
    result: npt.NDArray[np.float64] = np.einsum("ij,ij->i", a.astype(np.float64), b)
    return result


def share(right: Sequence[set[str]], found: Sequence[str]) -> float:
    """Return the share of the queries whose answer is right."""
    return sum(each in truth for truth, each in zip(right, found, strict=True)) / len(right)
