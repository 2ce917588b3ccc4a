"""The papers of the cup: LaTeX sources, each in a file whose name is the paper's number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reflink.entities import Ids, Paper, Reference, Work
from reflink.errors import ReflinkError
from reflink.evaluation.kdd.graph import paper_number
from reflink.evaluation.records import without_identifiers
from reflink.formats import Content, Options, parse

#: Endings of files that are not papers.
_OTHERS: Final = (".abs", ".json", ".jsonl", ".md")
_GZIP: Final = ".gz"
#: An arXiv id in text as physics prints it, without the word arXiv.
_BARE: Final = re.compile(r"[(\[]?\b[a-z]+(?:-[a-z]+)?(?:\.[A-Z]{2})?/[0-9]{7}(?![0-9])(?:v[0-9]+)?[)\]]?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """A paper. ``data``: its stored bytes; ``paper``: as read, or the error."""

    number: str
    data: bytes
    paper: Paper | ReflinkError


def paper_files(folder: Path) -> list[tuple[str, Path]]:
    """Return the numbers and files of all papers in a folder and in the folders in it, by number.

    The name of a file is the number, with or without an ending; other files are left out. Raises NotADirectoryError.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder}: not a folder of LaTeX sources")
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        name = path.name.removesuffix(_GZIP)
        number = None if name.endswith(_OTHERS) else paper_number(name.split(".")[0])
        if number is not None and path.is_file():
            found.setdefault(number, path)
    return sorted(found.items())


def read_sources(folder: Path, archive: str, *, infer: bool = True, identifiers: bool = False) -> Iterator[Source]:
    """Yield the papers of a folder by number.

    ``infer``: recognise the fields of untagged references. ``identifiers``: keep those of the references; the cup removed them
    from its sources. The references state the paper as ``citing``, by its id in the catalog.
    """
    for number, path in paper_files(folder):
        data = path.read_bytes()
        content = Content(data, number)
        try:
            # A source of plain TeX, and the few that are plain text, are LaTeX too for the reader of bibliographies.
            (parsed,) = parse(content, format_name="latex", options=Options(infer=infer))
        except ReflinkError as error:
            yield Source(number, data, error)
            continue
        citing = work_id(archive, number)
        references = tuple(_of(each, citing, identifiers) for each in parsed.paper.references)
        yield Source(number, data, parsed.paper.model_copy(update={"references": references}))


def _of(reference: Reference, citing: str, identifiers: bool) -> Reference:
    if identifiers:
        return reference.model_copy(update={"citing": citing})
    bare = without_identifiers(reference)
    return bare.model_copy(update={"citing": citing, "raw_text": _BARE.sub("", bare.raw_text).strip()})


def work_id(archive: str, number: str) -> str:
    """Return the id that a paper has as a work."""
    return f"arxiv:{archive}/{number}"


def own_works(folder: Path, archive: str) -> Iterator[Work]:
    """Yield the papers of a folder as works, with the titles, authors and years of their own sources."""
    for source in read_sources(folder, archive, infer=False):
        own_id = work_id(archive, source.number)
        known = source.paper.work() if isinstance(source.paper, Paper) else Work(id=own_id)
        short = int(source.number[:2])
        year = known.year or short + (1900 if short > 90 else 2000)
        ids = Ids(arxiv=f"{archive}/{source.number}")
        yield known.model_copy(update={"id": own_id, "ids": ids, "year": year})
