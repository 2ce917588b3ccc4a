"""Measure a tagger on texts that it was not trained on: AnyStyle's core set, grobid's corpus and held-out publishers.

    python -m reflink.recognition.training --cross-validate --out .cache/taggers --jats FOLDER --manifest FILE \
        --anystyle FILE --grobid FILE
    python -m benchmarks.parsing.crossvalidation .cache/taggers [--tagger crf] [--show title] [--choose] [--json FILE]

Each citation of the two corpora is read by the tagger that was trained without its fold, the held-out publishers by the tagger
that was trained without fold 0. Thresholds (`reflink.recognition.SURE`) were chosen on fold 1 of each set: --choose prints
precision and recall by threshold. The figures are of the other folds that have a tagger, and of fold 0 of the publishers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import harness
from benchmarks.parsing.scoring import (
    FIELDS,
    Case,
    Find,
    anystyle,
    case_of,
    cases_of,
    every,
    grobid,
    held_out,
    measure,
    measure_tokens,
    returned,
    right,
    show,
    show_wrong,
)
from reflink.recognition.bigru.network import Network
from reflink.recognition.corpora import FOLDS, folds
from reflink.recognition.crf import HashedTagger
from reflink.recognition.labelled import Labelled
from reflink.recognition.reading import Reading
from reflink.recognition.reading import read as read_fields
from reflink.recognition.tagger import Pool
from reflink.recognition.tagging import Tagger, Tagging
from reflink.recognition.tokens import Tokens, tokenise
from reflink.recognition.training import file_of

CHOSEN: Final = 1
PASSES: Final = 3
READERS: Final[dict[str, type[HashedTagger | Network]]] = {"crf": HashedTagger, "bigru": Network}
KINDS: Final = (*READERS, "pool")
THRESHOLDS: Final = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)


class CrossValidated:
    """A tagger that reads each text with the tagger of its fold, once; texts without a fold with that of fold 0."""

    def __init__(self, taggers: Mapping[int, Tagger], fold: Mapping[str, int]) -> None:
        self._taggers, self._fold = taggers, fold
        self._found: dict[str, Tagging] = {}

    def tag(self, text: str, tokens: Tokens) -> Tagging:
        """Return the labels of a citation of at least one token."""
        if text not in self._found:
            self._found[text] = self._taggers[self._fold.get(text, 0)].tag(text, tokens)
        return self._found[text]


def read_taggers(folder: Path, kind: str = "pool") -> dict[int, Tagger]:
    """Return the tagger of each fold that has its files. ``kind``: one of KINDS."""
    found: dict[int, Tagger] = {}
    for fold in range(FOLDS):
        files = {name: folder / file_of(name, fold) for name in (READERS if kind == "pool" else (kind,))}
        if all(file.exists() for file in files.values()):
            members = [READERS[name].read(file.read_bytes(), str(file)) for name, file in files.items()]
            found[fold] = Pool(members) if kind == "pool" else members[0]
    return found


def labelled_sets() -> tuple[dict[str, list[Labelled]], dict[str, int]]:
    """Return the labelled sets, and the fold of each text of the two corpora."""
    sets = {"anystyle": anystyle(), "grobid": grobid()}
    texts = [citation.text for citations in sets.values() for citation in citations]
    return {**sets, "held-out publishers": list(held_out())}, dict(zip(texts, folds(texts), strict=True))


def choose(tagger: Tagger, sets: dict[str, list[Case]]) -> Iterator[tuple[str, str, float, float, float]]:
    """Yield field, set, threshold, precision and recall."""
    for name, cases in sets.items():
        found: list[Reading] = [read_fields(case.text, tagger) for case in cases]
        for field in FIELDS:
            present = sum(bool(case.truth[field]) for case in cases)
            for threshold in THRESHOLDS:
                given = [
                    right(field, reading.fields[field], case)
                    for case, reading in zip(cases, found, strict=True)
                    if not reading.several and field in reading.fields and reading.sure[field] >= threshold
                ]
                yield field, name, threshold, sum(given) / max(len(given), 1), sum(given) / max(present, 1)


def milliseconds(tagger: Tagger, texts: Sequence[str]) -> float:
    """Return the processor time of tagging and reading, per citation: the best of PASSES."""
    passes = []
    for _ in range(PASSES):
        start = time.process_time()
        for text in texts:
            read_fields(text, tagger)
        passes.append(time.process_time() - start)
    return 1000 * min(passes) / len(texts)


def main() -> None:
    parser = harness.parser(__doc__)
    parser.add_argument("folder", type=Path, help="folder of the taggers of the folds")
    parser.add_argument("--tagger", choices=KINDS, default="pool", help="default: %(default)s")
    parser.add_argument("--show", metavar="FIELD", choices=FIELDS, help="print what was wrong or is missing")
    parser.add_argument("--count", type=int, default=60, help="how many to print of each set (default %(default)s)")
    parser.add_argument("--choose", action="store_true", help="print precision and recall by threshold on fold 1, nothing else")
    arguments = parser.parse_args()
    sets, fold = labelled_sets()
    taggers = read_taggers(arguments.folder, arguments.tagger)
    tagger = CrossValidated(taggers, fold)
    if arguments.choose:
        chosen = {
            name: [case_of(one) for one in citations if fold.get(one.text) == CHOSEN]
            for name, citations in sets.items()
            if name != "held-out publishers"
        }
        chosen["publishers of fold 1"] = cases_of(held_out(fold=CHOSEN))
        chosen["together"] = [case for cases in chosen.values() for case in cases]
        for field, name, threshold, precision, recall in choose(tagger, chosen):
            print(f"{field:12} {name:20} {threshold:6.2f}  precision {precision:.4f}  recall {recall:.3f}", flush=True)
        return
    ways: dict[str, Find] = {"returned": lambda text: returned(text, tagger), "at any probability": every(tagger)}
    report: dict[str, Any] = {}
    for name, citations in sets.items():
        judged = [one for one in citations if fold.get(one.text, 0) in taggers.keys() - {CHOSEN}]
        for way, find in ways.items():
            scores = measure(cases_of(judged), find)
            show(f"{name}, {way}: {len(judged)} citations", scores)
            report[f"{name}, {way}"] = {field: score.row() for field, score in scores.items()}
            if arguments.show and way == "returned":
                show_wrong(scores[arguments.show], arguments.count)
        tokens = measure_tokens(judged, tagger)
        show(f"{name}, tokens", tokens)
        report[f"{name}, tokens"] = {label: score.row() for label, score in tokens.items()}
    texts = [one.text for one in sets["held-out publishers"]]
    report["milliseconds"] = milliseconds(taggers[0], texts)
    words = sum(len(tokenise(text).words) for text in texts) / len(texts)
    print(f"\n{report['milliseconds']:.2f} ms per citation of {words:.0f} tokens (mean)")
    harness.save(arguments.json, report)


if __name__ == "__main__":
    main()
