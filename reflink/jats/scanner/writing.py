"""Write JSON into a buffer: literals, numbers and text."""

from __future__ import annotations

from typing import Final

import numpy as np

from reflink.jats.scanner import bytecodes as b
from reflink.jats.scanner import vocabulary as v
from reflink.jats.scanner.characters import Bytes
from reflink.jats.scanner.compiling import kernel

_LITERALS: Final = [
    '{"raw_text":"', '"', ',"year":', ',"title":"', ',"last_names":["', ',"given_names":["', ',"editors":["',
    ',"collectives":["', '","', '"]', ',"_titles":[[', ',"_names":[[', ',"_ids":[[', ',"_bare":"', ',"_hints":1', '],[',
    ']]', ',"', ',', ',"kind":"', ',"label":"', '}', "\\u0001", "\\u0002", "\\u0003", '[',
    ',"ids":{', '"doi":"', '"pmid":"', '"pmcid":"', ',"raw_noid":"',
]  # fmt: skip
(RAW, END, YEAR, TITLE, LAST, GIVEN, EDITORS, COLLECTIVES, NEXT, CLOSE, TITLES, NAMES, IDS, BARE, HINTS, AGAIN,
 DONE, TEXT, COMMA, KIND, LABEL, OBJECT, TAKEN, BEGINS, ENDS, LIST, PLAIN,
 DOI, PMID, PMCID, NOID) = range(len(_LITERALS))  # fmt: skip
FIELD: Final = len(_LITERALS)
_ALL: Final = [*_LITERALS, *(f',"{name}":"' for name in v.FIRST_FIELDS.values())]
_BYTES: Final = np.frombuffer("".join(_ALL).encode(), np.uint8)
_AT: Final = np.cumsum([0, *map(len, _ALL)])
_HEX: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_SMALL_U: Final = ord("u")
_TIGHT: Final = np.zeros(256, np.bool_)
_TIGHT[np.frombuffer(b",.;:)]", np.uint8)] = True


@kernel
def literal(js: Bytes, at: int, which: int) -> int:
    """Write the JSON literal ``which`` to ``js`` at ``at``; return where it ends."""
    for i in range(_AT[which], _AT[which + 1]):
        js[at] = _BYTES[i]
        at += 1
    return at


@kernel
def number(js: Bytes, at: int, value: int) -> int:
    """Write a non-negative number to ``js`` at ``at``; return where it ends."""
    digits, rest = 1, value
    while rest >= 10:
        rest //= 10
        digits += 1
    for i in range(digits):
        js[at + digits - 1 - i] = b.ZERO + value % 10
        value //= 10
    return at + digits


@kernel
def copy(js: Bytes, at: int, source: Bytes, start: int, stop: int) -> int:
    """Write ``source[start:stop]`` as the content of a JSON string, with JSON's escapes; return where it ends."""
    for i in range(start, stop):
        c = source[i]
        if c == b.QUOTE or c == b.BACKSLASH:
            js[at] = b.BACKSLASH
            at += 1
        elif c < b.SPACE:
            js[at], js[at + 1], js[at + 2], js[at + 3] = b.BACKSLASH, _SMALL_U, b.ZERO, b.ZERO
            js[at + 4] = _HEX[c >> 4]
            at += 5
            c = _HEX[c & 15]
        js[at] = c
        at += 1
    return at


@kernel
def tight(js: Bytes, at: int, source: Bytes, start: int, stop: int) -> int:
    """Write text like ``copy``, without spaces before , . ; : ) and ]; it must hold no control characters."""
    for i in range(start, stop):
        c = source[i]
        if c == b.SPACE and i + 1 < len(source) and _TIGHT[source[i + 1]]:
            continue
        if c == b.QUOTE or c == b.BACKSLASH:
            js[at] = b.BACKSLASH
            at += 1
        js[at] = c
        at += 1
    return at


@kernel
def string(js: Bytes, at: int, key: int, source: Bytes, start: int, stop: int) -> int:
    """Write the literal ``key`` and the string ``source[start:stop]``; return where it ends."""
    at = literal(js, at, key)
    at = copy(js, at, source, start, stop)
    return literal(js, at, END)


@kernel
def texts(
    js: Bytes, at: int, first: Bytes, start: int, stop: int, second: Bytes, second_start: int, second_stop: int
) -> int:  # fmt: skip
    """Write the last two elements of a list, ``first[start:stop]`` and a span of ``second``; return where they end."""
    at = literal(js, at, TEXT)
    at = copy(js, at, first, start, stop)
    at = literal(js, at, NEXT)
    at = copy(js, at, second, second_start, second_stop)
    return literal(js, at, END)
