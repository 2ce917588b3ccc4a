"""Write files of made-up records of Crossref, OpenAlex, DataCite and Semantic Scholar, in the layouts of their dumps.

The same seed gives the same files.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.sources.maker import Maker
from benchmarks.sources.moulds import MOULDS, Record

#: Records of a file of Crossref's dump.
ITEMS: Final = 5000
_COMPRESSION: Final = 6


def write(source: str, folder: Path, records: int, seed: int = 1) -> Path:
    """Write records of a source into the folder in its own layout, and return the path to name on the command line."""
    make, number = Maker(seed), iter(range(records))
    made = (MOULDS[source](make, each) for each in number)
    if source == "crossref":
        return _tar(folder / "crossref.tar", made, records)
    parts = {
        "openalex": "works/updated_date=2026-06-24/part_0000.gz",
        "datacite": "dois/updated_2026-06/part_0000.jsonl.gz",
        "s2": "papers/part0.gz",
    }
    path = folder / parts[source]
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wb", _COMPRESSION) as file:
        file.writelines(json.dumps(each, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for each in made)
    return path


def _tar(path: Path, made: Iterator[Record], records: int) -> Path:
    with tarfile.open(path, "w") as archive:
        for at in range(0, records, ITEMS):
            items = [each for _, each in zip(range(min(ITEMS, records - at)), made, strict=False)]
            data = gzip.compress(json.dumps({"items": items}, ensure_ascii=False, separators=(",", ":")).encode(), _COMPRESSION)
            member = tarfile.TarInfo(f"dump/{at // ITEMS}.json.gz")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path
