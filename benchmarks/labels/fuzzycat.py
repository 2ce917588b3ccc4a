"""fuzzycat's set: 318 pairs of records of the Internet Archive's catalog, labelled as the same work or not."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.labels.linking import probability
from benchmarks.labels.report import Peer, Row, Table
from benchmarks.labels.scores import Answer, scores
from benchmarks.labels.wording import first_page, last_names, reference_of
from reflink.entities import Work

SAME: Final = ("EXACT", "STRONG")
DIFFERENT: Final = "DIFFERENT"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two records with fuzzycat's label: ``status`` EXACT, STRONG, AMBIGUOUS, DIFFERENT or empty, and the reason."""

    left: Mapping[str, Any]
    right: Mapping[str, Any]
    status: str
    reason: str

    @property
    def names(self) -> tuple[str, str]:
        """Return the two records' ids."""
        return self.left["ident"], self.right["ident"]

    def probability(self) -> float:
        """Return the probability of being the same: the mean of the verdicts with each record as the cited one."""
        return (_cites(self.left, self.right) + _cites(self.right, self.left)) / 2


def _cites(citing: Mapping[str, Any], cited: Mapping[str, Any]) -> float:
    names = [name for name in citing["contribs"] if name]
    return probability(reference_of(work_of(citing), names), work_of(cited))


def work_of(release: Mapping[str, Any]) -> Work:
    """Convert a record to a work: a subtitle is part of the title; identifiers are left out."""
    title = ": ".join(part for part in (release.get("title"), release.get("subtitle")) if part)
    return Work(
        id=release["ident"], title=title or None, authors=last_names([name for name in release["contribs"] if name]),
        venue=release.get("container"), year=release.get("release_year"), volume=release.get("volume"),
        fpage=first_page(release.get("pages")),
    )  # fmt: skip


def read(folder: Path) -> list[Pair]:
    """Read the labelled pairs, and those without a label."""
    with gzip.open(folder / "releases.jsonl.gz") as file:
        releases = {release["ident"]: release for release in map(orjson.loads, file)}
    with (folder / "verify.csv").open(newline="", encoding="utf-8") as file:
        return [
            Pair(releases[left], releases[right], status.removeprefix("Status."), reason)
            for left, right, status, reason, *_ in csv.reader(file)
        ]


def measure(data: Path) -> Table:
    """Return every figure of the set."""
    pairs = read(data / "benchmarks" / "fuzzycat")
    decided = [(pair, pair.probability()) for pair in pairs]
    labelled = [(pair, sure) for pair, sure in decided if pair.status in (*SAME, DIFFERENT)]
    rows = [row("all labelled", labelled)]
    rows += [
        row("same by metadata or different", [(pair, sure) for pair, sure in labelled if not by_identifier(pair)]),
        # Different for fuzzycat by kind or year: a version of the same work, which a reader may accept as the work.
        row("same title on both sides", [(pair, sure) for pair, sure in labelled if same_title(pair)]),
    ]
    ambiguous = [sure for pair, sure in decided if pair.status == "AMBIGUOUS"]
    notes = [*NOTES]
    if ambiguous:
        same = sum(sure >= 0.5 for sure in ambiguous)
        notes.append(f"AMBIGUOUS, {len(ambiguous)} pairs, in no figure: reflink takes {same} of them for the same.")
    return Table(
        name="fuzzycat", title=f"fuzzycat: {len(labelled)} labelled pairs of records, judged at 0.5", rows=rows, peers=PEERS,
        notes=notes,
    )  # fmt: skip


def row(part: str, decided: Sequence[tuple[Pair, float]]) -> Row:
    """Return the figures of some pairs; "same" is the positive class."""
    given = [Answer(pair.status in SAME, sure >= 0.5, pair.status in SAME and sure >= 0.5) for pair, sure in decided]
    wrong = [
        {"kind": "false" if answer.linked else "missed", "pair": pair.names, "label": pair.status, "why": pair.reason,
         "probability": round(sure, 4)}
        for (pair, sure), answer in zip(decided, given, strict=True)
        if answer.present != answer.linked
    ]  # fmt: skip
    return Row("records without identifiers", part, scores(given), wrong)


def by_identifier(pair: Pair) -> bool:
    """Return whether the label rests on identifiers, which are withheld here: versions of a DOI, records of one work."""
    return pair.reason in _BY_IDENTIFIER


def same_title(pair: Pair) -> bool:
    """Return whether the two titles are equal except for case and white space."""
    left, right = (" ".join((side.get("title") or "").lower().split()) for side in (pair.left, pair.right))
    return left == right


_BY_IDENTIFIER: Final = frozenset(
    ("WORK_ID", "DOI", "DATACITE_VERSION", "DATACITE_RELATED_ID", "FIGSHARE_VERSION", "VERSIONED_DOI", "PMID_DOI_PAIR",
     "DATASET_DOI", "SHARED_DOI_PREFIX", "JSTOR_ID", "CUSTOM_PREFIX_10_14288")
)  # fmt: skip
PEERS: Final = (Peer("fuzzycat", where="none published; its tests demand all"),)
NOTES: Final = (
    "fuzzycat has published no accuracy: its notes name measuring precision and recall as something to do. Its own test "
    "demands that its rules give every one of these labels, and both grew together: 100% there is nothing to compare with.",
    "Its labels answer whether two records are the same release of a work or close to it, and it looks at identifiers, kinds "
    "of records and publishers; reflink is asked whether one would be cited by the other, and sees metadata alone.",
)
