"""Train the recogniser's taggers on JATS articles, AnyStyle's core set and grobid's citation corpus.

    python -m reflink.recognition.training --jats FOLDER --manifest FILE --anystyle FILE --grobid FILE --out FOLDER

The manifest is a tab-separated table of the articles with the columns ``file`` and ``publisher``. A hash of their name assigns
publishers to five folds (`fold_of`). Two are never trained on: fold 0 shows the accuracy for publishers that the recogniser has
not seen, and thresholds are chosen on fold 1. The texts of the other corpora have five folds of their own: with
``--cross-validate``, each of five taggers is trained without one of them. It writes ``crf.npz`` and ``bigru.npz``, or one such
file for each fold (`file_of`). The same input gives the same files on the same machine.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import random
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import Final

from reflink.recognition import corpora
from reflink.recognition import labels as tag
from reflink.recognition.labelled import Labelled, prose, read
from reflink.recognition.styles import render
from reflink.recognition.tokens import tokenise

FOLDS: Final = 5
#: Folds of the publishers whose articles are learnt from.
LEARNT: Final = frozenset((2, 3, 4))
#: Texts of the articles beside the other corpora: for the CRF, and for the second phase of the BiGRU-CRF, whose first phase has
#: all texts of the articles.
BESIDE: Final = {"crf": 14_000, "bigru": 4_000}
#: Of the CRF: passes, and the size below which a weight is dropped.
EPOCHS: Final = 8
PRUNE: Final = 0.02
SEED: Final = 7
#: Maximum citations of one article used as printed, and printed in a new style: an article has only one or two styles.
AS_PRINTED: Final = 120
ANEW: Final = 80
#: Maximum pieces of prose of one article.
PROSE: Final = 3
_SENTENCE: Final = re.compile(r"(?<=[.?!]) +(?=[A-Z])")


def fold_of(publisher: str) -> int:
    """Return the fold of a publisher, 0 to 4; 0 is held out."""
    plain = " ".join(re.sub(r"\W+", " ", publisher.lower()).split()[:2])
    return int(hashlib.sha1(plain.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


def articles(folder: Path, manifest: Path, folds: Set[int]) -> Iterator[Path]:
    """Yield the articles of the publishers in ``folds``, ordered by file name."""
    with manifest.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in sorted(rows, key=lambda row: row["file"]):
        if fold_of(row["publisher"]) in folds and (folder / row["file"]).exists():
            yield folder / row["file"]


def corpus(paths: Sequence[Path], rng: random.Random) -> list[Labelled]:
    """Return the training data: citations as printed, records in new styles, texts with two works, and prose."""
    found = {path: list(read(path)) for path in paths}
    people = [citation for citations in found.values() for citation in citations if citation.names]
    made: list[Labelled] = []
    for path, citations in found.items():
        printed = [citation for citation in citations if citation.printed]
        made += rng.sample(printed, min(len(printed), AS_PRINTED))
        for citation in rng.sample(citations, min(len(citations), ANEW)):
            if (rendered := render(citation, people, rng)) is not None:
                made.append(rendered)
        if printed:
            made.append(_several(rng.choice(printed), rng.choice(printed), rng))
        paragraphs = list(prose(path))
        for paragraph in rng.sample(paragraphs, min(len(paragraphs), PROSE)):
            sentences = _SENTENCE.split(paragraph)
            start = rng.randrange(len(sentences))
            text = " ".join(sentences[start : start + rng.randint(1, 3)])
            if 4 <= (size := len(tokenise(text).words)) <= 300:
                made.append(Labelled(text, [tag.O] * size, True))
    return made


def _several(one: Labelled, other: Labelled, rng: random.Random) -> Labelled:
    """Return two works in one text, as in chemistry journals."""
    first, second = rng.choice((("a) ", "; b) "), ("(a) ", " (b) "), ("", "; "), ("", " ")))
    text = first + one.text.rstrip(".") + second + other.text
    marks: list[int] = []
    for part, found in ((first, None), (one.text.rstrip("."), one.labels), (second, None), (other.text, other.labels)):
        size = len(tokenise(part).words)
        marks += [tag.O] * size if found is None else found[:size]
    return Labelled(text, marks, True)


def public(anystyle: Path, grobid: Path) -> tuple[list[Labelled], list[int]]:
    """Return the citations of both corpora, and the fold of each (`reflink.recognition.corpora.folds`)."""
    citations = [*corpora.anystyle(anystyle), *corpora.grobid(grobid)]
    return citations, corpora.folds([citation.text for citation in citations])


def _crf(made: Sequence[Labelled], others: Iterable[Sequence[Labelled]]) -> Iterator[bytes]:
    from reflink.recognition.features import features
    from reflink.recognition.learning import learn

    for part in others:
        citations = [*made[: BESIDE["crf"]], *part]
        seen = [features(tokenise(citation.text)) for citation in citations]
        yield learn(seen, [citation.labels for citation in citations], epochs=EPOCHS, seed=SEED, prune=PRUNE).to_bytes()


def _bigru(made: Sequence[Labelled], others: Iterable[Sequence[Labelled]]) -> Iterator[bytes]:
    from reflink.recognition.bigru.training import pretrained, tuned

    model = pretrained(made, seed=SEED)
    for part in others:
        yield tuned(model, [*part, *made[: BESIDE["bigru"]]], seed=SEED).to_bytes()


#: Trains the taggers of each of several sets of other corpora's citations, after the texts of articles.
TRAINERS: Final = {"crf": _crf, "bigru": _bigru}


def file_of(tagger: str, fold: int | None) -> str:
    """Return the name of a tagger's file; ``fold``: the fold that it was trained without."""
    return f"{tagger}.npz" if fold is None else f"{tagger}-fold{fold}.npz"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m reflink.recognition.training", description="Trains the recogniser.")
    parser.add_argument("--jats", type=Path, required=True, help="folder of JATS articles")
    parser.add_argument("--manifest", type=Path, required=True, help="table with the columns file and publisher")
    parser.add_argument("--anystyle", type=Path, required=True, help="AnyStyle's core.xml.gz")
    parser.add_argument("--grobid", type=Path, required=True, help="grobid's citation corpus, a tar")
    parser.add_argument("--tagger", choices=tuple(TRAINERS), help="train only this one")
    parser.add_argument("--out", type=Path, required=True, help="folder of the files")
    parser.add_argument("--cross-validate", action="store_true", help="train five of each, without one of the folds")
    args = parser.parse_args(arguments)
    made = corpus(list(articles(args.jats, args.manifest, LEARNT)), random.Random(SEED))
    made = [citation for citation in made if len(citation.labels) == len(tokenise(citation.text).words)]
    random.Random(SEED).shuffle(made)
    citations, found = public(args.anystyle, args.grobid)
    print(f"{len(made)} texts of articles, {len(citations)} of other corpora", flush=True)
    without = list(range(corpora.FOLDS)) if args.cross_validate else [None]
    parts = [[one for one, at in zip(citations, found, strict=True) if at != fold] for fold in without]
    args.out.mkdir(parents=True, exist_ok=True)
    for tagger in (args.tagger,) if args.tagger else TRAINERS:
        for fold, data in zip(without, TRAINERS[tagger](made, parts), strict=True):
            out = args.out / file_of(tagger, fold)
            out.write_bytes(data)
            print(f"{out}: {len(data)} bytes", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
