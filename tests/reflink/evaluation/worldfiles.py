"""Works and references of a small world as files, and an encoder of words that needs no model."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from reflink.text import SEP


class Hashed:
    """An encoder of words, counting what it was asked."""

    name, precision, dim, separator = "hashed/words", "fp32", 32, SEP

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        vectors = np.full((len(texts), self.dim), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                vectors[row, hashlib.sha1(word.encode()).digest()[0] % self.dim] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def write(path: Path, lines: Sequence[Mapping[str, object]]) -> Path:
    """JSON lines, compressed when the name says so."""
    data = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def titles() -> list[str]:
    """Titles that share some words, no two the same."""
    words = "wheat rice millet drought salt iron zinc gene protein yield root leaf seed field stress map".split()
    return [
        f"{a} {b} under {c} conditions in the long dry season" for a, b, c in zip(words, words[3:], words[5:], strict=False)
    ]


def small_world(tmp_path: Path) -> tuple[Path, Path]:
    """Works and references of a small world, as files."""
    works: list[dict[str, object]] = []
    references: list[dict[str, object]] = []
    for n, title in enumerate(titles()):
        told = {"title": title, "venue": "Crop Science", "year": 1990 + n, "volume": str(n + 1)}
        works.append({"id": f"doi:10.1/{n}", "doi": f"10.1/{n}", "authors": [f"Author{n}"], "fpage": str(100 + 7 * n), **told})
        raw = f"Author{n} {title} Crop Sci {1990 + n} {n + 1} {100 + 7 * n}"
        references.append({
            "rid": f"c#{n}", "citing": "c", "raw_noid": raw, "raw_text": f"{raw} 10.1/{n}", "ids": {"doi": f"10.1/{n}"},
            "last_names": [f"Author{n}"], "first_page": str(100 + 7 * n), "work": f"doi:10.1/{n}", "query": "cocite", **told,
        })  # fmt: skip
    return write(tmp_path / "works.jsonl.gz", works), write(tmp_path / "refs.jsonl.gz", references)
