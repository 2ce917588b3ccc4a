"""A small catalog, references to it and an encoder of words, for tests of the published approaches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from reflink.entities import Reference, Work
from reflink.evaluation.records import Listing, Query
from reflink.evaluation.worlds import Groups
from reflink.text import SEP

T = TypeVar("T")


class Words:
    """Count words in a few dimensions; record the texts."""

    name, precision, dim, separator = "words", "fp32", 48, SEP

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.encoded += texts
        vectors = np.full((len(texts), self.dim), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                vectors[row, hashlib.sha1(word.encode()).digest()[0] % self.dim] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def silent(items: Sequence[T], what: str) -> Iterable[T]:
    """Show no progress."""
    return items


def work(id_: str, title: str | None, *authors: str, venue: str | None = None, year: int | None = None) -> Work:
    return Work.from_dict({"id": id_, "title": title, "authors": list(authors), "venue": venue, "year": year})


def reference(**fields: Any) -> Reference:
    return Reference.from_dict({"id": "r", "citing": "c", "position": 1, **fields})


WORKS = [
    work("a", "Drought tolerance of wheat roots", "Li", "Wu", venue="Crop Science", year=2001),
    work("b", "Drought tolerance of wheat roots", "Chen", venue="Plant Cell", year=2011),
    work("c", "Iron uptake by rice", "Sato", venue="Rice", year=1999),
    work("d", "Zinc in barley grain: a survey", "Ngo", venue="Cereal Research", year=2015),
    work("d2", "Zinc in barley grain; a survey", "Ngo", venue="Cereal Res", year=2015),
]
LISTINGS = [Listing(each, {"d2": "d"}.get(each.id, each.id)) for each in WORKS]
QUERIES = [
    Query(reference(citing="x", raw_text=raw, **fields), truth, "front")
    for truth, raw, fields in (
        (
            "a", "Li, Wu. Drought tolerance of wheat roots. Crop Science 2001",
            {"title": "Drought tolerance of wheat roots", "last_names": ["Li", "Wu"], "venue": "Crop Science", "year": 2001},
        ),
        ("c", "Sato: Iron uptake by rice plants", {"title": "Iron uptake by rice plants", "last_names": ["Sato"]}),
        ("d", "Ngo 2015 Cereal Res Zinc in barley grain, a survey", {"title": "Zinc in Barley Grain - a Survey"}),
        ("c", "Sato 1999 Rice, Iron uptake", {}),
    )
]  # fmt: skip
GROUPS = Groups.read(LISTINGS)
