"""The source PubMed: its numbered files, other files of PubMed XML, and their records in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Final

from reflink.errors import BadDump, BadRecord, DamagedFile
from reflink.sources.files import opened
from reflink.sources.medline.parsing import PUBMED, parse
from reflink.sources.medline.records import YEAR, records_of
from reflink.sources.slicing import Slice
from reflink.sources.source import Source, SourceFile, SourceRecord

#: A file of the baseline or an update file; a part of one may have a word behind its number.
_NUMBERED: Final = re.compile(r"pubmed(\d\d)n(\d{4,5})(?:[_-][\w-]+)?\.xml(?:\.(?:gz|bz2|zst|xz))?")
_XML: Final = re.compile(r".+\.xml(?:\.(?:gz|bz2|zst|xz))?")
#: Bytes at the beginning of a file within which its root begins.
_HEAD: Final = 4_096
#: Factor of the number of a file in its version.
_NUMBER: Final = 10**4
_PMID: Final = re.compile(rb"<PMID[^<>]*>\s*(\d{1,8})\s*<")


class Medline(Source):
    """PubMed's baseline and update files, and answers of the E-utilities.

    The numbered files of a year are one series: the baseline from number 1, then the update files. The baseline of a new year
    replaces everything before it, so the files of older years are ignored beside it. A file of any other name has no number;
    its records have the date of their last revision as version, and a numbered file of the same year counts more. A file that
    is given by itself, not in a folder, belongs to no series.
    """

    name: ClassVar[str] = "medline"
    has_editions: ClassVar[bool] = True
    about: ClassVar[str] = "PubMed: pubmedYYnNNNNN.xml.gz of baseline and updatefiles, XML of the E-utilities"

    def files(self, paths: Sequence[Path]) -> list[SourceFile]:
        """Return the files of the newest year in order of their numbers, behind files without a number.

        Raises BadDump if a path is missing or has no PubMed XML, if a number is missing in the series, or if files of a new
        year stand beside those of an older year without their baseline.
        """
        numbered: dict[tuple[int, int, str], SourceFile] = {}
        others: list[SourceFile] = []
        for root in paths:
            if not root.exists():
                raise BadDump(f"{root}: no such file or folder")
            single = root.is_file()
            known = len(numbered) + len(others)
            for path in (root,) if single else sorted(each for each in root.rglob("*.xml*") if _XML.fullmatch(each.name)):
                name = path.name if single else path.relative_to(root).as_posix()
                if found := _NUMBERED.fullmatch(path.name):
                    year, number = 2000 + int(found[1]), int(found[2])
                    file = SourceFile(path, name, year * YEAR + number * _NUMBER)
                    if single:
                        others.append(file)
                    else:
                        numbered.setdefault((year, number, path.name.partition(".xml")[0]), file)
                elif single or _is_pubmed(path):
                    others.append(SourceFile(path, name))
            if len(numbered) + len(others) == known:
                raise BadDump(f"{root}: has no PubMed XML (pubmedYYnNNNN.xml.gz, or another file with a PubmedArticleSet)")
        return [*others, *_series(numbered)]

    def read(self, file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
        """Yield articles, books and deletions in the order of the file. Raises OSError and DamagedFile."""
        with opened(file.path) as content:
            for part in PUBMED.slices(content, file.name):
                if isinstance(part, BadRecord):
                    yield part
                else:
                    yield from _read(part, file)


def _series(numbered: dict[tuple[int, int, str], SourceFile]) -> list[SourceFile]:
    """Return the files of the newest year; they are an edition if the baseline's first file is among them.

    A number may have several files, parts with words behind the number.
    """
    if not numbered:
        return []
    newest = max(year for year, *_ in numbered)
    files = {(number, stem): file for (year, number, stem), file in numbered.items() if year == newest}
    numbers = {number for number, _ in files}
    whole = 1 in numbers
    first = 1 if len(numbered) > len(files) else min(numbers)
    missing = [f"pubmed{newest % 100:02}n{number:04}.xml.gz" for number in range(first, max(numbers)) if number not in numbers]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise BadDump(f"PubMed {newest}: missing files: {', '.join(missing[:5])}{more}")
    return [SourceFile(file.path, file.name, file.version, newest if whole else None) for _, file in sorted(files.items())]


def _is_pubmed(path: Path) -> bool:
    """Whether the file begins as PubMed XML. A file that cannot be opened or decompressed does not."""
    try:
        with opened(path) as content:
            return PUBMED.root.search(content.read(_HEAD)) is not None
    except (OSError, DamagedFile):
        return False


def _read(part: Slice, file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
    """Yield the records of an element, or a BadRecord with its place.

    If an article lacks its end, the slice continues to the end of the next one, which is then read by itself.
    """
    try:
        tree = parse(part)
    except BadRecord as error:
        yield _bad(part, file, error)
        inner = part.xml.rfind(b"<" + part.name.encode(), 1)
        if inner > 0:
            yield from _read(Slice(part.number, part.name, part.xml[inner:], part.plain), file)
        return
    try:
        for record in records_of(tree, file.version):
            yield record if isinstance(record, SourceRecord) else _bad(part, file, record)
    except BadRecord as error:
        yield _bad(part, file, error)


def _bad(part: Slice, file: SourceFile, error: BadRecord) -> BadRecord:
    pmid = _PMID.search(part.xml)
    known = f" (PMID {pmid[1].decode()})" if pmid and part.name.startswith("Pubmed") else ""
    return BadRecord(f"{file.name}: record {part.number}{known}: {error}")
