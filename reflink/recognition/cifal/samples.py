"""Citations of an experiment: few labelled ones of three corpora, a validation set, and generated ones (section 3.1).

Folds are those of every tagger: of texts for AnyStyle and grobid (`reflink.recognition.corpora.folds`), of publishers for JATS
(`reflink.recognition.training.fold_of`). Fold 0 is held out for tests, fold 1 gives the validation set, folds 2 to 4 the rest.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reflink.recognition import corpora
from reflink.recognition.cifal.generated import generate
from reflink.recognition.labelled import Labelled, read
from reflink.recognition.tokens import tokenise
from reflink.recognition.training import articles

#: Maximum tokens of a citation of an experiment: the time of a batch is that of its longest citation.
LONGEST: Final = 120
_LEARNT: Final = frozenset((2, 3, 4))
_VALIDATED: Final = frozenset((1,))
#: Articles whose citations are read, and maximum citations of one of them.
_ARTICLES: Final = 300
_PER_ARTICLE: Final = 60


@dataclass(frozen=True)
class Sources:
    """Paths: AnyStyle's XML, grobid's tar, a folder of JATS articles, and the table of their publishers."""

    anystyle: Path
    grobid: Path
    jats: Path
    manifest: Path


@dataclass(frozen=True)
class Samples:
    """Labelled citations to learn from and to validate with, and generated citations."""

    task: list[Labelled]
    validation: list[Labelled]
    generated: list[Labelled]


def draw(sources: Sources, labels: int, generated: int, seed: int) -> Samples:
    """Return the samples: ``labels`` citations to learn from, a fifth of that for validation, equally many of each corpus."""
    rng = random.Random(seed)
    sets = [list(corpora.anystyle(sources.anystyle)), list(corpora.grobid(sources.grobid))]
    folds = iter(corpora.folds([citation.text for own in sets for citation in own]))
    folded = [[(citation, next(folds)) for citation in own] for own in sets]
    records = _records(sources, _LEARNT, _ARTICLES, rng)
    checks = _records(sources, _VALIDATED, _ARTICLES // 5, rng)
    task, validation = ([record for record in own if record.printed] for own in (records, checks))
    learnt = [*([citation for citation, fold in own if fold in _LEARNT] for own in folded), task]
    validated = [*([citation for citation, fold in own if fold in _VALIDATED] for own in folded), validation]
    return Samples(
        [citation for own in learnt for citation in _some(own, labels // 3, rng)],
        [citation for own in validated for citation in _some(own, labels // 15, rng)],
        generate(records, generated, LONGEST, rng),
    )


def _records(sources: Sources, folds: Iterable[int], count: int, rng: random.Random) -> list[Labelled]:
    paths = list(articles(sources.jats, sources.manifest, set(folds)))
    found: list[Labelled] = []
    for path in rng.sample(paths, min(len(paths), count)):
        own = list(read(path))
        found += rng.sample(own, min(len(own), _PER_ARTICLE))
    return found


def _some(citations: Sequence[Labelled], count: int, rng: random.Random) -> list[Labelled]:
    usable = [own for own in citations if len(own.labels) == len(tokenise(own.text).words) <= LONGEST]
    return rng.sample(usable, min(len(usable), count))
