"""Publishing papers: files to records of ``papers``, compressed, the large ones as pointers."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import zstandard

from reflink import jats
from reflink.errors import ReflinkError, TooLarge
from schemas import SCHEMA_VERSION, PaperPointer
from schemas.papers import CONTENT_HEADER, ENCODING_HEADER, VERSION_HEADER, Encoding
from workers.sending import Sender
from workers.stage import Headers
from workers.topics import TOPICS

#: Room for key and headers below the topic's limit.
_ROOM: Final = 100_000
LIMIT: Final = TOPICS["papers"].max_message_bytes - _ROOM


@dataclass(frozen=True)
class PaperRecord:
    """A record of ``papers``, ready to be sent."""

    key: bytes
    value: bytes
    headers: Headers


def record_of(
    name: str,
    data: bytes,
    *,
    encoding: Encoding = "zstd",
    version: int | None = None,
    pointer_root: Path | None = None,
    limit: int = LIMIT,
) -> PaperRecord:
    """A paper's record, keyed by its work id so that its versions keep their order; by ``name`` when it cannot be parsed.

    Above ``limit`` bytes the paper is put under ``pointer_root`` and the record points to it. Raises TooLarge without a root.
    """
    try:
        key = jats.parse(data, source=Path(name).stem).id
    except ReflinkError:
        key = Path(name).name  # the parser will say what is wrong with it, in a dead letter
    value = compress(data, encoding)
    content: Literal["xml", "pointer"] = "xml"
    if len(value) > limit:
        if pointer_root is None:
            raise TooLarge(f"{name}: {len(value)} bytes compressed, and a message takes {limit}: give --pointer-root")
        value, content = put_aside(value, pointer_root), "pointer"
    headers: Headers = ((CONTENT_HEADER, content.encode()), (ENCODING_HEADER, encoding.encode()))
    if version is not None:
        headers = (*headers, (VERSION_HEADER, b"%d" % version))
    return PaperRecord(key.encode(), value, headers)


def compress(data: bytes, encoding: Encoding) -> bytes:
    """The value as ``encoding`` says."""
    match encoding:
        case "zstd":
            return zstandard.ZstdCompressor(level=6).compress(data)
        case "gzip":
            return gzip.compress(data, mtime=0)
        case "identity":
            return data


def put_aside(stored: bytes, root: Path) -> bytes:
    """Writes a file named by its hash under ``root``, unless it is there whole; returns the pointer to it as JSON."""
    digest = hashlib.sha256(stored).hexdigest()
    path = root / digest[:2] / digest
    if not (path.is_file() and path.read_bytes() == stored):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")  # two processes may put the same paper aside
        with partial.open("wb") as file:
            file.write(stored)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    pointer = PaperPointer(
        schema_version=SCHEMA_VERSION, path=path.relative_to(root).as_posix(), sha256=digest, size=len(stored)
    )
    return pointer.to_json()


def publish(records: Iterable[PaperRecord], sender: Sender) -> int:
    """Sends them; returns how many. Raises NotSent."""
    count = 0
    for record in records:
        sender.send("papers", record.key, record.value, headers=record.headers)
        count += 1
    return count
