"""Read JSON records from files of any of the usual layouts, one after the other, in memory bounded by the largest record.

1. JSON lines: a document with one or more records on each line.
2. A document with a list of records under ``items``, ``data`` or ``results``, at the top or under ``message``: the files of
   Crossref's dump, the pages of REST interfaces. Several such documents may follow each other.
3. A list of records.
4. A document with one record, at the top or under ``message`` or ``data``.

A list is split without being parsed, so a record that is not JSON costs only itself, in a list as in lines.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any, Final, cast

import numpy as np
import orjson

from reflink.errors import BadRecord
from reflink.sources.files import MAX_RECORD, lines
from reflink.sources.splitting import element_end
from reflink.storage.decompression import DAMAGED

_LISTS: Final = ("items", "results", "data")
_LIST_KEYS: Final = frozenset(key.encode() for key in _LISTS)
_WRAPPER: Final = "message"
_KEY: Final = re.compile(rb'\s*"([^"\\]{0,64})"\s*:\s*')
_WHITE: Final = re.compile(rb"\s*")
_BOM: Final = b"\xef\xbb\xbf"
_HEAD: Final = 1 << 16
_CHUNK: Final = 1 << 18
_COMMA, _BRACE, _BRACKET = b",{["

_FAULTS: Final[tuple[type[Exception], ...]] = (OSError, *DAMAGED)

Numbered = tuple[int, dict[str, Any]]


def documents(content: IO[bytes], name: str, limit: int = MAX_RECORD) -> Iterator[Numbered | BadRecord]:
    """Yield line, or position in the list, and value of each record; a BadRecord in place of what is not a JSON object.

    ``limit``: of a record, in bytes. Raises EOFError if a list does not end.
    """
    window = _Window(content)
    window.more(_HEAD)
    window.at = len(_BOM) if window.data.startswith(_BOM) else 0
    count = 0
    while window.skip_white():
        levels = _enter_list(window, limit)
        if levels is None:
            yield from _of_lines(window, name, limit)
            return
        more = True
        while more:
            element, more = window.element(limit)
            if element is not None and not more and not element.strip():
                break  # an empty list
            count += 1
            if element is None:
                yield BadRecord(f"{name}:item {count}: longer than {limit} bytes")
            else:
                value = _parsed(element, f"{name}:item {count}")
                yield value if isinstance(value, BadRecord) else (count, value)
        for _ in range(levels):  # what follows the list in its document
            while window.element(0)[1]:
                pass


def _of_lines(window: _Window, name: str, limit: int) -> Iterator[Numbered | BadRecord]:
    single = _single(window, limit)
    if single is not None:
        yield from _records(single, name, 1)
        return
    for line in lines(cast("IO[bytes]", io.BufferedReader(window, _CHUNK)), name, limit):
        if isinstance(line, BadRecord):
            yield line
            continue
        number, data = line
        value = _parsed(data, f"{name}:{number}")
        if isinstance(value, BadRecord):
            yield value
        else:
            yield from _records(value, name, number)


def _single(window: _Window, limit: int) -> dict[str, Any] | None:
    """Return the document if the file is one document of several lines; None if it is JSON lines."""
    first, newline, _ = window.data[window.at :].partition(b"\n")
    if newline and isinstance(_parsed(first, ""), dict):
        return None
    with suppress(*_FAULTS):  # raised again behind the lines before it
        while len(window.data) - window.at <= limit:
            if not window.more(len(window.data)):
                value = _parsed(window.data[window.at :], "")
                return value if isinstance(value, dict) else None
    return None


def _parsed(data: bytes, place: str) -> dict[str, Any] | BadRecord:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return BadRecord(f"{place}: not JSON: {error}")
    return value if type(value) is dict else BadRecord(f"{place}: not a JSON object")


def _records(value: dict[str, Any], name: str, number: int) -> Iterator[Numbered | BadRecord]:
    """Yield the records of a document."""
    inner = value.get(_WRAPPER)
    if type(inner) is dict:
        value = inner
    for key in _LISTS:
        inner = value.get(key)
        if type(inner) is list:
            for each in inner:
                yield (number, each) if type(each) is dict else BadRecord(f"{name}:{number}: not a JSON object")
            return
    yield number, inner if type(inner) is dict else value  # the last key is "data"


def _enter_list(window: _Window, limit: int) -> int | None:
    """Move behind the opening bracket of the list of records. Return the number of objects around it, None without a list."""
    if window.data[window.at] == _BRACKET:
        window.at += 1
        return 0
    if window.data[window.at] != _BRACE:
        return None
    levels, at = 1, window.at + 1
    while True:
        key = _KEY.match(window.data, at)
        if key is None or key.end() == len(window.data):
            if len(window.data) - at > 2 * _HEAD or not (at := window.kept(at)) or not window.more(_HEAD):
                return None
            continue
        begin = window.data[key.end()]
        if begin == _BRACKET and key[1] in _LIST_KEYS:
            window.at = key.end() + 1
            return levels
        if begin == _BRACE and key[1] == _WRAPPER.encode():
            levels, at = levels + 1, key.end() + 1
            continue
        end, _, _ = element_end(window.array, key.end(), 0, False)
        if end >= len(window.data):
            if len(window.data) > limit or not (at := window.kept(at)) or not window.more(len(window.data)):
                return None
        elif window.data[end] == _COMMA:
            at = end + 1
        else:
            return None


class _Window(io.RawIOBase):
    """The part of a file that is in memory; reading it as a file gives the rest of the file."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = cast("io.BufferedReader", content)
        self.data, self.at = b"", 0
        self._fault: Exception | None = None
        self.array = np.frombuffer(self.data, np.uint8)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        if self.at == len(self.data):
            self.more(len(view))
        data = self.data[self.at : self.at + len(view)]
        view[: len(data)] = data
        self.at += len(data)
        return len(data)

    def more(self, size: int) -> bool:
        """Read about ``size`` more bytes and forget those before ``at``. Return False at the end of the file."""
        parts = [self.data[self.at :]]
        while size > 0 and self._fault is None:
            try:
                data = self._content.read1(size)
            except _FAULTS as error:
                self._fault = error  # raised when the bytes before it are used up
                break
            if not data:
                break
            parts.append(data)
            size -= len(data)
        if len(parts) == 1 and self._fault is not None:
            raise self._fault
        self.data, self.at = b"".join(parts), 0
        self.array = np.frombuffer(self.data, np.uint8)
        return len(parts) > 1

    def kept(self, position: int) -> int:
        """Return the position after the next call of ``more``."""
        return position - self.at

    def skip_white(self) -> bool:
        """Move to the next byte that is not white space. Return False at the end of the file."""
        while True:
            found = _WHITE.match(self.data, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.data):
                return True
            if not self.more(_CHUNK):
                return False

    def element(self, limit: int) -> tuple[bytes | None, bool]:
        """Return the next element, None if it is longer than ``limit`` bytes, and whether another one follows.

        Raises EOFError if the file ends before.
        """
        end, depth, quoted = element_end(self.array, self.at, 0, False)
        while end >= len(self.data) and len(self.data) - self.at <= limit:
            self._extend(max(_CHUNK, len(self.data) - self.at))
            end, depth, quoted = element_end(self.array, self.at, 0, False)
        too_long = end >= len(self.data)
        while end >= len(self.data):
            start = end - len(self.data)
            self.at = len(self.data)
            self._extend(_CHUNK)
            end, depth, quoted = element_end(self.array, start, depth, quoted)
        element = None if too_long or end - self.at > limit else self.data[self.at : end]
        self.at = end + 1
        return element, self.data[end] == _COMMA

    def _extend(self, size: int) -> None:
        if not self.more(size):
            raise EOFError("a list of records does not end")
