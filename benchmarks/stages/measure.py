"""Measure the stages over one catalog: microseconds of processor time per reference, and the bound beside it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.stages.bounds import Bound, Machine
from benchmarks.stages.catalogs import Protocol
from reflink.catalog import Catalog
from reflink.entities import Reference
from reflink.evaluation.records import without_identifiers
from reflink.lexical import LexicalIndex
from reflink.lexical.index import KIND
from reflink.lexical.segments.storage import open_segment
from reflink.linking.candidates import lexical_query
from reflink.linking.judging import Case, judge_all
from reflink.linking.linker import propose
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from reflink.semantic import Encoder, VectorIndex
from reflink.text import reference_text
from reflink.verdict.judge import shipped

IDENTIFIER: Final = "lookup by identifier"
LOCATOR: Final = "lookup by locator"
VERDICT: Final = "evidence and verdict"
WITH: Final = "trigrams, with target"
WITHOUT: Final = "trigrams, without target"
VECTORS: Final = "vectors"
ENCODING: Final = "encoding"
#: Stages in the order of the pipeline.
STAGES: Final = (IDENTIFIER, LOCATOR, ENCODING, VECTORS, WITH, WITHOUT, VERDICT)

#: References in a call of the vectors' search, the encoder and the verdict, and of the trigrams' search.
BATCH: Final = 64
TEXTS: Final = 256
#: References whose candidates are judged, and references that are encoded.
JUDGED: Final = 2048
ENCODED: Final = 256
_K: Final = Policy().candidates
_CALLS: Final = 2
_MICRO: Final = 1e6
#: Words that are read before each measurement: more than the caches of the processor hold.
_CACHES: Final = 1 << 24

Figure = dict[str, Any]


def microseconds(
    work: Callable[[], object], references: int, rounds: int, forget: Callable[[], object] = lambda: None
) -> float:
    """Return microseconds of processor time per reference: the median of ``rounds`` calls, after one uncounted call.

    ``forget`` empties caches of the program before each call. The processor's caches are emptied too, because a worker reads
    other memory between its batches; pages of files stay mapped.
    """
    other, taken = np.ones(_CACHES), []
    for _ in range(rounds + 1):
        forget()
        other.sum()
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return statistics.median(taken[1:]) / references * _MICRO


def figure(us: float, bound: Bound | None = None, **others: float) -> Figure:
    """Return the figures of a stage."""
    return {"us": us, "bound_us": bound and bound.us, "bound": bound and bound.of, **others}


def catalog_stages(folder: Path, given: Protocol, machine: Machine, rounds: int) -> dict[str, Figure]:
    """Return the figures of the stages that read the catalog in ``folder``."""
    catalog = Catalog.open(folder / "catalog")
    return {
        IDENTIFIER: lookup(lambda reference: catalog.lookup(reference.ids), catalog, given.present, machine, rounds),
        LOCATOR: lookup(catalog.places, catalog, given.present, machine, rounds),
        VECTORS: vectors(folder / "vectors", machine, rounds),
        WITH: trigrams(folder / "catalog" / "trigrams", given.present, machine, rounds),
        WITHOUT: trigrams(folder / "catalog" / "trigrams", given.absent, machine, rounds),
        VERDICT: verdict(catalog, given.present[:JUDGED], rounds),
    }


def lookup(
    way: Callable[[Reference], tuple[str, ...]],
    catalog: Catalog,
    references: Sequence[Reference],
    machine: Machine,
    rounds: int,
) -> Figure:
    """Return the figures of a lookup; ``found``: the share of references for which it finds a work."""
    took = microseconds(lambda: list(map(way, references)), len(references), rounds, lambda: forget(catalog))
    return figure(took, machine.lookup(), found=sum(map(bool, map(way, references))) / len(references))


def vectors(folder: Path, machine: Machine, rounds: int) -> Figure:
    """Return the figures of the search of vectors."""
    index = VectorIndex.open(folder)
    queries = np.random.default_rng(0).standard_normal((_CALLS * BATCH, index.dim), np.float32)
    took = microseconds(lambda: [index.search(part, _K) for part in parts(queries, BATCH)], len(queries), rounds)
    return figure(took, machine.vectors(len(index), index.dim, BATCH))


def trigrams(folder: Path, references: Iterable[Reference], machine: Machine, rounds: int) -> Figure:
    """Return the figures of the search of trigrams."""
    index, (_, segment) = LexicalIndex.open(folder), open_segment(folder, KIND)
    queries = (lexical_query(without_identifiers(each), Policy()) for each in references)
    texts = list(islice(filter(None, queries), _CALLS * TEXTS))
    took = microseconds(lambda: [index.search(part, _K) for part in parts(texts, TEXTS)], len(texts), rounds)
    return figure(took, machine.trigrams(segment.layout, texts, index.search(texts, _K), TEXTS))


def verdict(catalog: Catalog, references: Sequence[Reference], rounds: int) -> Figure:
    """Return the figures of the verdict; ``candidates``: of a reference, by locator and trigrams."""
    cited = list(map(without_identifiers, references))
    proposed = propose(cited, NativeCandidates(catalog), Policy())
    took = microseconds(lambda: verdicts(catalog, cited, proposed), len(cited), rounds, lambda: forget(catalog))
    return figure(took, candidates=statistics.fmean(map(len, proposed)))


def verdicts(catalog: Catalog, references: Sequence[Reference], proposed: Sequence[tuple[str, ...]]) -> None:
    """Read the records of the candidates, compare them with the references, and decide, a batch at a time."""
    judge, accept = shipped(), Policy().accept
    for start in range(0, len(references), BATCH):
        cases = [Case(reference, (), (), catalog) for reference in references[start : start + BATCH]]
        for case, ids in zip(cases, proposed[start : start + BATCH], strict=True):
            case.propose(((id_, 1.0) for id_ in ids), "lexical")
        judge_all(cases, judge)
        for case in cases:
            case.link(accept, judge)


def encoding(references: Sequence[Reference], machine: Machine, rounds: int) -> Figure:
    """Return the figures of the default encoder, which the catalog does not influence."""
    encoder = Encoder(device="cpu")
    cited = map(without_identifiers, references[:ENCODED])
    texts = [reference_text(each, Policy().semantic_mode, lexical=False) for each in cited]
    took = microseconds(lambda: [encoder.encode(part) for part in parts(texts, BATCH)], len(texts), rounds)
    tokens = float(encoder.tokens(texts).mean())
    return figure(took, machine.encoding(tokens), tokens=tokens)


def parts(items: Any, size: int) -> Iterator[Any]:
    """Yield slices of at most ``size`` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def forget(catalog: Catalog) -> None:
    """Empty the caches of works."""
    assert catalog.works.unchanged is not None
    catalog.works.unchanged.forget()
