"""The source PubMed Central: lists, metadata and articles, as files or in archives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, ClassVar, Final

from reflink.errors import BadRecord, ReflinkError
from reflink.sources.documents import documents
from reflink.sources.files import MAX_RECORD, found
from reflink.sources.members import read_members
from reflink.sources.pmc.articles import article, metadata
from reflink.sources.pmc.lists import rows
from reflink.sources.source import Source, SourceFile, SourceRecord

_ARTICLE: Final = re.compile(r"(?i).+\.n?xml(?:\.(?:gz|zst|xz|bz2))?")
_METADATA: Final = re.compile(r"(?i)PMC\d+(?:\.\d+)?\.json(?:\.(?:gz|zst|xz|bz2))?")
_LIST: Final = re.compile(r"(?i)(?:PMC-ids|PMID_PMCID_DOI|.*file_?list).*\.csv(?:\.(?:gz|zst|xz|bz2))?")
_ARCHIVE: Final = re.compile(r"(?i).+\.(?:tar(?:\.(?:gz|zst|xz|bz2))?|tgz)")


class Pmc(Source):
    """PMC-ids.csv and lists of files, metadata of article versions (JSON), and articles (JATS XML), also in archives.

    The three kinds have separate records, since an article's list entry does not replace its XML. Of the versions of an article
    the newest counts.
    """

    name: ClassVar[str] = "pmc"
    about: ClassVar[str] = "PubMed Central: PMC-ids.csv, lists of files, PMC….json and articles (.xml, .nxml, .tar.gz)"

    def files(self, paths: Sequence[Path]) -> list[SourceFile]:
        """Return the lists, metadata, articles and archives. Raises BadDump if a path is missing or has no such file."""
        return found(paths, lambda name: _wanted(name) or _ARCHIVE.fullmatch(name) is not None, "PubMed Central")

    def read(self, file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
        """Yield the records of a file in order. Raises OSError and DamagedFile."""
        return read_members(file, _wanted, partial(_read, version=file.version))


def _wanted(name: str) -> bool:
    return any(kind.fullmatch(name) for kind in (_ARTICLE, _METADATA, _LIST))


def _read(content: IO[bytes], name: str, version: int) -> Iterator[SourceRecord | BadRecord]:
    last = name.rpartition("/")[2].rpartition(":")[2]
    if _ARTICLE.fullmatch(last):
        yield _article(content, name, version)
    elif last.lower().partition(".json")[1]:
        for each in documents(content, name):
            if isinstance(each, BadRecord):
                yield each
                continue
            try:
                yield metadata(each[1], version)
            except BadRecord as error:
                yield BadRecord(f"{name}:{each[0]}: {error}")
    else:
        yield from rows(content, name, version)


def _article(content: IO[bytes], name: str, version: int) -> SourceRecord | BadRecord:
    xml = content.read(MAX_RECORD + 1)
    if len(xml) > MAX_RECORD:
        return BadRecord(f"{name}: longer than {MAX_RECORD} bytes")
    try:
        return article(xml, name, version)
    except ReflinkError as error:
        return BadRecord(str(error))
