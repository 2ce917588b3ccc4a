"""Measure the recogniser: precision, recall and F1 of every field, against patterns alone, and the time per citation.

    python -m benchmarks.parsing.recognition --json recognition.json
    python -m benchmarks.parsing.recognition --show title

Two sets: citations of publishers that were not trained on (their own tags are the truth), and references that their publisher
did not tag and whose work is known. benchmarks.parsing.crossvalidation measures AnyStyle's and grobid's sets, which the shipped
tagger was trained on.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks import harness
from benchmarks.parsing.patterns import numbers
from benchmarks.parsing.scoring import (
    FIELDS,
    Case,
    cases_of,
    every,
    held_out,
    measure,
    measure_tokens,
    plain,
    returned,
    show,
    show_wrong,
    untagged,
)  # fmt: skip
from reflink.recognition import labels as tag
from reflink.recognition import recognise
from reflink.recognition.labelled import prose, read
from reflink.recognition.tagger import BIGRU, CRF, shipped
from reflink.recognition.training import articles
from reflink.shipped import read as shipped_file
from tests.data import jats_folder, shared_data

_SENTENCE = re.compile(r"(?<=[.?!]) +(?=[A-Z])")


def unseen(cases: Iterable[Case]) -> list[Case]:
    """Return the cases whose title is not a title of any work in the training articles."""
    paths = articles(jats_folder(), shared_data() / "MANIFEST.tsv", {1, 2, 3, 4})
    trained = {plain(citation.fields[tag.T]) for path in paths for citation in read(path) if tag.T in citation.fields}
    return [case for case in cases if case.truth["title"] and not case.truth["title"] & trained]


def sentences() -> Iterator[str]:
    """Yield sentences of the bodies of held-out articles: not citations, although they may contain names and years."""
    for path in articles(jats_folder(), shared_data() / "MANIFEST.tsv", {0}):
        for paragraph in list(prose(path))[::5]:
            yield from _SENTENCE.split(paragraph)[:2]


def several() -> Iterator[str]:
    """Yield texts of two held-out citations each."""
    texts = [citation.text.rstrip(".") for citation in held_out(10)]
    for one, other in zip(texts[::2], texts[1::2], strict=False):
        yield f"{one}; {other}."


def patterns(text: str) -> dict[str, Any]:
    """Return the fields found by patterns alone."""
    return {name: value for name, value in numbers(text)._asdict().items() if value is not None}


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


def main() -> None:
    parser = harness.parser(__doc__)
    parser.add_argument("--show", metavar="FIELD", choices=FIELDS, help="print what the recogniser got wrong")
    parser.add_argument("--count", type=int, default=20, help="how many to print of each set (default 20)")
    arguments = parser.parse_args()
    apart = list(held_out())
    sets = {"held-out publishers": cases_of(apart)}
    sets["held-out publishers, works unseen"] = unseen(sets["held-out publishers"])
    sets["untagged"] = list(untagged())
    ways = {"returned": returned, "at any probability": every(shipped()), "patterns": patterns}
    report: dict[str, Any] = {}
    for name, cases in sets.items():
        for way, find in ways.items():
            known = name == "untagged"
            scores = measure([case for case in cases if case.group != "unknown"], find, beginning=known, lenient=known)
            show(f"{name}, {way}: {sum(case.group != 'unknown' for case in cases)} citations", scores)
            report[f"{name}, {way}"] = {field: score.row() for field, score in scores.items()}
            if arguments.show and way == "returned":
                show_wrong(scores[arguments.show], arguments.count)
    tokens = measure_tokens(apart, shipped())
    show("held-out publishers, tokens", tokens)
    report["held-out publishers, tokens"] = {label: score.row() for label, score in tokens.items()}
    texts = [case.text for case in sets["untagged"]]
    given = Counter(name for text in texts for name in returned(text))
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
    report["weights, bytes"] = sum(len(shipped_file(name)) for name in (CRF, BIGRU))
    print(f"\n{report['speed']['milliseconds']:.2f} ms per citation of {report['speed']['characters']:.0f} characters (mean)")
    print(f"{report['weights, bytes']} bytes of weights")
    harness.save(arguments.json, report)


if __name__ == "__main__":
    main()
