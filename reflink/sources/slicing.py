"""Divide a stream of XML into the elements that are its records, without parsing it.

A record is one element under the root, e.g. an article of PubMed. Comments, CDATA sections and processing instructions may
contain tags, so an element in which "<!" or "<?" occurs is searched with care for its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Final

from reflink.errors import BadRecord, DamagedFile
from reflink.sources.files import MAX_RECORD

_OPAQUE_ENDS: Final = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
#: Bytes that are read at once.
_CHUNK: Final = 1 << 20
#: Bytes that are kept of a part without a record, since a tag may continue in the next chunk.
_TAIL: Final = 64


@dataclass(frozen=True, slots=True)
class Slice:
    """The bytes of one element, and its place: its number in the file, from 1.

    ``plain``: the element contains neither comments nor CDATA sections nor processing instructions.
    """

    number: int
    name: str
    xml: bytes
    plain: bool


class Slicer:
    """Divides files with elements of these names, ``records``, under one of these ``roots``. ``what`` names such a file."""

    def __init__(self, records: Sequence[str], roots: Sequence[str], what: str) -> None:
        names = "|".join(records)
        self.root: Final = re.compile(f"<(?:{'|'.join(roots)})[\\s/>]".encode())
        self._what = what
        self._start = re.compile(f"<(?:({names})(?=[\\s>])|(/?)(?:{'|'.join(roots)})(?=[\\s/>])|!--|!\\[CDATA\\[|\\?)".encode())
        self._careful = {
            name.encode(): re.compile(
                rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|(</" + name.encode() + rb"\s*>)", re.DOTALL
            )
            for name in records
        }

    def slices(self, content: IO[bytes], name: str, limit: int = MAX_RECORD) -> Iterator[Slice | BadRecord]:
        """Yield the elements of a file in order, and a BadRecord in place of an element longer than ``limit`` bytes.

        Raises DamagedFile if the file has neither a root nor a record, or ends within a record or before the end of its root.
        """
        buffer = b""
        at = number = 0
        seen = opened = False  # whether a root was found, and whether it is open
        while True:
            start = self._start.search(buffer, at)
            if start and start[1]:
                end, plain = self._end(buffer, start.start(), start[1])
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
            raise DamagedFile(f"{name}: not a file of {self._what}")
        if opened or start:
            raise DamagedFile(f"{name}: truncated behind record {number}: get the file again")

    def _end(self, buffer: bytes, start: int, name: bytes) -> tuple[int | None, bool]:
        """Return the end of the element that starts at ``start``, None if the buffer ends before, and whether it is plain."""
        closing = b"</" + name + b">"
        end = buffer.find(closing, start)
        if end >= 0 and not _has(buffer, b"!", start, end) and not _has(buffer, b"?", start, end):
            return end + len(closing), True
        for token in self._careful[name].finditer(buffer, start):
            if token[1]:
                return token.end(), False
        return None, False


def _has(buffer: bytes, mark: bytes, start: int, stop: int) -> bool:
    """Return whether "<" and the mark occur. The mark alone is found much faster, and most records do not have it."""
    return buffer.find(mark, start, stop) >= 0 and buffer.find(b"<" + mark, start, stop) >= 0
