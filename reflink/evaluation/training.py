"""Trains the verdict: ``make verdict``, or ``python -m reflink.evaluation.training --works W --references R --pubmed P``.

1. The pairs of the JATS articles' references and of PubMed's reference lists (reflink.evaluation.pairs) train one model, on all
   scorecards that they belong to. On a scorecard both sources have the same weight (reflink.evaluation.fitting).
2. ``folds.json``, written beside the model, has five models, each trained without the citing papers that it lists. In an
   evaluation no model judges papers that it was trained on (reflink.evaluation.judges).
3. The same input gives the same model: nothing is random, and folds come from a hash of the citing paper.
4. Vectors and hits of searches are kept under ``--cache``. They do not depend on the evidence, so training again after a change
   of the evidence only compares and fits.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from reflink.evaluation import pubmed
from reflink.evaluation.fitting import PENALTY, TRIM, fit, rates
from reflink.evaluation.linking import tracked
from reflink.evaluation.pairs import CANDIDATES, FOLDS, NEAREST, SOURCES, Pairs, collect, fold_of, of_pubmed
from reflink.evaluation.records import Listing, Query, read_queries, read_works
from reflink.evaluation.regression import Flags
from reflink.evaluation.run import default_encoder
from reflink.evaluation.searches import kept_catalog
from reflink.evaluation.vectors import CachedEncoder
from reflink.evaluation.worlds import Groups


def of_articles(listings: Sequence[Listing], queries: Sequence[Query], encoder: CachedEncoder, cache: Path) -> Pairs:
    """Return the pairs of the articles' references. ``cache``: folder of kept searches."""
    catalog = kept_catalog([listing.work for listing in listings], encoder, cache)
    return collect(queries, Groups.read(listings), catalog, encoder)


def of_lists(folder: Path, listings: Sequence[Listing], cache: Path) -> tuple[Pairs, set[str]]:
    """Return the pairs of PubMed's reference lists in ``folder``, and the citing papers.

    The works are those of the listings together with PubMed's records.
    """
    known = pubmed.merged(listings, pubmed.read_works(folder))
    cited = list(pubmed.read_references(folder))
    catalog = kept_catalog([listing.work for listing in known], None, cache)
    return of_pubmed(cited, Groups.read(known), catalog), {each.reference.citing for each in cited}


def write(pairs: Pairs, papers: Collection[str], absent: Flags, about: dict[str, Any], out: Path) -> None:
    """Write the model to ``out`` and ``folds.json`` beside it. ``absent``: as for `rates`."""
    model, left_out = fit(pairs)
    siblings = [fit(pairs, fold)[0] for fold in tracked(range(FOLDS), "training")]
    sources = {
        name: {"pairs": int((pairs.source == number).sum()), "right": int(pairs.y[pairs.source == number].sum())}
        for number, name in enumerate(SOURCES)
    }
    about = {
        **about, "pairs": len(pairs.y), "right": int(pairs.y.sum()), "left_out": left_out, "sources": sources,
        "penalty": PENALTY, "trim": TRIM, "candidates": CANDIDATES, "candidates_absent": NEAREST,
    }  # fmt: skip
    measured = [list(rate) for rate in rates(pairs, siblings, absent)]
    _write(out, {**model.to_dict(), "rates": measured, "training": about})
    folds = [
        {"papers": [paper for paper in sorted(papers) if fold_of(paper) == fold], "model": sibling.to_dict()}
        for fold, sibling in enumerate(siblings)
    ]
    _write(out.with_name("folds.json"), {"folds": folds})


def _write(path: Path, data: dict[str, Any]) -> None:
    path.write_bytes(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m reflink.evaluation.training", description="Trains the verdict.")
    parser.add_argument("--works", type=Path, required=True, help="as for reflink evaluate --catalog")
    parser.add_argument("--references", type=Path, required=True, help="as for reflink evaluate")
    parser.add_argument("--pubmed", type=Path, help="folder of PubMed's records and reference lists; without, no untitled card")
    parser.add_argument("--out", type=Path, required=True, help="the model's file; folds.json is written beside it")
    parser.add_argument(
        "--cache", type=Path, default=Path(".cache/vectors"), help="folder of vectors and searches (.cache/vectors)"
    )
    args = parser.parse_args(arguments)
    listings, queries = list(read_works(args.works)), list(read_queries(args.references))
    encoder = default_encoder(args.cache)
    pairs, papers = of_articles(listings, queries, encoder, args.cache), {query.reference.citing for query in queries}
    if args.pubmed:
        more, citing = of_lists(args.pubmed, listings, args.cache)
        pairs, papers = pairs.and_more(more), papers | citing
    about = {"works": len(listings), "queries": len(queries), "citing_papers": len(papers), "encoder": encoder.name}
    groups = Groups.read(listings)
    absent = np.array([groups.is_absent(query.truth, "open") for query in queries])
    write(pairs, papers, absent, about, args.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
