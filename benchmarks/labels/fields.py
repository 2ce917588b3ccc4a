"""Labelled citations of AnyStyle and grobid: the fields that the shipped tagger returns (scorer: benchmarks.parsing)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from benchmarks.labels.report import Peer, Row, Table
from benchmarks.parsing.scoring import FIELDS, Case, Score, anystyle, cases_of, grobid, measure, returned
from reflink.evaluation.measure import interval

#: Sets, their titles and their readers.
SETS: Final = {
    "anystyle": ("AnyStyle core: 1,514 labelled citations", anystyle),
    "grobid": ("grobid_citation: labelled citations of many languages", grobid),
}
#: Published figures on each set, by its name.
PEERS: Final[Mapping[str, tuple[Peer, ...]]] = {"anystyle": (), "grobid": ()}
NOTES: Final = (
    "A value is right if it equals the label after normalisation (no case, no punctuation); last names are right as a whole "
    "list. A value of a field that the citation does not have is wrong. n: citations; present: citations that have the field.",
)


def table(name: str, limit: int | None = None) -> Table:
    """Return the figures of a set by field."""
    title, read = SETS[name]
    cases = cases_of(read())[:limit]
    return Table(name=name, title=title, peers=PEERS[name], notes=NOTES, rows=rows(cases))


def rows(cases: Iterable[Case]) -> list[Row]:
    """Return precision, recall and F1 of each field, with Wilson's intervals of the first two."""
    cases = list(cases)
    found = measure(cases, returned)
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
