"""Small works and catalogs, an encoder without a model, and a plain reference implementation of canonical ids."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from reflink.catalog import Catalog
from reflink.entities import Ids, Work
from reflink.errors import SnapshotError
from reflink.journals.table import Journal, Journals
from reflink.storage import hashtable
from reflink.text import SEP

DIM = 8


class FakeEncoder:
    """Give a vector that depends on the text alone; record the texts."""

    name = "fake@1"
    precision = "fp32"
    dim = DIM
    device = "cpu"

    def __init__(self, separator: str = SEP) -> None:
        self.separator = separator
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.encoded += texts
        rows = [np.random.default_rng(list(hashlib.sha256(text.encode()).digest())).normal(size=DIM) for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), DIM)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def work(work_id: str, title: str = "A title", **ids: str) -> Work:
    return Work(id=work_id, ids=Ids(**ids), title=title, authors=("Meyer",), venue="Cell", year=2001)


def saved_catalog(folder: Path) -> Path:
    """Save a catalog of 20 works with all its indexes."""
    catalog = Catalog.empty(dim=DIM, model="fake@1", precision="fp32")
    works = [work(f"w{n}", f"Title number {n}", pmid=str(n + 1)) for n in range(20)]
    catalog.add_encoded(works, FakeEncoder())
    catalog.journals = Journals.of([Journal(names=("Journal of Examples", "J Ex"))])
    catalog.save(folder, cluster="c", topic="t", offset=4711)
    return folder


def refusal(folder: Path, read: Callable[[Path], object]) -> str:
    """Return the message, of one line, with which ``read`` refuses the folder."""
    with pytest.raises(SnapshotError) as caught:
        read(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def keys(of: Work) -> set[str]:
    return {of.id, *of.ids.keys()}


def brute_force(works: Iterable[Work]) -> dict[str, str]:
    """Canonical id by id: merges overlapping sets until nothing changes."""
    groups = [({each.id}, keys(each)) for each in works]
    merged = True
    while merged:
        merged = False
        for i in range(len(groups)):
            for j in range(len(groups) - 1, i, -1):
                if groups[i][1] & groups[j][1]:
                    groups[i] = (groups[i][0] | groups[j][0], groups[i][1] | groups[j][1])
                    del groups[j]
                    merged = True
    return {member: min(members) for members, _ in groups for member in members}


# Few values, so that works meet often; ids that are identifiers of others too.
some_ids = st.builds(
    Ids,
    doi=st.none() | st.sampled_from(["10.1/a", "10.1/b", "10.1/c", "10.1/d"]),
    pmid=st.none() | st.sampled_from(["1", "2", "3", "4"]),
    pmcid=st.none() | st.sampled_from(["PMC1", "PMC2"]),
)
work_ids = st.sampled_from(["doi:10.1/a", "doi:10.1/b", "pmid:1", "pmid:2", "pmcid:PMC1", "x", "y", "z", "é"])
some_works = st.builds(Work, id=work_ids, ids=some_ids, title=st.sampled_from(["", "One", "Two"]) | st.none())


@contextmanager
def colliding() -> Iterator[None]:
    """Give keys one of two hashes."""
    with pytest.MonkeyPatch.context() as patch:
        real = hashtable.key_hash
        patch.setattr(hashtable, "key_hash", lambda key: real(key) >> 63 << 63)
        yield
