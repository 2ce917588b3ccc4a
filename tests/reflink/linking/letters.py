"""An encoder of letter pairs, a small catalog, and references to its works."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reflink.catalog import Catalog
from reflink.entities import Link, Reference, Work
from reflink.linking.linker import Linker
from reflink.linking.linker import lexical_step as lexical_step_of
from reflink.linking.linker import semantic_step as semantic_step_of
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Open, Policy
from reflink.text import SEP, work_text
from tests.reflink.verdict.evidences import sensible

DIM = 64
PAPER = Policy(profile="paper")
PRODUCTION = Policy()
#: A judge that does not change when the shipped one is trained again.
JUDGE = sensible()


class Letters:
    """Encodes texts as hashed counts of letter pairs; the result does not depend on the batch."""

    name, precision, dim, separator = "letters", "fp32", DIM, SEP

    def __init__(self) -> None:
        self.calls: list[int] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(len(texts))
        vectors = np.zeros((len(texts), DIM), np.float32)
        for row, text in enumerate(texts):
            for a, b in pairwise(text):
                vectors[row, (ord(a) * 31 + ord(b)) % DIM] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def semantic_step(
    references: Sequence[Reference],
    catalog: Catalog,
    encoder: Letters,
    policy: Policy,
    *,
    precise: Letters | None = None,
    forbidden: Sequence[tuple[str, ...]] | None = None,
) -> list[Link | Open]:
    source = NativeCandidates(catalog, encoder, precise)
    return semantic_step_of(references, source, policy, judge=JUDGE, forbidden=forbidden)


def lexical_step(opens: Sequence[Open], catalog: Catalog, policy: Policy) -> list[Link]:
    return lexical_step_of(opens, NativeCandidates(catalog), policy, judge=JUDGE)


def work(n: int, title: str, **more: Any) -> Work:
    fields = {"authors": ("Galmes", "Medrano"), "venue": "New Phytologist", "year": 2007, "volume": "175", "fpage": str(80 + n)}
    return Work.from_dict({"id": f"doi:10.1/{n}", "ids": {"doi": f"10.1/{n}"}, "title": title, **fields, **more})


WORKS = [
    work(1, "Photosynthetic limitations in response to water stress and recovery"),
    work(2, "Mapping of loci for phosphorus deficiency tolerance in rice"),
    work(3, "Drought stress in grain legumes during reproduction", authors=("Farooq",), venue="J Agron Crop Sci"),
    work(4, "Wheat", authors=("Shewry",), venue="J Exp Bot", year=2009, volume="60", fpage="1537"),
    work(5, "The Pfam protein families database", authors=("Finn", "Bateman"), status="retracted", venue="Nucleic Acids Res"),
]


def catalog(works: Sequence[Work] = tuple(WORKS)) -> Catalog:
    made = Catalog.empty(dim=DIM)
    made.add(works, Letters().encode([work_text(one, "TVL", lexical=False) for one in works]))
    return made


def cite(of: Work, **changed: Any) -> Reference:
    raw = f"{' '.join(of.authors)} {of.title}. {of.venue} {of.year};{of.volume}:{of.fpage}"
    fields = {
        "id": "c#1", "citing": "doi:10.9/citing", "position": 1, "raw_text": raw, "title": of.title, "last_names": of.authors,
        "venue": of.venue, "year": of.year, "volume": of.volume, "first_page": of.fpage,
    }  # fmt: skip
    return Reference.from_dict({name: value for name, value in {**fields, **changed}.items() if value is not None})


ELSEWHERE = cite(work(9, "Sodium hypochlorite and the disinfestation of seeds", authors=("Chun",), year=1997, volume="81"))
EMPTY = Reference(id="c#2", citing="doi:10.9/citing", position=2)
#: Changes that leave a reference without a locator, and with only its text.
UNPLACED: dict[str, Any] = {"volume": None, "first_page": None}
WRITTEN: dict[str, Any] = {**UNPLACED, "title": None, "last_names": None, "venue": None, "year": None}


class Never(Letters):
    """An encoder that fails when it is called."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise AssertionError(f"called for {texts}")


def one(reference: Reference, policy: Policy = PRODUCTION, of: Catalog | None = None, encoder: Letters | None = None) -> Link:
    return Linker(catalog() if of is None else of, encoder or Letters(), policy, judge=JUDGE).link([reference])[0]
