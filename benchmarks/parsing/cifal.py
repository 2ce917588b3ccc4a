"""Measure CIFAL: the ablation of its task-guided stage, a CRF trained on the same labels, and the time per citation.

    python -m benchmarks.parsing.cifal FOLDER --taggers .cache/taggers --json cifal.json

``FOLDER`` is that of ``python -m reflink.recognition.cifal.training``. The test sets are fold 0 of AnyStyle's core, of grobid's
corpus and of the publishers of JATS articles, at most ``--sample`` citations of each. Fields are scored by
`benchmarks.parsing.scoring`; ``overall`` are the paper's four fields together, ``all`` the eight fields, ``tokens`` all labels
but O. ``--taggers`` adds the recogniser's taggers that were trained without fold 0, with all labels of the other folds
(benchmarks.parsing.crossvalidation). Intervals are 95%, by a paired bootstrap over the citations; the counts of several seeds
are added.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import harness
from benchmarks.parsing.crossvalidation import KINDS, read_taggers
from benchmarks.parsing.scoring import FIELDS, anystyle, case_of, every, grobid, held_out, measure, measure_tokens
from reflink.recognition.cifal.samples import Sources, draw
from reflink.recognition.cifal.tagger import CifalTagger
from reflink.recognition.corpora import folds
from reflink.recognition.crf import HashedTagger
from reflink.recognition.features import features
from reflink.recognition.labelled import Labelled
from reflink.recognition.learning import learn
from reflink.recognition.tagging import Tagger, Tagging
from reflink.recognition.tokens import Tokens, tokenise
from reflink.semantic.encoder.model import default_folder
from tests.data import jats_folder, shared_data

#: Maximum test citations of a set: three sets of 400 are the paper's 1,200.
SAMPLE = 400
PAPERS = ("last_names", "title", "venue", "year")
COLUMNS = (*FIELDS, "tokens")
RESAMPLES = 1000
DIFFERENCES = (("anchor", "fine-tune"), ("random", "fine-tune"), ("anchor", "random"), ("fine-tune", "crf, same labels"))
#: Epochs, and limit of pruned weights, of the CRF.
CRF_EPOCHS, CRF_PRUNE = 14, 0.02

Counts = np.ndarray[Any, np.dtype[np.float64]]


class Prepared:
    """A tagger that knows the labels of given texts."""

    def __init__(self, texts: Sequence[str], found: Sequence[Tagging]) -> None:
        self._found = dict(zip(texts, found, strict=True))

    def tag(self, text: str, tokens: Tokens) -> Tagging:
        return self._found[text]


def test_sets(sample: int) -> dict[str, list[Labelled]]:
    """Return the sets by name: fold 0, in a random order that is always the same."""
    one, other = anystyle(), grobid()
    numbers = folds([citation.text for citation in one + other])
    found = {
        "anystyle": [citation for citation, fold in zip(one, numbers, strict=False) if fold == 0],
        "grobid": [citation for citation, fold in zip(other, numbers[len(one) :], strict=True) if fold == 0],
        "publishers": list(held_out()),
    }
    return {name: random.Random(1).sample(own, min(len(own), sample)) for name, own in found.items()}


def counts(citations: Sequence[Labelled], tagger: Tagger) -> Counts:
    """Return present, given and right of each column of each citation: [citations, columns, 3]."""
    find, rows = every(tagger), []
    for citation in citations:
        scores = {**measure([case_of(citation)], find), "tokens": measure_tokens([citation], tagger)["all"]}
        rows.append([(scores[name].present, scores[name].given, scores[name].right) for name in COLUMNS])
    return np.array(rows, np.float64)


def f1(own: Counts) -> Counts:
    """Return F1 of the columns, ``overall`` and ``all``, [..., columns + 2], from summed counts [..., columns, 3]."""
    papers = own[..., [COLUMNS.index(name) for name in PAPERS], :].sum(-2, keepdims=True)
    every_field = own[..., : len(FIELDS), :].sum(-2, keepdims=True)
    whole = np.concatenate([own, papers, every_field], -2)
    values: Counts = 2 * whole[..., 2] / np.maximum(whole[..., 0] + whole[..., 1], 1)
    return values


def intervals(own: Counts, other: Counts | None) -> tuple[Counts, Counts, Counts]:
    """Return F1, or its difference to ``other`` of the same citations, and the bounds of its interval."""
    rng = np.random.default_rng(1)
    drawn = [rng.multinomial(len(own), np.full(len(own), 1 / len(own))) for _ in range(RESAMPLES)]

    def difference(weights: Any) -> Counts:
        found = f1(np.tensordot(weights, own, 1))
        return found if other is None else found - f1(np.tensordot(weights, other, 1))

    values = np.stack([difference(weights) for weights in drawn])
    low, high = np.percentile(values, [2.5, 97.5], axis=0)
    return difference(np.ones(len(own))), low, high


def crf(folder: Path, seed: int) -> HashedTagger:
    """Return the CRF of the recogniser, trained on the labelled citations of a folder's experiment."""
    settings, data = json.loads((folder / "settings.json").read_text()), shared_data()
    sources = Sources(
        data / "benchmarks/anystyle/core.xml.gz", data / "benchmarks/grobid_citation/citation_corpus.tar.gz", jats_folder(),
        data / "MANIFEST.tsv",
    )  # fmt: skip
    task = draw(sources, settings["labels"], settings["generated"], settings["seed"]).task
    inputs = [features(tokenise(citation.text)) for citation in task]
    return learn(inputs, [citation.labels for citation in task], epochs=CRF_EPOCHS, seed=seed, prune=CRF_PRUNE)


def quantised(tagger: CifalTagger) -> None:
    """Replace the network's products by those of 8 bits."""
    quantise: Any = torch.ao.quantization.quantize_dynamic
    tagger.network = quantise(tagger.network, {torch.nn.Linear, torch.nn.LSTM}, dtype=torch.qint8)


def milliseconds(work: Callable[[], object], count: int) -> float:
    """Return milliseconds of processor time per citation."""
    work()
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start) / count


def speed(path: Path, texts: Sequence[str]) -> dict[str, float]:
    """Return milliseconds of processor time per citation, one by one and in batches, float32 and 8 bits."""
    found = {}
    tokens = [tokenise(text) for text in texts]
    for name in ("float32", "8 bits"):
        tagger = CifalTagger.load(path, default_folder(), torch.device("cpu"))
        if name == "8 bits":
            quantised(tagger)
        found[f"{name}, one by one"] = milliseconds(partial(_one_by_one, tagger, texts, tokens), len(texts))
        found[f"{name}, in batches"] = milliseconds(partial(tagger.tag_all, texts), len(texts))
    return found


def _one_by_one(tagger: CifalTagger, texts: Sequence[str], tokens: Sequence[Tokens]) -> None:
    for text, own in zip(texts, tokens, strict=True):
        tagger.tag(text, own)


def main() -> None:
    """Print every figure."""
    parser = harness.parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=SAMPLE)
    parser.add_argument("--taggers", type=Path, help="folder of the recogniser's taggers of the folds")
    parser.add_argument("--texts", type=int, default=64, help="citations whose time is measured")
    args = parser.parse_args()
    torch.set_num_threads(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sets = test_sets(args.sample)
    report: dict[str, Any] = {"settings": json.loads((args.folder / "settings.json").read_text()), "f1": {}}
    seeds: dict[str, dict[str, list[Counts]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(args.folder.glob("*-*.safetensors")):
        if (match := re.fullmatch(r"(fine-tune|anchor|random)-(\d+)", path.stem)) is None:
            continue
        for name, citations in sets.items():
            cached = args.folder / f"counts-{path.stem}-{name}-{args.sample}.npy"
            if not cached.exists():
                texts = [citation.text for citation in citations]
                found = CifalTagger.load(path, default_folder(), device).tag_all(texts)
                np.save(cached, counts(citations, Prepared(texts, found)))
            seeds[match[1]][name].append(np.load(cached))
    same = crf(args.folder, 1)
    for name, citations in sets.items():
        seeds["crf, same labels"][name].append(counts(citations, same))
    for kind in KINDS if args.taggers else ():
        tagger = read_taggers(args.taggers, kind)[0]
        for name, citations in sets.items():
            seeds[f"{kind}, all labels"][name].append(counts(citations, tagger))
    columns = (*COLUMNS, "overall", "all")
    for name in sets:
        plain = {variant: np.sum(own[name], axis=0) for variant, own in seeds.items()}
        print(f"\n{name}: {len(sets[name])} citations\n{'':34}" + "".join(f"{column:>12}" for column in columns))
        rows: list[tuple[str, Counts, Counts | None]] = [(variant, own, None) for variant, own in plain.items()]
        for variant, other in DIFFERENCES:
            if variant in plain and other in plain:
                rows.append((f"{variant} - {other}", plain[variant], plain[other]))
        for title, own, other_counts in rows:
            middle, low, high = intervals(own, other_counts)
            print(f"{title:34}" + "".join(f"{100 * value:12.2f}" for value in middle))
            print(f"{'':34}" + "".join(f" {100 * a:5.1f}…{100 * b:5.1f}" for a, b in zip(low, high, strict=True)), flush=True)
            report["f1"][f"{name}, {title}"] = {column: (middle[at], low[at], high[at]) for at, column in enumerate(columns)}
    texts = [citation.text for citation in sets["anystyle"][: args.texts]]
    first = min(args.folder.glob("*-*.safetensors"), key=lambda path: path.name)
    report["milliseconds"] = speed(first, texts)
    for name, value in report["milliseconds"].items():
        print(f"{name}: {value:.1f} ms of processor time per citation")
    harness.save(args.json, report)


if __name__ == "__main__":
    main()
