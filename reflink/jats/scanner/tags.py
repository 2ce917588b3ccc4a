"""Tags of XML: the code of an element's name, and where its attributes' values lie."""

from __future__ import annotations

import numpy as np
from numba import njit

from reflink.jats.scanner.characters import APOSTROPHE, GT, QUOTE, Bytes, Integers
from reflink.jats.scanner.vocabulary import ATTRIBUTE, CODES, HASHES, HREF, INLINE, MATH, OTHER, SILENT, SLOTS, VALUE, name_hash

_SLASH, _COLON, _EQUALS = 47, 58, 61
_OFFSET = np.uint64(name_hash(b""))
_PRIME = np.uint64(0x100000001B3)
_ATTRIBUTE_OFFSET = np.uint64(name_hash(b"@"))
_VALUE_OFFSET = np.uint64(name_hash(b"="))


@njit(boundscheck=True, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _hashed(value: np.uint64, byte: int) -> np.uint64:
    return (value ^ np.uint64(byte)) * _PRIME


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _code(value: np.uint64) -> int:
    """The code of a name by its hash; 0 when it is unknown."""
    slot = np.int64(value & np.uint64(SLOTS - 1))
    while HASHES[slot] != 0:
        if HASHES[slot] == value:
            return int(CODES[slot])
        slot = (slot + 1) & (SLOTS - 1)
    return 0


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def past(data: Bytes, at: int, first: int, second: int, third: int) -> int:
    """Where the text behind the next ``first second third`` begins (0: any two of them)."""
    n = len(data)
    while at + 2 < n:
        if data[at] == first and data[at + 1] == second and data[at + 2] == third:
            return at + 3
        at += 1
    return n


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def element(data: Bytes, at: int) -> tuple[int, int]:
    """Code of the name that begins at ``at`` and where it ends. MathML's elements are markup within a formula."""
    value, begin, n = _OFFSET, at, len(data)
    math = False
    while at < n:
        c = data[at]
        if c in (GT, _SLASH) or c <= 32:
            break
        if c == _COLON:
            math = data[begin] == 109 and (at - begin == 1 or (at - begin == 3 and data[begin + 1] == 109))  # m: or mml:
            value = _OFFSET
        else:
            value = _hashed(value, c)
        at += 1
    code = _code(value)
    if math:
        return (OTHER if code == MATH else SILENT if code == SILENT else INLINE), at
    return OTHER if code == MATH or code >= ATTRIBUTE else code, at


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def attributes(data: Bytes, at: int, spans: Integers) -> int:
    """Notes in ``spans`` where the values of the attributes lie that matter, by code; returns where the tag ends (its >)."""
    spans.fill(0)
    n = len(data)
    while at < n and data[at] != GT:
        c = data[at]
        if c <= 32 or c == _SLASH:
            at += 1
            continue
        value, prefixed = _ATTRIBUTE_OFFSET, False
        while at < n and data[at] != _EQUALS and data[at] > 32 and data[at] != GT:
            if data[at] == _COLON:
                value, prefixed = _ATTRIBUTE_OFFSET, True
            else:
                value = _hashed(value, data[at])
            at += 1
        while at < n and data[at] != QUOTE and data[at] != APOSTROPHE and data[at] != GT:
            at += 1
        if at >= n or data[at] == GT:
            break
        quote = data[at]
        at += 1
        begin = at
        while at < n and data[at] != quote:
            at += 1
        code = _code(value) - ATTRIBUTE
        if code > 0 and (code == HREF or not prefixed) and spans[2 * code] == spans[2 * code + 1]:
            spans[2 * code], spans[2 * code + 1] = begin, at
        at += 1
    return at


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def tag_end(data: Bytes, at: int) -> int:
    """Where a tag ends (its >), from within its head."""
    n, quote = len(data), 0
    while at < n:
        c = data[at]
        if quote:
            if c == quote:
                quote = 0
        elif c in (QUOTE, APOSTROPHE):
            quote = c
        elif c == GT:
            break
        at += 1
    return at


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def value_code(data: Bytes, start: int, stop: int) -> int:
    """The code of an attribute's value, whatever its case; 0 when it is unknown."""
    value = _VALUE_OFFSET
    for at in range(start, stop):
        c = data[at]
        value = _hashed(value, c + 32 if 65 <= c <= 90 else c)
    return int(max(_code(value) - VALUE, 0))
