"""Labelled citations of AnyStyle and grobid: the returned fields (scorer: benchmarks.parsing), cross-validated.

The shipped tagger was trained on both sets, so it is not measured here. The figures are of taggers in WEIGHTS, each trained
without one fold and measured on it; benchmarks.parsing.crossvalidation has the command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.labels.report import Peer, Row, Table
from benchmarks.parsing.crossvalidation import CHOSEN, CrossValidated, labelled_sets, read_taggers
from benchmarks.parsing.scoring import FIELDS, Case, Find, Score, cases_of, measure, returned
from reflink.evaluation.measure import interval

#: Folder of the taggers of the folds.
WEIGHTS: Final = Path(".cache/taggers")
#: Sets and their titles.
SETS: Final = {
    "anystyle": "AnyStyle core: labelled citations",
    "grobid": "grobid_citation: labelled citations of many languages",
}
#: Published figures on each set, by its name.
PEERS: Final[Mapping[str, tuple[Peer, ...]]] = {"anystyle": (), "grobid": ()}
NOTES: Final = (
    "A value is right if it equals the label after normalisation (no case, no punctuation); last names are right as a whole "
    "list. A value of a field that the citation does not have is wrong. n: citations; present: citations that have the field.",
)
SEEN: Final = (
    f"These are figures on texts of the training: {WEIGHTS} has no tagger of a fold (benchmarks.parsing.crossvalidation)."
)


def table(name: str, limit: int | None = None) -> Table:
    """Return the figures of a set by field."""
    taggers = read_taggers(WEIGHTS)
    sets, fold = labelled_sets()
    if not taggers.keys() - {CHOSEN}:
        return Table(
            name=name, title=SETS[name], peers=PEERS[name], notes=(*NOTES, SEEN), rows=rows(cases_of(sets[name])[:limit])
        )
    tagger = CrossValidated(taggers, fold)
    cases = cases_of(one for one in sets[name] if fold[one.text] in taggers.keys() - {CHOSEN})[:limit]
    found = rows(cases, lambda text: returned(text, tagger))
    return Table(name=name, title=SETS[name], peers=PEERS[name], notes=NOTES, rows=found)


def rows(cases: Iterable[Case], find: Find = returned) -> list[Row]:
    """Return precision, recall and F1 of each field, with Wilson's intervals of the first two."""
    cases = list(cases)
    found = measure(cases, find)
    return [Row("fields of the text", name, figures(found[name], len(cases))) for name in FIELDS if name in found]


def figures(score: Score, n: int) -> dict[str, Any]:
    """Return a field's figures in the form of `benchmarks.labels.scores`; those of links are None."""
    precision = score.right / score.given if score.given else None
    recall = score.right / score.present if score.present else None
    f1 = 2 * score.right / (score.given + score.present) if score.given + score.present else None
    return {
        "n": n, "present": score.present, "linked": score.given, "right": score.right, "precision": precision,
        "precision_interval": interval(score.right, score.given), "recall": recall,
        "recall_interval": interval(score.right, score.present), "f1": f1, "f1_interval": None, "false_link": None,
        "accuracy": None,
    }  # fmt: skip
