"""A small world from which a verdict can be trained: works, their errata, and references to them from several papers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.reflink.evaluation.worldfiles import titles, write

PAPERS = [f"PMC{n}" for n in range(12)]


def world(folder: Path) -> tuple[Path, Path]:
    """Write works, among them errata, and references to each from several papers; some names are misspelt."""
    works: list[dict[str, Any]] = []
    references: list[dict[str, Any]] = []
    for n, title in enumerate(titles()):
        fields = {"title": title, "venue": "Crop Science", "year": 1990 + n, "volume": str(n + 1)}
        authors, page = [f"Kuratani{'abcdefghijklmn'[n]}", f"Schmittgen{n}"], str(100 + 7 * n)
        works.append({"id": f"doi:10.1/{n}", "doi": f"10.1/{n}", "authors": authors, "fpage": page, **fields})
        erratum = {"title": f"Erratum: {title}", "year": 1991 + n, "volume": str(n + 2)}
        works.append({"id": f"doi:10.1/{n}e", "authors": authors, "fpage": str(900 + n), **fields, **erratum})
        for copy in range(3):
            paper = PAPERS[(5 * n + copy) % len(PAPERS)]
            names = [authors[0], authors[1].replace("mitt", "mit")] if copy else authors
            raw = f"{' '.join(names)} {title} Crop Sci {1990 + n} {n + 1} {page}"
            references.append({
                "rid": f"{paper}#{n}", "citing": paper, "raw_text": f"{raw} 10.1/{n}", "raw_noid": raw, "last_names": names,
                "first_page": page, "ids": {"doi": f"10.1/{n}"}, "work": f"doi:10.1/{n}", "query": "front", **fields,
            })  # fmt: skip
    return write(folder / "works.jsonl", works), write(folder / "references.jsonl.gz", references)
