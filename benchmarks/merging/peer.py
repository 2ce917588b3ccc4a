"""Run splink on a set, in a Python that has it, and cluster its pairs at a threshold."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.merging.scores import Scores, scores
from benchmarks.merging.sets import Labelled, Pair
from benchmarks.merging.unions import union
from reflink.blocking.locators import name_words, number
from reflink.folding import compact, fold
from reflink.grouping import keys

_PROGRAM = Path(__file__).with_name("splink_program.py")
#: Thresholds among which the best one for splink is chosen, by the labels.
THRESHOLDS = (0.01, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)


def run(python: Path, labelled: Labelled, kind: str) -> tuple[dict[Pair, float], float]:
    """Return splink's probability of each pair that it compares, and its seconds. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "records.jsonl"), Path(folder, "pairs.json")
        with source.open("w", encoding="utf-8") as file:
            for at, work in enumerate(labelled.works):
                first = work.authors[0] if work.authors else None
                record = {
                    "at": at, "title": work.title, "folded": compact(work.title) if work.title else None,
                    "authors": [fold(name) for name in work.authors[:20]], "first_author": first,
                    "first": " ".join(name_words(first[:300])) if first else None, "venue": work.venue, "year": work.year,
                    "volume": number(work.volume[:100]) if work.volume else None,
                    "page": number(work.fpage[:100]) if work.fpage else None, "keys": list(keys(work)),
                }  # fmt: skip
                file.write(json.dumps(record) + "\n")
        subprocess.run([python, _PROGRAM, source, target, kind], check=True, capture_output=True)
        found = json.loads(target.read_text())
    return {(a, b): probability for a, b, probability in found["pairs"]}, found["seconds"]


def clusters(probabilities: Mapping[Pair, float], least: float) -> list[list[int]]:
    """Return the connected components of the pairs from ``least`` on, as splink clusters them."""
    return union(pair for pair, probability in probabilities.items() if probability >= least)


def best(labelled: Labelled, probabilities: Mapping[Pair, float]) -> tuple[float, Scores]:
    """Return the threshold with the best F1, and its scores: chosen by the labels, in splink's favour."""
    found = [(least, scores(labelled, clusters(probabilities, least))) for least in THRESHOLDS]
    return max(found, key=lambda each: each[1].f1)
