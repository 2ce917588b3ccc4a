"""The contract of a source: which files it has, and which records a file has.

1. A record is a register: of two records with one key the one with the greater version counts, of equal versions the one read
   later. So the result does not depend on the order of the files, and a file can be read again.
2. A withdrawn record keeps its key and version, so an older file does not restore it.
3. A fault in a file costs what is broken, and nothing else: a bad record is yielded in its place, a damaged file raises
   DamagedFile behind its last readable record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from reflink.entities import Work
from reflink.errors import BadRecord


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """The state of one record of a source.

    ``key``: the record's id in its source, unique there, stable, without white space: ``33456789``, ``10.1000/x``, ``W27418``.
    ``version``: of this state; greater is newer. ``work`` is None if the source has withdrawn the record; ``replaced_by`` is
    then the key of the record that replaces it, if any. ``partial``: the record completes other records of the same work and
    is no work of its own, as a line of PMC-ids.csv, which has identifiers and no title.
    """

    key: str
    version: int
    work: Work | None
    replaced_by: str | None = None
    partial: bool = False


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a source.

    ``name``: relative to the folder that the user named, stable between runs. ``version``: of the records that have none of
    their own. ``edition``: the number of the complete edition that the file belongs to, e.g. the year of PubMed's baseline; the
    records of older editions that the newest one lacks are removed. None if the source has no editions. ``expected``: number
    of records that the source's manifest states, None without a manifest.
    """

    path: Path
    name: str
    version: int = 0
    edition: int | None = None
    expected: int | None = None


class Source(ABC):
    """One source of works, e.g. PubMed."""

    #: The name on the command line.
    name: ClassVar[str]
    #: One line for ``--help``: the database, and the files that are read.
    about: ClassVar[str]
    #: Whether the source publishes complete editions, which its files state (`SourceFile.edition`).
    has_editions: ClassVar[bool] = False

    @abstractmethod
    def files(self, paths: Sequence[Path]) -> list[SourceFile]:
        """Return the source's files among the paths, in order of their versions. Folders are searched; other files are ignored.

        Raises BadDump if a path is missing or has no file of this source, or if the files are not complete: a number is missing
        in a series, or a file of a manifest is absent.
        """

    @abstractmethod
    def read(self, file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
        """Yield the records of a file in order, and in place of an unreadable record a BadRecord with file, place and fault.

        Memory is bounded by the largest accepted record. Raises OSError, and DamagedFile where the rest of the file cannot be
        read.
        """
