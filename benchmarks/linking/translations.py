"""Measure how references that cite a work by its title in another language are linked.

    python -m benchmarks.linking.translations --files FOLDER [--works FILE] [--number 1500] [--seed 1]

``--files``: PubMed's files; ``--works``: more works of the catalog (JSON lines). No public set has enough such references with
their targets, so the citations are made from the records: tagged or as text, with or without volume and page. Each is linked
in a catalog whose works have translated titles, and in the same catalog without them; ``false``: links where the cited work is
left out of the candidates. There are no vectors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import orjson

from benchmarks.machine import describe
from reflink.catalog import Catalog
from reflink.entities import Link, Reference, Work
from reflink.errors import BadRecord
from reflink.evaluation.records import read_works
from reflink.linking.linker import Linker
from reflink.sources.medline import Medline
from reflink.sources.source import SourceRecord

_BATCH: Final = 256

Form = Callable[[Work, str], dict[str, Any]]


def _fields(work: Work, title: str) -> dict[str, Any]:
    return {"title": title, "last_names": work.authors, "venue": _journal(work), "year": work.year}


def _beginning(work: Work, title: str) -> str:
    return f"{', '.join(work.authors[:6])}. {title}. {_journal(work)}"


def _journal(work: Work) -> str:
    return next(iter(work.venue_abbreviations), work.venue or "")


#: The citation of a work under a title, by name.
FORMS: Final[dict[str, Form]] = {
    "tagged": lambda work, title: {**_fields(work, title), "volume": work.volume, "first_page": work.fpage},
    "tagged, no volume or page": _fields,
    "text": lambda work, title: {"raw_text": f"{_beginning(work, title)}. {work.year};{work.volume}:{work.fpage}."},
    "text, no volume or page": lambda work, title: {"raw_text": f"{_beginning(work, title)}, {work.year}."},
}


def records(folder: Path) -> Iterator[Work]:
    """Yield the works of all files of PubMed in the folder."""
    source = Medline()
    for file in source.files([*sorted(folder.glob("*.xml.gz"))]):
        for each in source.read(file):
            if isinstance(each, BadRecord):
                raise each
            if isinstance(each, SourceRecord) and each.work is not None:
                yield each.work


def measured(catalog: Catalog, cited: Sequence[Work], form: Form) -> dict[str, int]:
    """Return the numbers of right and wrong links of a citation of each work by its first translated title."""
    linker = Linker(catalog)
    references = [
        Reference(id=f"x#{at}", citing="x", position=1, **form(work, work.translated_titles[0]))
        for at, work in enumerate(cited)
    ]
    present = _linked(linker, references, {})
    absent = _linked(linker, references, {each.id: [work.id] for each, work in zip(references, cited, strict=True)})
    targets = [catalog.canonical(work.id) for work in cited]
    return {
        "right": sum(link.cited == target for link, target in zip(present, targets, strict=True)),
        "wrong": sum(link.cited not in (None, target) for link, target in zip(present, targets, strict=True)),
        "false": sum(link.cited is not None for link in absent),
    }


def _linked(linker: Linker, references: Sequence[Reference], without: dict[str, list[str]]) -> list[Link]:
    starts = range(0, len(references), _BATCH)
    return [link for start in starts for link in linker.link(references[start : start + _BATCH], without)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linking.translations", description=__doc__)
    parser.add_argument("--files", type=Path, required=True)
    parser.add_argument("--works", type=Path)
    parser.add_argument("--number", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    works = [*records(args.files), *([each.work for each in read_works(args.works)] if args.works else ())]
    translated = [work for work in works if work.translated_titles]
    cited = Random(args.seed).sample(translated, min(args.number, len(translated)))
    figures: dict[str, Any] = {"works": len(works), "translated": len(translated), "citations": len(cited)}
    for name in ("without", "with"):
        catalog = Catalog.empty()
        catalog.add(works if name == "with" else [work.model_copy(update={"translated_titles": ()}) for work in works])
        figures[name] = {form: measured(catalog, cited, make) for form, make in FORMS.items()}
    print(orjson.dumps({"machine": describe(), **figures}, option=orjson.OPT_INDENT_2).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
