"""Trains the verdict: ``make verdict``, or ``python -m reflink.evaluation.training --works W --references R --pubmed P``.

1. The pairs are the candidates, right and wrong, that the linker proposes for each query of the protocol
   (reflink.evaluation.records). It would propose the wrong candidates also if the target were missing, so the pairs cover both
   worlds.
2. Each query is used in three forms, so that each card has enough pairs: as it is, without its title, and only the citation as
   written. Identifiers of the reference are never used. The card of references without title and authors is trained on
   PubMed's reference lists (reflink.evaluation.pubmed).
3. ``folds.json``, written beside the model, has five models, each trained without the citing papers that it lists. In an
   evaluation no model judges papers that it was trained on (reflink.evaluation.judges).
4. The same input gives the same model: nothing is random, and folds come from a hash of the citing paper.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from reflink.blocking.untitled import read
from reflink.catalog import Catalog
from reflink.encoders import Encodes
from reflink.entities import Reference, Work
from reflink.evaluation import pubmed
from reflink.evaluation.records import Listing, Query, read_queries, read_works, without_identifiers
from reflink.evaluation.regression import Flags, Floats, train
from reflink.evaluation.run import build_catalog, default_encoder, tracked
from reflink.evaluation.same_record import is_same_record
from reflink.evaluation.worlds import Groups, hidden
from reflink.linking.linker import propose
from reflink.linking.policy import Policy
from reflink.verdict.batch import compare_all
from reflink.verdict.evidence import COLUMN
from reflink.verdict.model import CARDS, SUBJECTS, Model, zeros
from reflink.verdict.scorecard import FEATURES, features

FOLDS: Final = 5
#: Candidates of each stage: more than twice the linker's number, because the open world lacks about half of them.
CANDIDATES: Final = 12
PENALTY: Final = 2.0
TRIM: Final = 0.02
ROUNDS: Final = 2
#: Log-odds against any link.
FAR: Final = 20.0
#: About 0.5% of the identifiers in bibliographies name another work: log(0.995 / 0.005).
IDENTIFIER: Final = 5.3
#: Two identifiers of a kind that differ. A work may have two DOIs, or an id may be wrong: rare, but too frequent to exclude it.
CONTRADICTION: Final = -3.0
#: Minimum probabilities for which the model records the precision.
LEAST: Final = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999)
_BATCH: Final = 256


def without_title(reference: Reference) -> Reference:
    """Return the reference as if it had been written without a title."""
    title = reference.title or reference.chapter_title
    if not title:
        return reference
    written = " ".join(reference.raw_query.replace(title, " ").split())
    return reference.model_copy(update={"title": None, "chapter_title": None, "raw_text": written, "raw_noid": None})


#: The forms in which each query is used.
FORMS: Final[tuple[Callable[[Reference], Reference], ...]] = (lambda reference: reference, without_title, hidden)


@dataclass(frozen=True)
class Pairs:
    """Training pairs.

    ``rows`` float64 [n, columns]: evidence. ``y`` bool [n]: the work is the target. ``fold`` int [n]: fold of the citing paper.
    ``query`` int [n]: number of the query, form after form; numbers below ``asked`` are the references as they are.
    ``removed`` bool [n]: the open world lacks the work.
    """

    rows: Floats
    y: Flags
    fold: NDArray[np.int64]
    query: NDArray[np.int64]
    removed: Flags
    asked: int

    def and_unasked(self, other: Pairs) -> Pairs:
        """Return these pairs and the other ones, whose queries are not counted as references as they are."""
        both = {name: np.concatenate((getattr(self, name), getattr(other, name))) for name in ("rows", "y", "fold", "removed")}
        query = np.concatenate((self.query, other.query + self.query.max(initial=self.asked) + 1))
        return Pairs(**both, query=query, asked=self.asked)


def fold_of(citing: str) -> int:
    """Return the fold of a citing paper, 0 to 4."""
    return int(hashlib.sha1(citing.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


def collect(
    queries: Sequence[Query],
    groups: Groups,
    catalog: Catalog,
    encoder: Encodes | None,
    forms: Sequence[Callable[[Reference], Reference]] = FORMS,
) -> Pairs:
    """Return all pairs proposed for the queries in the closed world, in every form.

    For a query without a title the first two forms are equal, so its pairs occur twice.
    """
    policy, removed = Policy(candidates=CANDIDATES), groups.removed()
    rows: list[Floats] = []
    kept: list[tuple[bool, int, int, bool]] = []
    for number, form in enumerate(forms):
        for start in tracked(range(0, len(queries), _BATCH), "collecting pairs"):
            part = queries[start : start + _BATCH]
            references = [form(without_identifiers(query.reference)) for query in part]
            works: dict[str, Work] = {}
            pairs: list[tuple[int, int]] = []
            at: dict[str, int] = {}
            proposed = propose(references, catalog, encoder, policy)
            for row, (query, reference, ids) in enumerate(zip(part, references, proposed, strict=True)):
                right, own = set(groups.same(query.truth)), catalog.canonical(reference.citing)
                cited_work = catalog.get(query.truth)
                for cited in ids:
                    work = catalog.get(cited)
                    if work is None or catalog.canonical(cited) == own:
                        continue
                    if cited not in right and cited_work and is_same_record(cited_work, work):
                        continue
                    works[cited] = work
                    pairs.append((row, at.setdefault(cited, len(at))))
                    asked_as = number * len(queries) + start + row
                    kept.append((cited in right, fold_of(reference.citing), asked_as, cited in removed))
            rows.append(compare_all(references, list(works.values()), np.array(pairs, np.int64)))
    y, fold, query_, gone = zip(*kept, strict=True)
    return Pairs(np.vstack(rows), np.array(y), np.array(fold), np.array(query_), np.array(gone), len(queries))


def collect_untitled(folder: Path, listings: Sequence[Listing]) -> tuple[Pairs, set[str]]:
    """Return the pairs of PubMed's references without title and authors, and their citing papers.

    The works are those of the listings together with PubMed's records.

    For a reference whose work is present, these are all proposed works; for another one, the works at its locator that it
    cannot cite.
    """
    known = pubmed.merged(listings, pubmed.read_works(folder))
    works = {listing.work.id: listing.work for listing in known}
    cited = [each for each in pubmed.read_references(folder) if read(each.reference.raw_text)]
    queries = pubmed.queries(cited, works.values())
    catalog = Catalog.empty(lexical_mode=Policy().lexical_mode)
    catalog.add(list(works.values()))
    present = {query.reference.id for query in queries}
    absent = [each for each in cited if each.reference.id not in present]
    found = [(each, id_) for each in absent for id_ in catalog.places(each.reference) if pubmed.is_false(each.ids, works[id_])]
    references = [each.reference for each, _ in found]
    wrong = compare_all(references, [works[id_] for _, id_ in found], np.repeat(np.arange(len(found)), 2).reshape(-1, 2))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(reference.id for reference in references))}
    folds = np.array([fold_of(reference.citing) for reference in references], np.int64)
    query = np.array([numbers[reference.id] for reference in references], np.int64)
    none = np.zeros(len(found), np.bool_)
    others = Pairs(wrong, none, folds, query, none, 0)
    papers = {reference.citing for reference in [*references, *(query.reference for query in queries)]}
    return collect(queries, Groups.read(known), catalog, None, forms=FORMS[:1]).and_unasked(others), papers


def fit(pairs: Pairs, without: int | None = None) -> tuple[Model, int]:
    """Return the model of all pairs, or of the pairs outside one fold, and the number of pairs left out as wrongly labelled."""
    points, middle = zeros()
    wanted = np.ones(len(pairs.y), dtype=bool) if without is None else pairs.fold != without
    signs = np.array([feature.sign * (1.0 + feature.least) for feature in FEATURES])
    left_out = 0
    for card in range(len(CARDS)):
        mine = wanted & (pairs.rows[:, COLUMN["card"]] == card)
        rows, y = pairs.rows[mine], pairs.y[mine]
        holds = features(rows)
        if y.any() and not y.all():
            points[card], out = train(holds, y, signs, pairs.query[mine], penalty=PENALTY, trim=TRIM, rounds=ROUNDS)
            middle[card] = _middle(holds, y, points[card])
            left_out += out
        else:
            points[card, -1] = -FAR  # an untrained card links nothing
    return Model.from_dict(Model(points, middle, IDENTIFIER, CONTRADICTION).to_dict()), left_out


def _middle(holds: Flags, y: Flags, points: Floats) -> Floats:
    """Return each subject's score halfway between the right and the wrong pairs."""
    mean = (holds[y].mean(axis=0) + holds[~y].mean(axis=0)) / 2 * points[:-1]
    return np.array([mean[[f.subject == subject for f in FEATURES]].sum() for subject in SUBJECTS])


def precisions(pairs: Pairs, models: Sequence[Model], absent: Flags) -> list[tuple[float, float]]:
    """Return the precision in the open world of links at or above each of LEAST.

    Each pair is judged by the model that was trained without its paper. ``absent`` bool [queries]: the query has no target in
    the open world.
    """
    open_ = np.flatnonzero((pairs.query < pairs.asked) & ~pairs.removed)
    p = np.zeros(len(open_))
    for fold, model in enumerate(models):
        mine = pairs.fold[open_] == fold
        p[mine] = model.probabilities(pairs.rows[open_[mine]])
    order = np.lexsort((-p, pairs.query[open_]))
    _, first = np.unique(pairs.query[open_[order]], return_index=True)
    best = order[first]
    right = pairs.y[open_[best]] & ~absent[pairs.query[open_[best]]]
    reached = [(least, right[p[best] >= least]) for least in LEAST]
    return [(least, round(float(links.mean()), 5)) for least, links in reached if len(links)]


def write(pairs: Pairs, papers: Collection[str], absent: Flags, about: dict[str, Any], out: Path) -> None:
    """Write the model to ``out`` and ``folds.json`` beside it."""
    model, left_out = fit(pairs)
    siblings = [fit(pairs, fold)[0] for fold in tracked(range(FOLDS), "training")]
    about = {
        **about, "pairs": len(pairs.y), "right": int(pairs.y.sum()), "left_out": left_out, "penalty": PENALTY,
        "trim": TRIM, "candidates": CANDIDATES,
    }  # fmt: skip
    measured = [list(pair) for pair in precisions(pairs, siblings, absent)]
    _write(out, {**model.to_dict(), "precisions": measured, "training": about})
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
    parser.add_argument("--cache", type=Path, default=Path(".cache/vectors"), help="vectors encoded before (.cache/vectors)")
    args = parser.parse_args(arguments)
    listings, queries = list(read_works(args.works)), list(read_queries(args.references))
    groups, encoder = Groups.read(listings), default_encoder(args.cache)
    catalog = build_catalog([listing.work for listing in listings], encoder)
    pairs = collect(queries, groups, catalog, encoder)
    papers = {query.reference.citing for query in queries}
    if args.pubmed:
        untitled, more = collect_untitled(args.pubmed, listings)
        pairs, papers = pairs.and_unasked(untitled), papers | more
    about = {
        "works": len(listings), "queries": len(queries), "citing_papers": len({q.reference.citing for q in queries}),
        "encoder": encoder.name,
    }  # fmt: skip
    absent = np.array([groups.is_absent(query.truth, "open") for query in queries])
    write(pairs, papers, absent, about, args.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
