"""Writing JSON into a buffer: fixed pieces, numbers, and text."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from reflink.jats.scanner import vocabulary as v
from reflink.jats.scanner.characters import Bytes

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


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def literal(js: Bytes, at: int, which: int) -> int:
    """Appends a fixed piece of JSON to ``js`` at ``at``; returns where it ends."""
    for i in range(_AT[which], _AT[which + 1]):
        js[at] = _BYTES[i]
        at += 1
    return at


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def number(js: Bytes, at: int, value: int) -> int:
    """Appends a number that is not negative."""
    digits, rest = 1, value
    while rest >= 10:
        rest //= 10
        digits += 1
    for i in range(digits):
        js[at + digits - 1 - i] = 48 + value % 10
        value //= 10
    return at + digits


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def copy(js: Bytes, at: int, source: Bytes, start: int, stop: int) -> int:
    """Appends text of one kind to a JSON string as it is."""
    for i in range(start, stop):
        c = source[i]
        if c == 34 or c == 92:
            js[at] = 92
            at += 1
        elif c < 32:
            js[at], js[at + 1], js[at + 2], js[at + 3] = 92, 117, 48, 48
            js[at + 4] = _HEX[c >> 4]
            at += 5
            c = _HEX[c & 15]
        js[at] = c
        at += 1
    return at


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def tight(js: Bytes, at: int, source: Bytes, start: int, stop: int) -> int:
    """The same without spaces before , . ; : ) and ]."""
    for i in range(start, stop):
        c = source[i]
        if c == 32 and i + 1 < len(source):
            d = source[i + 1]
            if d == 44 or d == 46 or d == 59 or d == 58 or d == 41 or d == 93:
                continue
        if c == 34 or c == 92:
            js[at] = 92
            at += 1
        js[at] = c
        at += 1
    return at
