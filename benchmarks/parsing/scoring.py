"""Labelled sets for taggers, and precision, recall and F1 by field and by token.

One scorer serves every tagger: a value is right if it equals a spelling of the truth after `reflink.text.normalise` (no case,
no punctuation); a value of a field that the citation does not have is wrong; last names are right as a whole list.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reflink.recognition import corpora, recognise
from reflink.recognition import labels as tag
from reflink.recognition.labelled import Labelled, read
from reflink.recognition.labels import LABELS, label_runs
from reflink.recognition.reading import read as read_fields
from reflink.recognition.tagging import Tagger
from reflink.recognition.tokens import tokenise
from reflink.recognition.training import articles
from reflink.text import normalise
from tests.data import jats_folder, shared_data

FIELDS: Final = ("title", "last_names", "venue", "year", "volume", "issue", "first_page", "last_page")
RUNS: Final = {
    "title": tag.T, "venue": tag.V, "year": tag.Y, "volume": tag.N, "issue": tag.I, "first_page": tag.F, "last_page": tag.E,
}  # fmt: skip
#: Maximum number of held-out citations per publisher.
PER_PUBLISHER: Final = 150

#: Returns the fields of a citation's text.
Find = Callable[[str], Mapping[str, Any]]


@dataclass
class Case:
    """A citation and the correct spellings of each field; an empty set where it has none. ``group``: a language."""

    text: str
    truth: dict[str, set[Any]]
    group: str = ""


@dataclass
class Score:
    """Counts of one field or label. ``wrong``: text, value given (None if missing) and truth."""

    present: int = 0
    given: int = 0
    right: int = 0
    wrong: list[tuple[str, Any, set[Any]]] = field(default_factory=list)

    def row(self) -> dict[str, float]:
        """Return precision, recall and F1."""
        precision, recall = self.right / max(self.given, 1), self.right / max(self.present, 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        return {"present": self.present, "given": self.given, "precision": precision, "recall": recall, "f1": f1}


def anystyle() -> list[Labelled]:
    """Return AnyStyle's core set."""
    return list(corpora.anystyle(shared_data() / "benchmarks" / "anystyle" / "core.xml.gz"))


def grobid() -> list[Labelled]:
    """Return grobid's citation corpus."""
    return list(corpora.grobid(shared_data() / "benchmarks" / "grobid_citation" / "citation_corpus.tar.gz"))


def held_out(per_publisher: int = PER_PUBLISHER, fold: int = 0) -> Iterator[Labelled]:
    """Yield printed citations of the publishers in one fold; the shipped weights were trained without fold 0."""
    manifest = shared_data() / "MANIFEST.tsv"
    with manifest.open(encoding="utf-8", newline="") as lines:
        publishers = {row["file"]: row["publisher"] for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}
    seen: set[str] = set()
    taken: Counter[str] = Counter()
    for path in articles(jats_folder(), manifest, {fold}):
        for citation in read(path):
            publisher = publishers[path.name]
            if citation.printed and citation.text not in seen and taken[publisher] < per_publisher:
                seen.add(citation.text)
                taken[publisher] += 1
                yield citation


def untagged() -> Iterator[Case]:
    """Yield untagged references whose work is known, with the work's own title, names, year, volume and first page."""
    folder = shared_data()
    with gzip.open(folder / "references_dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        references = [record for record in map(json.loads, lines) if not record["tagged"] and record.get("raw_noid")]
    wanted = {record["work"] for record in references if record.get("work")}
    with gzip.open(folder / "works.jsonl.gz", "rt", encoding="utf-8") as lines:
        works = {work["id"]: work for work in map(json.loads, lines) if work["id"] in wanted}
    for record in references:
        work = works.get(record.get("work"), {})
        names = tuple(plain(name) for name in work.get("authors") or ())
        truth: dict[str, set[Any]] = {name: set() for name in FIELDS}
        for name, key in (("title", "title"), ("year", "year"), ("volume", "volume"), ("first_page", "fpage")):
            truth[name] = {plain(work[key])} if work.get(key) else set()
        truth["last_names"] = {names} if names else set()
        yield Case(record["raw_noid"], truth, "known" if any(truth.values()) else "unknown")


def plain(value: object) -> str:
    """Return a value in the form in which values are compared."""
    return normalise(str(value), lexical=False)


def case_of(citation: Labelled) -> Case:
    """Return the fields that the labels of a citation mark; each run of a label is a correct spelling of its field."""
    tokens = tokenise(citation.text)
    runs = [
        (label, citation.text[tokens.starts[start] : tokens.ends[stop - 1]])
        for label, start, stop in label_runs(citation.labels)
    ]
    truth: dict[str, set[Any]] = {
        name: {plain(text) for found, text in runs if found == label} - {""} for name, label in RUNS.items()
    }
    names = tuple(plain(text) for found, text in runs if found == tag.L)
    truth["last_names"] = {names} if names else set()
    return Case(citation.text, truth, citation.kind)


def cases_of(citations: Iterable[Labelled]) -> list[Case]:
    """Return the cases of labelled citations."""
    return [case_of(citation) for citation in citations]


def right(name: str, value: Any, case: Case, *, beginning: bool = False) -> bool:
    """Return whether a value is correct. ``beginning``: lists of names may be cut short on either side."""
    if name != "last_names":
        return plain(value) in case.truth[name]
    given = tuple(map(plain, value))
    if beginning:
        return any(given[: len(names)] == names[: len(given)] for names in case.truth[name])
    return given in case.truth[name]


def returned(text: str, tagger: Tagger | None = None) -> dict[str, Any]:
    """Return the fields that reflink returns: those of `recognise`."""
    found = recognise(text, tagger)
    return {} if found is None else {name: value for name in FIELDS if (value := getattr(found, name))}


def every(tagger: Tagger) -> Find:
    """Return a function that returns all fields that the labels of a tagger mark, at any probability."""
    return lambda text: read_fields(text, tagger).fields


def measure(cases: Iterable[Case], find: Find, *, beginning: bool = False, lenient: bool = False) -> dict[str, Score]:
    """Return the score of every field. ``lenient``: a value without a truth is not counted."""
    scores = {name: Score() for name in FIELDS}
    for case in cases:
        found = find(case.text)
        for name, score in scores.items():
            known = bool(case.truth[name])
            score.present += known
            is_right = False
            if name in found and (known or not lenient):
                score.given += 1
                is_right = right(name, found[name], case, beginning=beginning)
                score.right += is_right
            if not is_right and (known or (name in found and not lenient)):
                score.wrong.append((case.text, found.get(name), case.truth[name]))
    return scores


def measure_tokens(citations: Sequence[Labelled], tagger: Tagger) -> dict[str, Score]:
    """Return the score of every label but O, token by token, and under ``all`` that of all of them together."""
    scores = {name: Score() for name in ("all", *LABELS[1:])}
    for citation in citations:
        found = tagger.tag(citation.text, tokenise(citation.text)).labels
        for given, truth in zip(found, citation.labels, strict=True):
            for label in {given, truth} - {tag.O}:
                for name in ("all", LABELS[label]):
                    scores[name].present += label == truth
                    scores[name].given += label == given
                    scores[name].right += given == truth
    return scores


def show_wrong(score: Score, count: int) -> None:
    """Print ``count`` wrong or missing values, evenly spread."""
    for text, value, truth in score.wrong[:: max(1, len(score.wrong) // count)][:count]:
        print(f"  {text[:500]}\n    given {value!r}\n    truth {truth!r}")


def show(title: str, scores: Mapping[str, Score]) -> None:
    """Print a table."""
    print(f"\n{title}\n{'field':12} {'present':>8} {'given':>6} {'precision':>10} {'recall':>7} {'F1':>6}")
    for name, score in scores.items():
        if score.present:
            row = score.row()
            print(
                f"{name:12} {score.present:8} {score.given:6} {row['precision']:10.4f} {row['recall']:7.3f} {row['f1']:6.3f}",
                flush=True,
            )
