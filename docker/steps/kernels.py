"""Run every kernel that the workers call, so that numba compiles and caches it: ``kernels.py EXAMPLES``.

EXAMPLES contains papers/ and works.jsonl. Neither Kafka nor a model is needed: vectors come from letter pairs. numba compiles
a kernel for the types of its arguments, so each kernel is called with the arrays that workers use: arrays in memory, arrays
of a snapshot, and arrays of works that were added to either.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import llvmlite.binding
import numpy as np
from numpy.typing import NDArray

#: Dimension of the default model's vectors, so that the loops are compiled for that length.
DIM: Final = 384
#: Number of works added first, and per later step, so that there are several segments, which are then merged.
FIRST, STEP = 300, 60
#: Number of references linked at a time, spread over all papers.
BATCH = 50


class Letters:
    """Encodes texts as vectors of hashed letter pairs."""

    name, precision, dim, separator = "letters", "fp32", DIM, " [SEP] "

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32 [n, DIM]."""
        vectors = np.full((len(texts), DIM), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for a, b in pairwise(text):
                vectors[row, (ord(a) * 31 + ord(b)) % DIM] += 1
        units: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return units


def see_target() -> None:
    """Compile the semantic search for the registers of the target processors, not of the building processor."""
    if os.environ.get("NUMBA_CPU_NAME") == "x86-64-v3":
        features = {name: has and "avx512" not in name for name, has in llvmlite.binding.get_host_cpu_features().items()}
        llvmlite.binding.get_host_cpu_features = lambda: features


def main(examples: Path) -> None:
    """Compile all kernels."""
    see_target()

    from reflink import jats
    from reflink.catalog import Catalog
    from reflink.catalog.build import build
    from reflink.catalog.reading import read_works
    from reflink.entities import Link, Reference, Work
    from reflink.errors import ReflinkError
    from reflink.linking.linker import lexical_step, semantic_step
    from reflink.linking.native import NativeCandidates
    from reflink.linking.policy import Policy
    from reflink.verdict.judge import warm

    warm()
    references: list[Reference] = []
    for path in sorted((examples / "papers").rglob("*.xml")):
        try:
            references += jats.parse(path.read_bytes(), source=path.name).references
        except ReflinkError:
            continue  # two of the examples are not papers
    works = [each for each in read_works(examples / "works.jsonl") if isinstance(each, Work)]
    encoder = Letters()

    def link(catalog: Catalog) -> None:
        source = NativeCandidates(catalog, encoder)
        for policy in (Policy(), Policy(profile="paper")):
            for batch in (references[:1], references[:: len(references) // BATCH]):
                settled = semantic_step(batch, source, policy)
                opens = [each for each in settled if not isinstance(each, Link)]
                lexical_step(opens, source, policy)

    def grow(catalog: Catalog, more: Sequence[Work]) -> None:
        for start in range(0, len(more), STEP):
            catalog.add_encoded(more[start : start + STEP], encoder)
            link(catalog)
        catalog.remove([each.id for each in more[:STEP]])
        link(catalog)

    empty = Catalog.empty(dim=DIM, model=encoder.name, precision=encoder.precision, lexical_mode="Raw")
    link(empty)
    grow(empty, works)
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "works.jsonl"), Path(folder, "catalog")
        source.write_bytes(b"".join(each.to_json() + b"\n" for each in works[:FIRST]))
        build(source, out, encoder=encoder)
        for vectors, trigrams in ((True, True), (True, False), (False, True)):
            opened = Catalog.open(out, vectors=vectors, trigrams=trigrams, verify=True)
            if vectors and trigrams:
                grow(opened, works[FIRST:])
                opened.save(Path(folder, "again"))
            else:
                link(opened)
                opened.add_unencoded(works[FIRST:]) if not vectors else opened.add_encoded(works[FIRST:], encoder)
                link(opened)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
