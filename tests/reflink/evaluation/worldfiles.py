"""Works and references of a small world as files, and an encoder of words that needs no model."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from tests.reflink.evaluation.small import Words


class Hashed(Words):
    """The same encoder with a name that is not a file name, in fewer dimensions."""

    name, dim = "hashed/words", 32


def write(path: Path, lines: Sequence[Mapping[str, object]]) -> Path:
    """Write JSON lines, compressed if the name ends with ``.gz``."""
    data = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def titles() -> list[str]:
    """Return distinct titles that share some words."""
    words = "wheat rice millet drought salt iron zinc gene protein yield root leaf seed field stress map".split()
    return [
        f"{a} {b} under {c} conditions in the long dry season" for a, b, c in zip(words, words[3:], words[5:], strict=False)
    ]


def small_world(tmp_path: Path) -> tuple[Path, Path]:
    """Write works and references of a small world."""
    works: list[dict[str, object]] = []
    references: list[dict[str, object]] = []
    for n, title in enumerate(titles()):
        fields = {"title": title, "venue": "Crop Science", "year": 1990 + n, "volume": str(n + 1)}
        works.append(
            {"id": f"doi:10.1/{n}", "doi": f"10.1/{n}", "authors": [f"Author{n}"], "fpage": str(100 + 7 * n), **fields}
        )
        raw = f"Author{n} {title} Crop Sci {1990 + n} {n + 1} {100 + 7 * n}"
        references.append({
            "rid": f"c#{n}", "citing": "c", "raw_noid": raw, "raw_text": f"{raw} 10.1/{n}", "ids": {"doi": f"10.1/{n}"},
            "last_names": [f"Author{n}"], "first_page": str(100 + 7 * n), "work": f"doi:10.1/{n}", "query": "cocite", **fields,
        })  # fmt: skip
    return write(tmp_path / "works.jsonl.gz", works), write(tmp_path / "refs.jsonl.gz", references)
