"""Divide a stream of PubMed XML into the elements that are its records, without parsing it.

A record is one element under the root: an article, a book document or a list of deletions. Comments, CDATA sections and
processing instructions may contain tags, so an element in which "<!" or "<?" occurs is searched with care for its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final

from reflink.errors import BadRecord, DamagedFile
from reflink.sources.files import MAX_RECORD

#: Names of the elements that are records.
RECORDS: Final = ("PubmedArticle", "PubmedBookArticle", "DeleteCitation", "DeleteDocument")
#: The start of the root of a file.
ROOT: Final = re.compile(rb"<Pubmed(?:Book)?ArticleSet[\s/>]")
_START: Final = re.compile(
    rb"<(?:("
    + b"|".join(name.encode() for name in RECORDS)
    + rb")(?=[\s>])|(/?)Pubmed(?:Book)?ArticleSet(?=[\s/>])|!--|!\[CDATA\[|\?)"
)
_OPAQUE_ENDS: Final = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_ENDS: Final = {name.encode(): b"</" + name.encode() + b">" for name in RECORDS}
_CAREFUL: Final = {
    name.encode(): re.compile(
        rb"<!--.*?(-->|\Z)|<!\[CDATA\[.*?(\]\]>|\Z)|<\?.*?(\?>|\Z)|(</" + name.encode() + rb"\s*>)", re.DOTALL
    )
    for name in RECORDS
}
#: Bytes that are read at once.
_CHUNK: Final = 1 << 20
#: Bytes that are kept of a part without a record, since a tag may continue in the next chunk.
_TAIL: Final = 64


@dataclass(frozen=True, slots=True)
class Slice:
    """The bytes of one element, and its place: its number in the file, from 1."""

    number: int
    name: str
    xml: bytes
    #: Whether the element contains neither comments nor CDATA sections nor processing instructions.
    plain: bool


def slices(content: IO[bytes], name: str, limit: int = MAX_RECORD) -> Iterator[Slice | BadRecord]:
    """Yield the elements of a file in order, and a BadRecord in place of an element longer than ``limit`` bytes.

    Raises DamagedFile if the file is not PubMed XML, or ends within an element or before the end of its root.
    """
    buffer = b""
    at = number = 0
    seen = opened = False  # whether a root was found, and whether it is open
    while True:
        start = _START.search(buffer, at)
        if start and start[1]:
            end, plain = _end(buffer, start.start(), start[1])
            if end is not None:
                number += 1
                seen, at = True, end
                if end - start.start() > limit:
                    yield BadRecord(f"{name}: record {number}: longer than {limit} bytes")
                else:
                    yield Slice(number, start[1].decode(), buffer[start.start() : end], plain)
                continue
            at = start.start()
            if len(buffer) - at > limit:
                number += 1
                yield BadRecord(f"{name}: record {number}: longer than {limit} bytes")
                at = len(buffer) - _TAIL
        elif start and start[2] is not None:
            seen, opened, at = True, not start[2], start.end()
            continue
        elif start:
            closing = _OPAQUE_ENDS[start[0]]
            end = buffer.find(closing, start.end())
            if end >= 0:
                at = end + len(closing)
                continue
            at = start.start() if len(buffer) - start.start() <= limit else len(buffer) - _TAIL
        else:
            at = max(at, len(buffer) - _TAIL)
        chunk = content.read(max(_CHUNK, len(buffer) - at))
        if not chunk:
            break
        buffer, at = buffer[at:] + chunk, 0
    if not seen:
        raise DamagedFile(f"{name}: not a file of PubMed: it has no PubmedArticleSet")
    if opened or start:
        raise DamagedFile(f"{name}: truncated behind record {number}: get the file again")


def _end(buffer: bytes, start: int, name: bytes) -> tuple[int | None, bool]:
    """Return the end of the element that starts at ``start``, None if the buffer ends before, and whether it is plain."""
    closing = _ENDS[name]
    end = buffer.find(closing, start)
    stop = len(buffer) if end < 0 else end
    if end >= 0 and not _has(buffer, b"!", start, stop) and not _has(buffer, b"?", start, stop):
        return end + len(closing), True
    for token in _CAREFUL[name].finditer(buffer, start):
        if token[4]:
            return token.end(), False
    return None, False


def _has(buffer: bytes, mark: bytes, start: int, stop: int) -> bool:
    """Return whether "<" and the mark occur. The mark alone is found much faster, and most records do not have it."""
    return buffer.find(mark, start, stop) >= 0 and buffer.find(b"<" + mark, start, stop) >= 0
