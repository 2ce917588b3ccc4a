"""Measure the recogniser: precision, recall and F1 of every field, against patterns alone, and the time per citation.

    python -m benchmarks.parsing.recognition --json recognition.json
    python -m benchmarks.parsing.recognition --show title
    python -m reflink.recognition.training --folds 2 3 4 --jats FOLDER --manifest FILE --out dev.npz
    python -m benchmarks.parsing.recognition --choose dev.npz

The last two commands chose `reflink.recognition.SURE`: they print precision and recall by threshold on fold 1.

Three sets: citations of publishers that were not trained on (their own tags are the truth), the strings of grobid's citation
corpus (by language where its files name one), and references that their publisher did not tag and whose work is known.
Values are compared after `reflink.text.normalise`. A value is right if it equals the truth; without a truth it is wrong.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import tarfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from lxml import etree

from benchmarks import harness
from benchmarks.parsing.patterns import numbers
from reflink.recognition import labels as tag
from reflink.recognition import recognise
from reflink.recognition.labelled import Labelled, prose, read
from reflink.recognition.labels import label_runs
from reflink.recognition.reading import read as read_fields
from reflink.recognition.tagger import load, shipped
from reflink.recognition.tokens import tokenise
from reflink.recognition.training import articles
from reflink.stripping import strip
from reflink.text import normalise
from tests.data import jats_folder, shared_data

FIELDS = ("title", "last_names", "venue", "year", "volume", "issue", "first_page", "last_page")
RUNS = {
    "title": tag.T, "venue": tag.V, "year": tag.Y, "volume": tag.N, "issue": tag.I, "first_page": tag.F, "last_page": tag.E,
}  # fmt: skip
#: Maximum number of citations per publisher.
PER_PUBLISHER = 150
THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99)
_SENTENCE = re.compile(r"(?<=[.?!]) +(?=[A-Z])")
_PAGES = re.compile(r"(?i)^\W*(?:(?:pages?|pp?|seiten?|s)\b)?[\s.:]*(?=\w*\d)")
_INITIALS = re.compile(r"(?:[A-ZÀ-Þ]\w?\.[\s-]*)+|(?:[A-ZÀ-Þ]\.?[\s-]*){1,4}|Jr\.?|Sr\.?|I{2,3}|and|")


@dataclass
class Case:
    """A citation and the correct spellings of each field; an empty set where the field does not exist.

    ``group`` is a language or empty. ``people``: the authors as one string, if their last names are not known separately.
    """

    text: str
    truth: dict[str, set[Any]]
    group: str = ""
    people: str | None = None


def plain(value: object) -> str:
    """Return a value in the form in which values are compared."""
    return normalise(str(value), lexical=False)


def held_out(per_publisher: int = PER_PUBLISHER, fold: int = 0) -> Iterator[Case]:
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
                yield Case(citation.text, truth_of(citation))


def unseen(cases: Iterable[Case]) -> list[Case]:
    """Return the cases whose title is not a title of any work in the training articles."""
    paths = articles(jats_folder(), shared_data() / "MANIFEST.tsv", {1, 2, 3, 4})
    trained = {plain(citation.fields[tag.T]) for path in paths for citation in read(path) if tag.T in citation.fields}
    return [case for case in cases if case.truth["title"] and not case.truth["title"] & trained]


def truth_of(citation: Labelled) -> dict[str, set[Any]]:
    """Return the fields that the labels of a citation mark."""
    tokens = tokenise(citation.text)
    runs = [
        (label, citation.text[tokens.starts[start] : tokens.ends[stop - 1]])
        for label, start, stop in label_runs(citation.labels)
    ]
    truth: dict[str, set[Any]] = {name: set() for name in FIELDS}
    for name, label in RUNS.items():
        values = [plain(text) for found, text in runs if found == label]
        if len(values) == 1:
            truth[name] = {values[0]}
    names = tuple(plain(text) for found, text in runs if found == tag.L)
    truth["last_names"] = {names} if names else set()
    return truth


def grobid() -> Iterator[Case]:
    """Yield the strings of grobid's corpus. The title is the article's, else the book's; authors are not split into names."""
    with tarfile.open(shared_data() / "benchmarks" / "grobid_citation" / "citation_corpus.tar.gz") as tar:
        for member in sorted(tar.getmembers(), key=lambda member: member.name):
            if not member.isfile() or (file := tar.extractfile(member)) is None:
                continue
            language = re.match(r"kisti_\w+?_(\w\w|other)\.", Path(member.name).name)
            root = etree.parse(io.BytesIO(file.read()), etree.XMLParser(recover=True)).getroot()
            for element in root.iter("{*}bibl"):
                text = strip(_line(element))
                if text:
                    yield _tei(element, text, language[1] if language else "mixed")


def _line(element: etree._Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())


def _tei(element: etree._Element, text: str, language: str) -> Case:
    found: dict[str, list[str]] = defaultdict(list)
    for part in element.iter():
        if part is not element and isinstance(part.tag, str):
            kind = part.get("level") or part.get("unit") or part.get("type") or ""
            found[etree.QName(part).localname + ":" * bool(kind) + kind].append(_line(part))
    truth: dict[str, set[Any]] = {name: set() for name in FIELDS}
    article = found["title:a"]
    truth["title"] = {" ".join(article), *article} if article else {*found["title:m"]}
    truth["venue"] = {*found["title:j"], *found["title:m"]}
    truth["year"] = set(re.findall(r"(?<!\d)(?:1[5-9]\d\d|20[0-3]\d)(?!\d)", " ".join(found["date"])))
    for value in found["biblScope:volume"] + found["biblScope:vol"]:
        value = re.sub(r"(?i)^(vol(ume)?|tome?|bd|v)\b\.?\s*", "", value)
        truth["volume"].add(value)
        if both := re.fullmatch(r"(?i)(\w+)\s*\(?(?:no\.?\s*)?([^()]*)\)?", value):
            truth["volume"].add(both[1])
            truth["issue"].add(both[2])
    for value in found["biblScope:issue"]:
        truth["issue"].add(re.sub(r"(?i)^(no|n|issue|nr|number)\b\.?\s*", "", value))
    for value in found["biblScope:pp"] + found["biblScope:page"]:
        pages = [page for page in re.split(r"\s*[-‐‑‒–—−~～]+\s*", _PAGES.sub("", value)) if page]
        truth["first_page"].update(pages[:1])
        if len(pages) == 2:
            truth["last_page"].add(pages[1])
    same = {name: {plain(value) for value in values} - {""} for name, values in truth.items()}
    return Case(text, same, language, ", ".join(found["author"]))


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


def sentences() -> Iterator[str]:
    """Yield sentences of the bodies of held-out articles: not citations, although they may contain names and years."""
    for path in articles(jats_folder(), shared_data() / "MANIFEST.tsv", {0}):
        for paragraph in list(prose(path))[::5]:
            yield from _SENTENCE.split(paragraph)[:2]


def several() -> Iterator[str]:
    """Yield texts of two held-out citations each."""
    texts = [case.text.rstrip(".") for case in held_out(10)]
    for one, other in zip(texts[::2], texts[1::2], strict=False):
        yield f"{one}; {other}."


def right(name: str, value: Any, case: Case, *, beginning: bool) -> bool:
    """Return whether a value is correct. ``beginning``: lists of names may be cut short on either side."""
    if name != "last_names":
        return plain(value) in case.truth[name]
    given = tuple(map(plain, value))
    if case.people is not None:
        return _same_people(list(value), case.people)
    if beginning:
        return any(given[: len(names)] == names[: len(given)] for names in case.truth[name])
    return given in case.truth[name]


def _same_people(names: list[str], people: str) -> bool:
    """Return whether the string lists as many persons as there are names, with one name in each."""
    people = re.sub(r"(?i)[,;\s]*\b(?:et\.?\s*al|and others|u\.\s?a)\b.*", "", people)
    parts = [part.strip() for part in re.split(r"[,;&/]|\s(?:and|et|und|y|e)\s", people)]
    if people.isupper():
        parts = [part for part in parts if not re.fullmatch(r"(?:\w\.?[\s-]*){1,3}|(?:\w\.[\s-]*)+|", part)]
    else:
        parts = [part for part in parts if not _INITIALS.fullmatch(part)]
    if len(parts) == 2 * len(names):  # whole given names behind a comma
        parts = parts[::2]
    return len(parts) == len(names) and all(name in part for name, part in zip(names, parts, strict=True))


@dataclass
class Score:
    """Counts of one field."""

    present: int = 0
    given: int = 0
    right: int = 0
    wrong: list[tuple[str, Any, set[Any]]] = field(default_factory=list)

    def row(self) -> dict[str, float]:
        """Return precision, recall and F1."""
        precision, recall = self.right / max(self.given, 1), self.right / max(self.present, 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        return {"present": self.present, "given": self.given, "precision": precision, "recall": recall, "f1": f1}


def sure(text: str) -> dict[str, Any]:
    """Return the recogniser's fields."""
    found = recognise(text)
    return {} if found is None else {name: value for name in FIELDS if (value := getattr(found, name))}


def unsure(text: str) -> dict[str, Any]:
    """Return all fields of the recogniser's tagger, at any confidence."""
    return dict(read_fields(text, shipped()).fields)


def patterns(text: str) -> dict[str, Any]:
    """Return the fields found by patterns alone."""
    return {name: value for name, value in numbers(text)._asdict().items() if value is not None}


WAYS = {"sure": sure, "unsure": unsure, "patterns": patterns}


def measure(cases: Iterable[Case], way: str, *, beginning: bool = False, lenient: bool = False) -> dict[str, Score]:
    """Return the scores of every field. ``lenient``: a value without a truth is not counted."""
    scores = {name: Score() for name in FIELDS}
    for case in cases:
        found = WAYS[way](case.text)
        for name, score in scores.items():
            known = bool(case.people) if name == "last_names" and case.people is not None else bool(case.truth[name])
            score.present += known
            if name in found and (known or not lenient):
                score.given += 1
                if right(name, found[name], case, beginning=beginning):
                    score.right += 1
                else:
                    score.wrong.append((case.text, found[name], case.truth[name]))
    return scores


def choose(weights: Path) -> None:
    """Print precision and recall by threshold on fold 1, for weights that were trained without it."""
    tagger = load(weights)
    cases = list(held_out(fold=1))
    found = [read_fields(case.text, tagger) for case in cases]
    for name in FIELDS:
        present = sum(bool(case.truth[name]) for case in cases)
        for threshold in THRESHOLDS:
            given = [
                right(name, reading.fields[name], case, beginning=False)
                for case, reading in zip(cases, found, strict=True)
                if not reading.several and name in reading.fields and reading.sure[name] >= threshold
            ]
            if given:
                precision, recall = sum(given) / len(given), sum(given) / present
                print(f"{name:12} {threshold:6.3f}  precision {precision:.4f}  recall {recall:.3f}", flush=True)


def speed(texts: list[str]) -> dict[str, float]:
    """Return milliseconds of processor time per citation, and the characters of a citation, both as means."""
    for text in texts[:50]:
        recognise(text)
    start = time.process_time()
    for text in texts:
        recognise(text)
    return {
        "milliseconds": 1000 * (time.process_time() - start) / len(texts), "characters": sum(map(len, texts)) / len(texts),
    }  # fmt: skip


def show(title: str, scores: dict[str, Score]) -> None:
    print(f"\n{title}\n{'field':12} {'present':>8} {'given':>6} {'precision':>10} {'recall':>7} {'F1':>6}")
    for name, score in scores.items():
        if score.given:
            row = score.row()
            print(
                f"{name:12} {score.present:8} {score.given:6} {row['precision']:10.4f} {row['recall']:7.3f} {row['f1']:6.3f}",
                flush=True,
            )


def main() -> None:
    parser = harness.parser(__doc__)
    parser.add_argument("--show", metavar="FIELD", choices=FIELDS, help="print what the recogniser got wrong")
    parser.add_argument("--count", type=int, default=20, help="how many to print of each set (default 20)")
    parser.add_argument("--choose", metavar="WEIGHTS", type=Path, help="print precision and recall by threshold, nothing else")
    arguments = parser.parse_args()
    if arguments.choose:
        choose(arguments.choose)
        return
    apart = list(held_out())
    sets = {
        "held-out publishers": apart, "held-out publishers, works unseen": unseen(apart), "grobid": list(grobid()),
        "untagged": list(untagged()),
    }  # fmt: skip
    report: dict[str, Any] = {}
    for name, cases in sets.items():
        for way in WAYS:
            known = name == "untagged"
            scores = measure([case for case in cases if case.group != "unknown"], way, beginning=known, lenient=known)
            show(f"{name}, {way}: {sum(case.group != 'unknown' for case in cases)} citations", scores)
            report[f"{name}, {way}"] = {field: score.row() for field, score in scores.items()}
            if arguments.show and way == "sure":
                wrong = scores[arguments.show].wrong
                for text, value, truth in wrong[:: max(1, len(wrong) // arguments.count)][: arguments.count]:
                    print(f"  {text[:400]}\n    given {value!r}\n    truth {truth!r}")
    for language in sorted({case.group for case in sets["grobid"]}):
        some = [case for case in sets["grobid"] if case.group == language]
        scores = measure(some, "sure")
        show(f"grobid, sure, {language}: {len(some)} citations", scores)
        report[f"grobid, sure, {language}"] = {field: score.row() for field, score in scores.items()}
    texts = [case.text for case in sets["untagged"]]
    given = Counter(name for text in texts for name in sure(text))
    print(f"\nShare of the {len(texts)} untagged references that get a field")
    report["untagged, share given"] = {name: given[name] / len(texts) for name in FIELDS}
    for name in FIELDS:
        print(f"{name:12} {given[name] / len(texts):6.3f}")
    for name, none in (("sentences of prose", list(sentences())), ("two works in one text", list(several()))):
        answered = [text for text in none if recognise(text)]
        report[name] = {"texts": len(none), "answered": len(answered)}
        print(f"\n{len(none)} {name}, of which {len(answered)} get a field")
        if arguments.show:
            print("\n".join(f"  {text[:300]}\n    {recognise(text)!r}" for text in answered[: arguments.count]))
    report["speed"] = speed(texts)
    report["weights, bytes"] = resources.files("reflink.recognition").joinpath("weights.npz").stat().st_size  # type: ignore[attr-defined]
    print(f"\n{report['speed']['milliseconds']:.2f} ms per citation of {report['speed']['characters']:.0f} characters (mean)")
    print(f"{report['weights, bytes']} bytes of weights")
    harness.save(arguments.json, report)


if __name__ == "__main__":
    main()
