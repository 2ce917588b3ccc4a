"""Measure other methods on the same queries and one core: comparing sorted arrays, scipy's sparse product, tantivy, bm25s.

The first two are exact. tantivy and bm25s (optional packages, of the extra ``bench``) rank by BM25 over trigrams as tokens, and
their first 100 are scored exactly. They miss the best work if no work among these 100 has the best score in the catalog, and
some of the best five if the five best scores among them differ from the five best in the catalog. reflink also searches the
best five, as the fallback does.
"""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.lexical.corpus import Asked, Codes, Ints
from benchmarks.lexical.counting import Counter, Postings, merged
from benchmarks.lexical.measure import WITH, WITHOUT
from reflink.lexical import LexicalIndex
from reflink.lexical.trigrams import TRIGRAMS, score, trigrams

#: Queries of each kind: merging takes a second per query at a million works; misses are few, so they need more queries.
MERGED: Final = 4
ASKED: Final = 50
ASKED_OF_LIBRARY: Final = 200
#: Number of candidates that are scored exactly, and of the best of them.
FIRST: Final = 100
K: Final = 5
#: Max trigrams of all works with which bm25s builds its index: it takes 20 bytes each.
BUILT: Final = 200_000_000
#: Bytes of the writer's memory.
HEAP: Final = 1 << 30

#: Returns the best scores of a query, in descending order: one, two or ``K``.
Best = Callable[[str], tuple[float, ...]]


def measure(
    index: LexicalIndex, texts: Iterable[Sequence[str]], codes: Codes, offsets: Ints, lists: Postings,
    without: Sequence[Asked], present: Sequence[Asked], folder: Path,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return a row for each peer and kind of query: ms per query, and how often the best score or one of the best K was missed.

    ``texts`` in chunks and ``folder``, for its index during the searches, are for tantivy.
    """
    counter = Counter(lists)
    rows = []
    peers: list[tuple[str, Best, int, dict[str, float]]] = [
        ("sorted arrays merged", lambda text: merged(codes, offsets, trigrams(text)), MERGED, {"bytes": codes.nbytes}),
        ("plain counting", lambda text: counter.best(trigrams(text)), ASKED, {"bytes": lists.works.nbytes}),
        (f"reflink, k = {K}", lambda text: _hits(index, text), ASKED_OF_LIBRARY, {"bytes": sum(index.memory().values())}),
    ]  # fmt: skip
    if importlib.util.find_spec("scipy"):
        peers.append(("scipy sparse product", *_scipy(lists)))
    if importlib.util.find_spec("tantivy"):
        peers.append((f"tantivy, BM25, {FIRST} re-scored", *_tantivy(texts, codes, offsets, folder)))
    if importlib.util.find_spec("bm25s") and len(codes) <= BUILT:
        peers.append((f"bm25s, {FIRST} re-scored", *_bm25s(codes, offsets)))
    for name, best, number, about in peers:
        for kind, queries in ((WITHOUT, without), (WITH, present)):
            asked = queries[:number]
            best(asked[0].text)
            took, missed, missed_of_five = [], 0, 0
            for each in asked:
                began = time.perf_counter()
                found = best(each.text)
                took.append((time.perf_counter() - began) * 1e3)
                missed += found[0] != counter.best(trigrams(each.text))[0]
                missed_of_five += len(found) > 2 and list(found) != counter.top(trigrams(each.text), K)
            p50, p99 = np.quantile(took, [0.5, 0.99])
            figures = {"mean": statistics.fmean(took), "p50": float(p50), "p99": float(p99), "missed": missed / len(asked)}
            if len(found) > 2:
                figures["missed_of_five"] = missed_of_five / len(asked)
            rows.append({"peer": name, "kind": kind, "queries": len(asked), **about, **figures})
    shutil.rmtree(folder, ignore_errors=True)
    return rows


def missing() -> list[str]:
    """Return the optional packages that are not installed."""
    return [name for name in ("scipy", "tantivy", "bm25s") if not importlib.util.find_spec(name)]


def _hits(index: LexicalIndex, text: str) -> tuple[float, ...]:
    return tuple(score for _, score in next(iter(index.search([text], K))))


def _scipy(lists: Postings) -> tuple[Best, int, dict[str, float]]:
    """Multiply a row of trigrams by a matrix of trigrams by works, both of ones."""
    from scipy import sparse

    began = time.perf_counter()
    matrix: Any = sparse.csr_array(
        (np.ones(len(lists.works), np.uint16), lists.works.view(np.int32), lists.starts.astype(np.int32)),
        shape=(TRIGRAMS, len(lists.sizes)),
    )
    sizes = lists.sizes.astype(np.int32)

    def best(text: str) -> tuple[float, ...]:
        wanted = trigrams(text)
        row: Any = sparse.csr_array(
            (np.ones(len(wanted), np.uint16), wanted.astype(np.int32), np.array([0, len(wanted)], np.int32)),
            shape=(1, TRIGRAMS),
        )
        product: Any = row @ matrix
        overlaps, found = product.data.astype(np.int32), sizes[product.indices]
        scores = 2 * overlaps / (len(wanted) + found + np.minimum(len(wanted), found) - overlaps)
        return (float(scores.max(initial=0.0)),)

    return best, ASKED, {"built_seconds": time.perf_counter() - began, "bytes": lists.works.nbytes + matrix.data.nbytes}


def _tantivy(texts: Iterable[Sequence[str]], codes: Codes, offsets: Ints, folder: Path) -> tuple[Best, int, dict[str, float]]:
    import tantivy

    schema = tantivy.SchemaBuilder().add_text_field("text", tokenizer_name="trigrams", index_option="basic")
    schema = schema.add_unsigned_field("work", fast=True).build()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    index = tantivy.Index(schema, path=str(folder))
    index.register_tokenizer("trigrams", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(3, 3, False)).build())
    began, work = time.perf_counter(), 0
    writer = index.writer(HEAP, 1)
    for chunk in texts:
        for text in chunk:
            document = tantivy.Document(text=text)
            document.add_unsigned("work", work)
            writer.add_document(document)
            work += 1
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    about = {
        "built_seconds": time.perf_counter() - began,
        "bytes": sum(file.stat().st_size for file in folder.iterdir()),
        "segments": searcher.num_segments,
    }

    def best(text: str) -> tuple[float, ...]:
        wanted = trigrams(text)
        distinct = {text[at : at + 3] for at in range(len(text) - 2)}
        query = tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "text", token, "basic")) for token in distinct]
        )
        hits = searcher.search(query, FIRST, False).hits
        works = searcher.fast_field_values("work", [address for _, address in hits])
        return _rescored(codes, offsets, works, wanted)

    return best, ASKED_OF_LIBRARY, about


def _bm25s(codes: Codes, offsets: Ints) -> tuple[Best, int, dict[str, float]]:
    import bm25s

    began = time.perf_counter()
    index = bm25s.BM25(backend="numba")
    rows = [codes[offsets[work] : offsets[work + 1]] for work in range(len(offsets) - 1)]
    index.index((rows, {str(trigram): trigram for trigram in range(TRIGRAMS)}), create_empty_token=False, show_progress=False)
    built = time.perf_counter() - began

    def best(text: str) -> tuple[float, ...]:
        wanted = trigrams(text)
        works, _ = index.retrieve([wanted.tolist()], k=min(FIRST, len(rows)), n_threads=1, show_progress=False)
        return _rescored(codes, offsets, works[0].tolist(), wanted)

    arrays = (index.scores[name] for name in ("data", "indices", "indptr"))
    return best, ASKED_OF_LIBRARY, {"built_seconds": built, "bytes": sum(array.nbytes for array in arrays)}


def _rescored(codes: Codes, offsets: Ints, works: Iterable[int], wanted: npt.NDArray[np.uint16]) -> tuple[float, ...]:
    return tuple(sorted((_score(codes, offsets, each, wanted) for each in works), reverse=True)[:K])


def _score(codes: Codes, offsets: Ints, work: int, wanted: npt.NDArray[np.uint16]) -> float:
    own = codes[offsets[work] : offsets[work + 1]]
    return score(len(np.intersect1d(own, wanted, assume_unique=True)), len(own), len(wanted))
