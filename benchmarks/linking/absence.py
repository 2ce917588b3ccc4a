"""The share of absent works, learnt from PubMed's reference lists where most cited works are absent.

``python -m benchmarks.linking.absence --data ../shared/data [--sample 12000]`` links a random sample of the strings with an id,
as ``benchmarks.labels --set pubmed`` does. It prints the estimated share, its error by number of references, and the figures of
links under the share of one half and under the learnt share. Candidates do not depend on the share, so each reference is linked
once.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reflink.blocking.untitled import read
from reflink.catalog import Catalog
from reflink.evaluation import pubmed
from reflink.evaluation.calibration import BINS, error_of, reliability, sweep
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.linking import link_held_out
from reflink.evaluation.outcomes import best_of
from reflink.evaluation.records import read_works
from reflink.evaluation.worlds import Groups
from reflink.linking.absence import absent_given, fit, log_odds_of
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Policy
from reflink.linking.shares import stepped

SIZES: Final = (100, 1000, 10_000)
_DRAWS: Final = 100


class Best(NamedTuple):
    """Of each reference: the best candidate's log-odds at equal shares, and whether it is right and the cited work present."""

    log_odds: NDArray[np.float64]
    right: NDArray[np.bool_]
    present: NDArray[np.bool_]
    untitled: NDArray[np.bool_]


def best_candidates(data: Path, sample: int) -> Best:
    """Link the sample. References whose best candidate cannot be decided are left out."""
    listings = pubmed.merged(read_works(data / "works.jsonl.gz"), pubmed.read_works(data / "pubmed"))
    groups, works = Groups.read(listings), {listing.work.id: listing.work for listing in listings}
    catalog = Catalog.empty(lexical_mode=Policy().lexical_mode)
    catalog.add(list(works.values()))
    cited = list(pubmed.read_references(data / "pubmed"))
    cited = [cited[row] for row in sorted(np.random.default_rng(1).permutation(len(cited))[:sample])]
    truths = {query.reference.id: query.truth for query in pubmed.queries(cited, works.values())}
    links = link_held_out([each.reference for each in cited], NativeCandidates(catalog), Policy(), HeldOut.shipped(), "linking")
    rows = []
    for each, link in zip(cited, links, strict=True):
        truth, best = truths.get(each.reference.id), best_of(link)
        meant = () if truth is None else {catalog.canonical(id_) for id_ in groups.same(truth)}
        right = best is not None and best in meant
        if truth is None and best is not None and not pubmed.is_false(each.ids, works[best]):
            continue
        given = log_odds_of(link, Policy().absent)
        rows.append((-math.inf if given is None else given, right, truth is not None, bool(read(each.reference.raw_text))))
    log_odds, *flags = (np.array(column) for column in zip(*rows, strict=True))
    return Best(log_odds, *flags)


def figures(best: Best, share: float) -> str:
    """Return the figures of links from a probability of one half on, under a share of absent works."""
    p = 1 - absent_given(best.log_odds, share)
    (row,) = sweep(p, best.right, best.present, int(best.present.sum()), len(p), [0.5])
    judged = p > 0
    bins = reliability(p[judged], best.right[judged], np.quantile(p[judged], np.linspace(0, 1, BINS + 1)))
    names = ("precision", "recall", "f1", "false_link")
    return ", ".join([*(f"{name} {100 * row[name]:.2f}%" for name in names), f"calibration error {100 * error_of(bins):.3f}%"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linking.absence", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with works.jsonl.gz and pubmed/")
    parser.add_argument("--sample", type=int, default=12_000)
    args = parser.parse_args(arguments)
    everything = best_candidates(args.data, args.sample)
    untitled = everything.untitled
    parts = {"all": untitled | True, "journal, date, volume and pages alone": untitled, "others": ~untitled}
    for name, kept in parts.items():
        best = Best(*(column[kept] for column in everything))
        absent, estimate = 1 - best.present.mean(), fit(best.log_odds)
        shares = f"{absent:.2%} absent, estimate {estimate:.2%}, in use {stepped(estimate):.2%}"
        print(f"{name}: {len(best.present)} references, {shares}")
        for share in (0.5, stepped(estimate)):
            print(f"  under {share:.2%}: {figures(best, share)}")
        for size in SIZES:
            drawn = [np.random.default_rng(seed).integers(0, len(best.present), size) for seed in range(_DRAWS)]
            errors = np.array([fit(best.log_odds[rows]) - (1 - best.present[rows].mean()) for rows in drawn])
            print(f"  of {size}: bias {errors.mean():+.2%}, error {np.sqrt((errors**2).mean()):.2%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
