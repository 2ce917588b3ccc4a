"""Trains the verdict: ``python -m reflink.evaluation.training --works W --references R --out reflink/verdict/model.json``.

Pairs are what the linker's two stages propose for each query of the protocol (reflink.evaluation.records), right and wrong
ones. The wrong ones are what the stages propose when the target is missing, so both worlds are in them. Identifiers of the
reference are never used. Beside the model goes ``folds.json``: five models, each trained without the citing papers it
lists, so that no figure of an evaluation is measured on papers that the judging model has seen (reflink.evaluation.judges).

The same input gives the same model: nothing is drawn at random, folds come from a hash of the citing paper.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from reflink.catalog import Catalog
from reflink.encoders import Encodes
from reflink.evaluation.records import Query, read_queries, read_works, without_identifiers
from reflink.evaluation.regression import Flags, Floats, train
from reflink.evaluation.run import build_catalog, default_encoder, tracked
from reflink.evaluation.worlds import Groups
from reflink.linker import propose
from reflink.policy import Policy
from reflink.verdict import Model, compare, describe_reference, describe_work
from reflink.verdict.evidence import features

FOLDS: Final = 5
#: Candidates of each stage: more than twice what the linker takes, for the open world lacks about every second one.
CANDIDATES: Final = 12
PENALTY: Final = 10.0
TRIM: Final = 0.02
ROUNDS: Final = 2
#: About 0.5% of the identifiers in bibliographies name another work: log(0.995 / 0.005).
IDENTIFIER: Final = 5.3
#: Two identifiers of a kind that differ: works have two DOIs, or an id is wrong; rarely, but often enough not to exclude.
CONTRADICTION: Final = -3.0
_BATCH: Final = 256


@dataclass(frozen=True)
class Pairs:
    """``x`` float [n, features], ``y`` bool [n] whether the work is the target, ``fold`` int [n] of the citing paper."""

    x: Floats
    y: Flags
    fold: np.ndarray[Any, np.dtype[np.int64]]


def fold_of(citing: str) -> int:
    """The fold of a citing paper, 0 to 4."""
    return int(hashlib.sha1(citing.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


def collect(queries: Sequence[Query], groups: Groups, catalog: Catalog, encoder: Encodes) -> Pairs:
    """All pairs that the two stages propose for the queries in the closed world."""
    policy = Policy(candidates=CANDIDATES)
    x: list[list[float]] = []
    y: list[bool] = []
    folds: list[int] = []
    for start in tracked(range(0, len(queries), _BATCH), "collecting pairs"):
        part = queries[start : start + _BATCH]
        references = [without_identifiers(query.reference) for query in part]
        for query, reference, proposed in zip(part, references, propose(references, catalog, encoder, policy), strict=True):
            described, right = describe_reference(reference), set(groups.same(query.truth))
            own = catalog.canonical(reference.citing)
            for cited in proposed:
                work = catalog.get(cited)
                if work is None or catalog.canonical(cited) == own:
                    continue
                x.append(list(features(compare(described, describe_work(work)))))
                y.append(cited in right)
                folds.append(fold_of(reference.citing))
    return Pairs(np.array(x), np.array(y, dtype=bool), np.array(folds, dtype=np.int64))


def fit(pairs: Pairs, without: int | None = None) -> tuple[Model, int]:
    """The model of all pairs, or of those outside one fold; and how many it left out as wrongly labelled."""
    kept = np.ones(len(pairs.y), dtype=bool) if without is None else pairs.fold != without
    return train(
        pairs.x[kept], pairs.y[kept], penalty=PENALTY, trim=TRIM, rounds=ROUNDS, identifier=IDENTIFIER,
        contradiction=CONTRADICTION,
    )  # fmt: skip


def write(pairs: Pairs, queries: Sequence[Query], about: dict[str, Any], out: Path) -> None:
    """The model at ``out`` and the folds beside it."""
    model, left_out = fit(pairs)
    about = {
        **about, "pairs": len(pairs.y), "right": int(pairs.y.sum()), "left_out": left_out, "penalty": PENALTY,
        "trim": TRIM, "candidates": CANDIDATES,
    }  # fmt: skip
    _write(out, {**model.to_dict(), "training": about})
    papers = sorted({query.reference.citing for query in queries})
    folds = [
        {"papers": [paper for paper in papers if fold_of(paper) == fold], "model": fit(pairs, fold)[0].to_dict()}
        for fold in range(FOLDS)
    ]
    _write(out.with_name("folds.json"), {"folds": folds})


def _write(path: Path, data: dict[str, Any]) -> None:
    path.write_bytes(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m reflink.evaluation.training", description="Trains the verdict.")
    parser.add_argument("--works", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".cache/vectors"))
    args = parser.parse_args(arguments)
    listings, queries = list(read_works(args.works)), list(read_queries(args.references))
    encoder = default_encoder(args.cache)
    catalog = build_catalog([listing.work for listing in listings], encoder)
    pairs = collect(queries, Groups.read(listings), catalog, encoder)
    about = {
        "works": len(listings), "queries": len(queries), "citing_papers": len({q.reference.citing for q in queries}),
        "encoder": encoder.name,
    }  # fmt: skip
    write(pairs, queries, about, args.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
