"""Compare the verdict's scorecards with boosted trees and plain logistic regression on the same pairs and the same five folds.

    python -m benchmarks.linking.trees --works W --references R [--cache DIR] [--noisy] [--json FILE]

The question: what accuracy is lost by weights that keep their signs and are readable? The pairs are those that the verdict is
trained on (reflink.evaluation.training), found once and kept under --cache/trees. A pair's probability comes from a model that
was not trained on the pair's citing paper. Four kinds of model:

scorecard              as shipped: steps of the evidence, each weight with the sign that its meaning demands, three cards
trees on the evidence  scikit-learn's HistGradientBoostingClassifier on the 20 columns, NaN as missing values
trees on the features  the same on the scorecard's features and the card
logistic               the 20 columns with 0 for NaN, and a flag for each NaN; no bounds; penalty and cards as above

The scorecard leaves pairs that are surely mislabelled out of its training, and the other models are trained on the pairs it
kept; with --noisy, on all pairs. All models are measured on all pairs. A query is decided by its most probable pair, and linked
from a probability of 0.5 on. The open world lacks half of the works; ``ece`` is the expected calibration error there over 20
bins of equal mass, as in reflink.evaluation.calibration. Intervals are of 95%, over citing papers; ``more`` counts
the wrong verdicts above the scorecard's on the same queries. Collecting takes some minutes once the vectors are cached
(--cache/vectors), comparing about as many. scikit-learn comes with the extra "semantic".
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import reflink
from benchmarks import harness
from benchmarks.machine import describe
from reflink.evaluation.bootstrap import intervals
from reflink.evaluation.calibration import BINS, error_of, reliability
from reflink.evaluation.fitting import PENALTY, TRIM, fit
from reflink.evaluation.pairs import FOLDS, FORMS, Pairs, collect
from reflink.evaluation.records import read_queries, read_works
from reflink.evaluation.regression import Flags, Floats, fit_weights, probabilities
from reflink.evaluation.run import build_catalog, default_encoder
from reflink.evaluation.worlds import Groups
from reflink.storage import durable
from reflink.verdict.evidence import COLUMN
from reflink.verdict.model import CARDS
from reflink.verdict.scorecard import features

ACCEPT: Final = 0.5
#: The measured query forms: the name and the index in FORMS.
MEASURED: Final = {"tagged": 0, "raw_only": len(FORMS) - 1}
THREADS: Final = 2
#: scikit-learn's defaults, except that no tenth of the pairs is held out for early stopping.
_TREES: Final[Mapping[str, Any]] = {
    "max_iter": 100, "learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20, "early_stopping": False,
}  # fmt: skip

#: Probabilities [n] of pairs from their evidence [n, columns].
Judge = Callable[[Floats], Floats]
#: Trains a judge on evidence and labels.
Learner = Callable[[Floats, Flags], Judge]


def trees(of: Callable[[Floats], NDArray[Any]]) -> Learner:
    """Return a learner of boosted trees on ``of(evidence)``."""

    def learn(rows: Floats, y: Flags) -> Judge:
        from sklearn.ensemble import HistGradientBoostingClassifier

        # Identical pairs are fitted once, weighted by their number.
        x = np.ascontiguousarray(np.column_stack([of(rows), y]))
        _, first, times = np.unique(x.view(f"V{x.strides[0]}").ravel(), return_index=True, return_counts=True)
        x, y = x[first, :-1], y[first]
        present = ~np.isnan(x).all(axis=0)  # a column of only NaN has no bins
        model = HistGradientBoostingClassifier(**_TREES).fit(x[:, present], y, sample_weight=times)
        return lambda rows: np.asarray(model.predict_proba(of(rows)[:, present])[:, 1])

    return learn


def with_card(rows: Floats) -> Floats:
    """Return the scorecard's features as numbers, and the card."""
    return np.hstack([features(rows), rows[:, [COLUMN["card"]]]]).astype(np.float32)


def flagged(rows: Floats) -> Floats:
    """Return the evidence with 0 for NaN, and a flag for each NaN."""
    silent = np.isnan(rows)
    return np.hstack([np.where(silent, 0.0, rows), silent])


def logistic(rows: Floats, y: Flags) -> Judge:
    """Fit one regression per card, on columns of unit variance."""
    by_card: dict[int, Judge] = {}
    for card in range(len(CARDS)):
        mine = rows[:, COLUMN["card"]] == card
        if mine.any():
            by_card[card] = _regression(flagged(rows[mine]), y[mine])

    def judge(rows: Floats) -> Floats:
        p = np.zeros(len(rows))
        for card, regression in by_card.items():
            mine = rows[:, COLUMN["card"]] == card
            p[mine] = regression(flagged(rows[mine]))
        return p

    return judge


def _regression(x: Floats, y: Flags) -> Judge:
    mean, spread = x.mean(axis=0), x.std(axis=0)
    spread[spread == 0] = 1.0
    free = np.full(x.shape[1], np.inf)
    weights = fit_weights((x - mean) / spread, y, PENALTY, -free, free)
    return lambda x: probabilities((x - mean) / spread, weights)


SCORECARD: Final = "scorecard"
LEARNERS: Final[Mapping[str, Learner]] = {
    "trees on the evidence": trees(lambda rows: rows),
    "trees on the features": trees(with_card),
    "logistic": logistic,
}


def believed(pairs: Pairs, among: Flags, p: Floats) -> Flags:
    """Return which pairs ``among`` have a credible label, by the scorecard's rule (reflink.evaluation.regression.train)."""
    doubtful = among & pairs.y & (p < TRIM)
    sound = np.isin(pairs.query, pairs.query[among & pairs.y & ~doubtful])
    return among & ~doubtful & ~(~pairs.y & ~sound & (p > 1 - TRIM))


def judged(pairs: Pairs, learners: Mapping[str, Learner], *, noisy: bool = False) -> dict[str, Floats]:
    """Return, by kind of model, each pair's probability under the model that was not trained on its citing paper."""
    found = {name: np.zeros(len(pairs.y)) for name in (SCORECARD, *learners)}
    for fold in range(FOLDS):
        mine = pairs.fold == fold
        if not mine.any():
            continue
        p = fit(pairs, fold)[0].probabilities(pairs.rows)
        found[SCORECARD][mine] = p[mine]
        learned = ~mine if noisy else believed(pairs, ~mine, p)
        for name, learn in learners.items():
            found[name][mine] = learn(pairs.rows[learned], pairs.y[learned])(pairs.rows[mine])
        print(f"fold {fold + 1} of {FOLDS}: {learned.sum()} pairs of {(~mine).sum()}", file=sys.stderr, flush=True)
    return found


@dataclasses.dataclass(frozen=True)
class Verdicts:
    """The most probable pair of each query: ``p`` [n], 0 where nothing was proposed; ``right``: it is the target."""

    p: Floats
    right: Flags
    proposed: Flags

    @property
    def linked(self) -> Flags:
        return self.proposed & (self.p >= ACCEPT)


def verdicts(pairs: Pairs, p: Floats, form: int, absent: Flags | None = None) -> Verdicts:
    """Return the verdicts of one form; in the open world, ``absent`` [queries] marks the queries without a target."""
    query = pairs.query - form * pairs.asked
    there = (query >= 0) & (query < pairs.asked)
    if absent is not None:
        there &= ~pairs.removed
    at = np.flatnonzero(there)
    order = at[np.lexsort((-p[at], query[at]))]
    asked, first = np.unique(query[order], return_index=True)
    best, right, proposed = np.zeros(pairs.asked), np.zeros(pairs.asked, bool), np.zeros(pairs.asked, bool)
    best[asked], right[asked], proposed[asked] = p[order[first]], pairs.y[order[first]], True
    return Verdicts(best, right if absent is None else right & ~absent, proposed)


def compare(
    pairs: Pairs, found: Mapping[str, Floats], form: int, absent: Flags, papers: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the figures of each kind of model as fractions; ``found``: of ``judged``, ``papers`` [queries]: citing papers."""
    closed = {name: verdicts(pairs, p, form) for name, p in found.items()}
    opened = {name: verdicts(pairs, p, form, absent) for name, p in found.items()}
    wrong = {name: ~(each.linked & each.right) for name, each in closed.items()}
    # In the open world, the right answer to a query without a target is no link.
    misjudged = {name: ~np.where(absent, ~each.linked, each.linked & each.right) for name, each in opened.items()}
    measured = {}
    for name, each in opened.items():
        links, hits, false = each.linked, each.linked & each.right, each.linked & absent
        p, right = each.p[each.proposed], each.right[each.proposed]
        every = np.ones(len(absent))
        more = {"closed": wrong[name] * 1.0 - wrong[SCORECARD], "open": misjudged[name] * 1.0 - misjudged[SCORECARD]}
        spans = intervals(
            papers,
            {
                "error": (wrong[name], every), "precision": (hits, links), "recall": (hits, ~absent),
                "false_link": (false, absent), "f1": (2.0 * hits, 1.0 * links + ~absent),
                # Map differences in [-1, 1] to shares in [0, 1].
                **({} if name == SCORECARD else {f"more_{world}": ((1 + part) / 2, every) for world, part in more.items()}),
            },
        )  # fmt: skip
        measured[name] = {
            "error": _share(wrong[name], every), "precision": _share(hits, links), "recall": _share(hits, ~absent),
            "f1": _share(2.0 * hits, 1.0 * links + ~absent), "false_link": _share(false, absent),
            "misjudged": _share(misjudged[name], every),
            "ece": error_of(reliability(p, right, np.quantile(p, np.linspace(0, 1, BINS + 1)))) if len(p) else 0.0,
            "more_closed": _share(more["closed"], every), "more_open": _share(more["open"], every),
            **{
                f"{key}_interval": [round(2 * end - 1, 6) for end in span] if key.startswith("more") else span
                for key, span in spans.items()
            },
        }  # fmt: skip
    return measured


def _share(part: NDArray[Any], whole: NDArray[Any]) -> float:
    return round(float(part.sum() / whole.sum()), 6) if whole.any() else 0.0


def key_of(inputs: Iterable[Path]) -> str:
    """Return a cache key for collected pairs: a checksum of the data and code files' bytes, in order."""
    digest = hashlib.sha256()
    for path in inputs:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def code() -> list[Path]:
    """Return the files that determine the pairs and their evidence: the library's sources."""
    return sorted(Path(reflink.__file__).parent.rglob("*.py"))


def keep(pairs: Pairs, path: Path) -> None:
    """Write pairs as .npz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with durable.replacing(path) as file:
        np.savez_compressed(file, **{field.name: getattr(pairs, field.name) for field in dataclasses.fields(Pairs)})


def kept(path: Path) -> Pairs:
    """Read pairs written by ``keep``."""
    with np.load(path, allow_pickle=False) as data:
        found: dict[str, Any] = dict(data)
    return Pairs(**{**found, "asked": int(found["asked"])})


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    harness.add_protocol(parser)
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="pairs are kept in its trees/ (.cache)")
    parser.add_argument("--noisy", action="store_true", help="trees and logistic regression learn from all pairs")
    args = parser.parse_args(argv)
    from threadpoolctl import threadpool_limits

    listings, queries = list(read_works(args.works)), list(read_queries(args.references))
    groups = Groups.read(listings)
    path = args.cache / "trees" / f"{key_of([args.works, args.references, *code()])}.npz"
    if not path.exists():
        encoder = default_encoder(args.cache / "vectors")
        keep(collect(queries, groups, build_catalog([each.work for each in listings], encoder), encoder), path)
    pairs = kept(path)
    if len(np.unique(pairs.fold)) < 2:
        parser.error(f"{args.references}: too few citing papers: all are in one fold, and nothing is left to learn from")
    absent = np.array([groups.is_absent(query.truth, "open") for query in queries])
    papers = [query.reference.citing for query in queries]
    with threadpool_limits(limits=THREADS):
        found = judged(pairs, LEARNERS, noisy=args.noisy)
    measured: dict[str, Any] = {name: compare(pairs, found, form, absent, papers) for name, form in MEASURED.items()}
    measured["about"] = {
        "machine": describe(), "pairs": len(pairs.y), "right": int(pairs.y.sum()), "queries": len(queries), "folds": FOLDS,
        "accept": ACCEPT, "noisy": args.noisy, "trees": dict(_TREES), "key": path.stem,
    }  # fmt: skip
    show(measured)
    harness.save(args.json, measured)
    return 0


_COLUMNS: Final = ("error", "precision", "recall", "f1", "false_link", "ece", "more_closed", "more_open")


def show(measured: Mapping[str, Any]) -> None:
    """Print the figures as a table for each form, in percent."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    for form in MEASURED:
        table = Table(title=f"{form}, % (linked from {ACCEPT})")
        table.add_column("")
        for column in _COLUMNS:
            table.add_column(column.replace("_", " "), justify="right")
        for name, figures in measured[form].items():
            table.add_row(name, *(_cell(figures, column) for column in _COLUMNS))
        console.print(table)


def _cell(figures: Mapping[str, Any], column: str) -> str:
    value, span = f"{100 * figures[column]:.2f}", figures.get(f"{column}_interval")
    return f"{value} [{100 * span[0]:.2f}, {100 * span[1]:.2f}]" if span and column.startswith("more") else value


if __name__ == "__main__":
    sys.exit(main())
