"""Train the recogniser: ``python -m reflink.recognition.training --jats FOLDER --manifest FILE --out FILE``.

``FOLDER`` holds JATS articles; the manifest is a tab-separated table of them with the columns ``file`` and ``publisher``. A
hash of their name assigns publishers to five folds. Fold 0 is held out permanently (`fold_of`): measurements on it show the
accuracy for publishers that the recogniser has not seen. The same input gives the same file.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from reflink.recognition import labels as tag
from reflink.recognition.features import features
from reflink.recognition.labelled import Labelled, prose, read
from reflink.recognition.learning import learn
from reflink.recognition.styles import render
from reflink.recognition.tokens import tokenise

FOLDS: Final = 5
EPOCHS: Final = 14
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


def articles(folder: Path, manifest: Path, folds: set[int]) -> Iterator[Path]:
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m reflink.recognition.training", description="Trains the recogniser.")
    parser.add_argument("--jats", type=Path, required=True, help="folder of JATS articles")
    parser.add_argument("--manifest", type=Path, required=True, help="table with the columns file and publisher")
    parser.add_argument("--out", type=Path, required=True, help="the weights' file to write")
    parser.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4], help="folds to learn from (default all but 0)")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    args = parser.parse_args(arguments)
    rng = random.Random(SEED)
    citations = corpus(list(articles(args.jats, args.manifest, set(args.folds))), rng)
    usable = [citation for citation in citations if len(citation.labels) == len(tokenise(citation.text).words)]
    print(f"{len(usable)} citations, {sum(len(citation.labels) for citation in usable)} tokens", flush=True)
    tagger = learn(
        [features(tokenise(citation.text)) for citation in usable], [citation.labels for citation in usable],
        epochs=args.epochs, seed=SEED, prune=PRUNE,
    )  # fmt: skip
    data = tagger.to_bytes()
    args.out.write_bytes(data)
    print(f"{args.out}: {len(data)} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
