"""Read XML tags: the code of the element's name and the spans of its attributes' values."""

from __future__ import annotations

import numpy as np

from reflink.jats.scanner.bytecodes import APOSTROPHE, COLON, EQUALS, GT, QUOTE, SLASH, SPACE, lower
from reflink.jats.scanner.characters import Bytes, Integers
from reflink.jats.scanner.compiling import inlined, kernel
from reflink.jats.scanner.vocabulary import ATTRIBUTE, CODES, HASHES, HREF, INLINE, MATH, OTHER, SILENT, SLOTS, VALUE, name_hash

_SMALL_M = ord("m")
_OFFSET = np.uint64(name_hash(b""))
_PRIME = np.uint64(0x100000001B3)
_ATTRIBUTE_OFFSET = np.uint64(name_hash(b"@"))
_VALUE_OFFSET = np.uint64(name_hash(b"="))


@inlined
def _hashed(value: np.uint64, byte: int) -> np.uint64:
    return (value ^ np.uint64(byte)) * _PRIME


@kernel
def _code(value: np.uint64) -> int:
    """Return the code of the name with this hash; 0 if the name is unknown."""
    slot = np.int64(value & np.uint64(SLOTS - 1))
    while HASHES[slot] != 0:
        if HASHES[slot] == value:
            return int(CODES[slot])
        slot = (slot + 1) & (SLOTS - 1)
    return 0


@kernel
def past(data: Bytes, at: int, first: int, second: int, third: int) -> int:
    """Return the position after the next occurrence of the three bytes; the length of ``data`` if there is none."""
    n = len(data)
    while at + 2 < n:
        if data[at] == first and data[at + 1] == second and data[at + 2] == third:
            return at + 3
        at += 1
    return n


@kernel
def element(data: Bytes, at: int) -> tuple[int, int]:
    """Return the code and the end of the element name that begins at ``at``.

    Elements with the prefixes m and mml are MathML: markup within a formula (INLINE), but for ``math`` and silent elements.
    """
    value, begin, n = _OFFSET, at, len(data)
    math = False
    while at < n:
        c = data[at]
        if c in (GT, SLASH) or c <= SPACE:
            break
        if c == COLON:
            math = data[begin] == _SMALL_M and (
                at - begin == 1 or (at - begin == 3 and data[begin + 1] == _SMALL_M)
            )  # m: or mml:
            value = _OFFSET
        else:
            value = _hashed(value, c)
        at += 1
    code = _code(value)
    if math:
        return (OTHER if code == MATH else SILENT if code == SILENT else INLINE), at
    return OTHER if code == MATH or code >= ATTRIBUTE else code, at


@kernel
def attributes(data: Bytes, at: int, spans: Integers) -> int:
    """Write the spans of the values of known attributes to ``spans``, by code; return the position of the tag's ">"."""
    spans.fill(0)
    n = len(data)
    while at < n and data[at] != GT:
        c = data[at]
        if c <= SPACE or c == SLASH:
            at += 1
            continue
        value, prefixed = _ATTRIBUTE_OFFSET, False
        while at < n and data[at] != EQUALS and data[at] > SPACE and data[at] != GT:
            if data[at] == COLON:
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


@kernel
def tag_end(data: Bytes, at: int) -> int:
    """Return the position of the ">" of the tag that contains ``at``."""
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


@kernel
def value_code(data: Bytes, start: int, stop: int) -> int:
    """Return the code of an attribute's value, case ignored; 0 if the value is unknown."""
    value = _VALUE_OFFSET
    for at in range(start, stop):
        value = _hashed(value, lower(data[at]))
    return int(max(_code(value) - VALUE, 0))
