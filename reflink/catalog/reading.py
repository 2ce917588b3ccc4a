"""Read works from files of JSON lines, plain or gzip. A damaged line does not affect the other lines."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final, cast

import orjson

from reflink.entities import ID_KINDS, Ids, Work
from reflink.errors import BadRecord
from reflink.identifiers import NORMALISERS
from reflink.workids import work_id

_GZIP: Final = b"\x1f\x8b"
#: Exceptions of reading a damaged gzip file.
DAMAGED: Final = (EOFError, zlib.error, gzip.BadGzipFile)
_BOM: Final = b"\xef\xbb\xbf"
_NUMBERS_AS_TEXT: Final = ("volume", "issue", "fpage", "lpage")
_LISTS: Final = ("translated_titles", "authors", "collectives", "venue_abbreviations", "issns", "related")


def unpacked(stored: IO[bytes]) -> IO[bytes]:
    """Return the decompressed content of a seekable file, plain or gzip. Reading it raises DAMAGED if it is damaged."""
    packed = stored.read(2) == _GZIP
    stored.seek(0)
    return cast("IO[bytes]", gzip.GzipFile(fileobj=stored)) if packed else stored


def read_works(path: Path, *, progress: Callable[[int], object] = lambda _: None) -> Iterator[Work | BadRecord]:
    """Yield the work of each line or, in its place, a BadRecord with file, line number and fault.

    ``progress`` receives the position in the stored file in bytes. Raises BadRecord if the rest of the file cannot be
    decompressed, OSError if it cannot be read.
    """
    with path.open("rb") as stored:
        number = 0
        try:
            for number, line in enumerate(unpacked(stored), start=1):
                if number % 1024 == 0:
                    progress(stored.tell())
                line = line.removeprefix(_BOM) if number == 1 else line
                if not line.isspace():
                    yield _read_line(line, f"{path}:{number}")
        except DAMAGED as error:
            raise BadRecord(f"{path}: cannot be decompressed after line {number}: {error}") from None
        progress(stored.tell())


def _read_line(line: bytes, where: str) -> Work | BadRecord:
    try:
        return work_from(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        return BadRecord(f"{where}: not JSON: {error.msg} at column {error.colno}")
    except BadRecord as error:
        return BadRecord(f"{where}: {error}")


def work_from(record: Any) -> Work:
    """Return a work from JSON; identifiers are in ``ids`` or top-level fields: ``doi``, ``pmid``, ``pmcid``, ``arxiv``.

    Identifiers are normalised; invalid ones are left out. Without ``id`` the first identifier is the id. Raises BadRecord.
    """
    if not isinstance(record, dict):
        raise BadRecord("Work: not a JSON object")
    fields = dict(record)
    given = fields.pop("ids", None) or {}
    if not isinstance(given, dict):
        raise BadRecord("Work: ids: not a JSON object")
    given = {**given, **{kind: fields.pop(kind) for kind in ID_KINDS if kind in fields}}
    for kind in ID_KINDS & given.keys():
        given[kind] = None if given[kind] is None else NORMALISERS[kind](str(given[kind]))
    ids = Ids.from_dict(given)
    if not isinstance(source := fields.get("id") or "", str):
        raise BadRecord("Work: id: not a string")
    try:
        fields["id"] = source.strip() or work_id(ids, None)
    except ValueError:
        raise BadRecord("Work: id: missing, and there is no identifier to take its place") from None
    for name in _NUMBERS_AS_TEXT:
        if isinstance(fields.get(name), int):
            fields[name] = str(fields[name])
    return Work.from_dict({**fields, "ids": ids, **{name: fields.get(name) or () for name in _LISTS}})
