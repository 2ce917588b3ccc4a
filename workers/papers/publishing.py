"""Publishing of papers: turn files into compressed records of ``papers``, and large files into pointers."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import zstandard

from reflink.errors import ReflinkError, TooLarge
from reflink.formats import Content, parse, source_of
from reflink.storage import durable
from schemas import SCHEMA_VERSION, PaperPointer
from schemas.papers import CONTENT_HEADER, ENCODING_HEADER, FORMAT_HEADER, VERSION_HEADER, Encoding
from workers.kafka.bulk_producer import Sender
from workers.kafka.topics import TOPICS
from workers.records import Headers

#: Bytes reserved for key and headers below the topic's limit.
_ROOM: Final = 100_000
LIMIT: Final = TOPICS["papers"].max_message_bytes - _ROOM


@dataclass(frozen=True)
class PaperRecord:
    """A record of ``papers``, ready to send. ``others``: ids of the papers in it, except the first, whose id is the key."""

    key: bytes
    value: bytes
    headers: Headers
    others: tuple[str, ...] = ()


def record_of(
    name: str,
    data: bytes,
    *,
    encoding: Encoding = "zstd",
    version: int | None = None,
    format_name: str | None = None,
    pointer_root: Path | None = None,
    limit: int = LIMIT,
) -> PaperRecord:
    """Return a paper's record. Its key is the work id, which keeps the order of versions, or ``name`` if parsing fails.

    The key of a file with several papers is the work id of the first. ``format_name``: the header, by default told by content.
    A paper above ``limit`` compressed bytes is stored under ``pointer_root``, and the record contains a pointer to it. Raises
    TooLarge for such a paper without a ``pointer_root``.
    """
    try:
        key, *others = [each.paper.id for each in parse(Content(data, source_of(name)), format_name=format_name)]
    except ReflinkError:
        key, others = Path(name).name, []  # the parser reports the error in a dead letter
    value = compress(data, encoding)
    content: Literal["paper", "pointer"] = "paper"
    if len(value) > limit:
        if pointer_root is None:
            raise TooLarge(f"{name}: {len(value)} bytes compressed, more than the {limit} of a message: use --pointer-root")
        value, content = put_aside(value, pointer_root), "pointer"
    headers: Headers = ((CONTENT_HEADER, content.encode()), (ENCODING_HEADER, encoding.encode()))
    if format_name is not None:
        headers = (*headers, (FORMAT_HEADER, format_name.encode()))
    if version is not None:
        headers = (*headers, (VERSION_HEADER, b"%d" % version))
    return PaperRecord(key.encode(), value, headers, tuple(others))


def compress(data: bytes, encoding: Encoding) -> bytes:
    """Return the data in ``encoding``."""
    match encoding:
        case "zstd":
            return zstandard.ZstdCompressor(level=6).compress(data)
        case "gzip":
            return gzip.compress(data, mtime=0)
        case "identity":
            return data


def put_aside(stored: bytes, root: Path) -> bytes:
    """Write the data to a file named by its SHA-256 under ``root``, unless it is there complete. Return its pointer as JSON."""
    digest = hashlib.sha256(stored).hexdigest()
    path = root / digest[:2] / digest
    if not (path.is_file() and path.read_bytes() == stored):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")  # two processes may store the same paper
        with durable.replacing(path, partial) as file:
            file.write(stored)
    pointer = PaperPointer(
        schema_version=SCHEMA_VERSION, path=path.relative_to(root).as_posix(), sha256=digest, size=len(stored)
    )
    return pointer.to_json()


def publish(records: Iterable[PaperRecord], sender: Sender) -> int:
    """Send the records. Return their number. Raises NotSent."""
    count = 0
    for record in records:
        sender.send("papers", record.key, record.value, headers=record.headers)
        count += 1
    return count
