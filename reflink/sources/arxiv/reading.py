"""The source arXiv: files of its metadata snapshot and of answers of its OAI interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, ClassVar, Final

from reflink.errors import BadRecord
from reflink.sources.arxiv.kaggle import record
from reflink.sources.arxiv.oai import oai_record
from reflink.sources.documents import documents
from reflink.sources.files import COMPRESSED, found
from reflink.sources.members import read_members
from reflink.sources.slicing import Slicer
from reflink.sources.source import Source, SourceFile, SourceRecord

_OAI: Final = Slicer(("record",), ("OAI-PMH", "ListRecords"), "arXiv's OAI interface")
_JSON: Final = (".json", ".jsonl")
_ARCHIVES: Final = (".tar", ".tgz")


class Arxiv(Source):
    """arXiv's metadata snapshot (JSON lines), and answers of its OAI interface in the formats arXiv, arXivRaw and oai_dc.

    A record's version is the date of its last change, so snapshots and answers may be read in any order.
    """

    name: ClassVar[str] = "arxiv"
    about: ClassVar[str] = "arXiv: arxiv-metadata-oai-snapshot.json, and XML of the OAI interface (arXiv, arXivRaw, oai_dc)"

    def files(self, paths: Sequence[Path]) -> list[SourceFile]:
        """Return the JSON and XML files, and archives of them. Raises BadDump if a path is missing or has no such file."""
        return found(paths, lambda name: _ending(name).endswith((*_JSON, ".xml", *_ARCHIVES)), "arXiv")

    def read(self, file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
        """Yield the records of a file in order. Raises OSError and DamagedFile."""
        return read_members(file, lambda name: _ending(name).endswith((*_JSON, ".xml")), _read)


def _read(content: IO[bytes], name: str) -> Iterator[SourceRecord | BadRecord]:
    if _ending(name).endswith(".xml"):
        for part in _OAI.slices(content, name):
            if isinstance(part, BadRecord):
                yield part
                continue
            try:
                yield oai_record(part.xml)
            except BadRecord as error:
                yield BadRecord(f"{name}: record {part.number}: {error}")
        return
    for each in documents(content, name):
        if isinstance(each, BadRecord):
            yield each
            continue
        try:
            yield record(each[1])
        except BadRecord as error:
            yield BadRecord(f"{name}:{each[0]}: {error}")


def _ending(name: str) -> str:
    """Return the name in lower case without the ending of a compressed file."""
    lower = name.lower()
    for ending in COMPRESSED:
        lower = lower.removesuffix(ending)
    return lower
