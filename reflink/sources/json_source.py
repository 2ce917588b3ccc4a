"""A source whose files hold JSON records: what Crossref, OpenAlex, DataCite, Semantic Scholar and CSL share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

from reflink.errors import BadRecord
from reflink.sources.documents import documents
from reflink.sources.files import COMPRESSED, found
from reflink.sources.members import read_members
from reflink.sources.source import Source, SourceFile, SourceRecord

_ENDINGS: Final = (".json", ".jsonl", ".ndjson", ".ldj", ".jl")


def is_json(name: str) -> bool:
    """Whether a file's name is that of a JSON file, plain or compressed."""
    lower = name.lower()
    for ending in COMPRESSED:
        lower = lower.removesuffix(ending)
    return lower.endswith(_ENDINGS)


def is_archive(name: str) -> bool:
    """Whether a file's name is that of a tar archive, plain or compressed."""
    lower = name.lower()
    for ending in COMPRESSED:
        lower = lower.removesuffix(ending)
    return lower.endswith((".tar", ".tgz"))


class JsonSource(Source):
    """A source of JSON files, in any of the layouts of `reflink.sources.documents`, and of tar archives of them."""

    def files(self, paths: Sequence[Path]) -> list[SourceFile]:
        """Return the JSON files and archives. Raises BadDump if a path is missing or if there is no such file."""
        return found(paths, lambda name: self.is_file(name) or is_archive(name), self.name)

    def is_file(self, name: str) -> bool:
        """Whether a file of this name in a folder or archive belongs to the source."""
        return is_json(name)

    def read(self, file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
        """Yield the records of a file in order; see `reflink.sources.source.Source.read`."""

        def read(content: IO[bytes], name: str) -> Iterator[SourceRecord | BadRecord]:
            for each in documents(content, name):
                if isinstance(each, BadRecord):
                    yield each
                    continue
                try:
                    yield from self.records(each[1], file.version)
                except BadRecord as error:
                    yield BadRecord(f"{name}:{each[0]}: {error}")

        return read_members(file, self.is_file, read)

    @abstractmethod
    def records(self, value: dict[str, Any], version: int) -> Iterable[SourceRecord]:
        """Return the states that a JSON record gives. ``version``: of the file, for records without one. Raises BadRecord."""
