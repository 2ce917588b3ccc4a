"""Whether one element is well-formed, and where it ends, without a tree.

Strict on purpose: what it accepts, libxml2 accepts too (tests/fuzz compares them); what it refuses may still be well-formed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from reflink.jats.scanner import characters, content, vocabulary
from reflink.jats.scanner.caching import kept
from reflink.jats.scanner.characters import AMPERSAND, APOSTROPHE, GT, LT, QUOTE, Bytes
from reflink.jats.scanner.content import BLANK, NAME, SPECIAL, comment_end, instruction_end, reference_end, text_end
from reflink.jats.scanner.vocabulary import name_hash

_OFFSET: Final = np.uint64(name_hash(b""))
_PRIME: Final = np.uint64(0x100000001B3)
_XML: Final = np.uint64(name_hash(b"xml"))
_XMLNS: Final = np.uint64(name_hash(b"xmlns"))
_BANG, _SLASH, _COLON, _EQUALS, _QUESTION = 33, 47, 58, 61, 63
#: Deepest nesting and most attributes of an element that are looked at.
_DEPTH, _ATTRIBUTES = 200, 24


@kept(characters, content, vocabulary)
def element_end(data: Bytes, at: int, prefixes: np.ndarray) -> int:
    """Where the element whose tag begins at ``at`` ends; -1 when in doubt.

    ``data`` is UTF-8; ``prefixes`` (uint64) are the hashes of the prefixes that are declared around it. CDATA, elements that
    declare prefixes of their own and names with other than ASCII letters are in doubt.
    """
    n = len(data)
    stack = np.zeros(_DEPTH, np.uint64)
    seen = np.zeros(_ATTRIBUTES, np.uint64)
    depth = 0
    while at < n:
        # At a "<".
        at += 1
        if at + 2 >= n:
            return -1
        c = data[at]
        if c == _BANG:
            at = comment_end(data, at)
            if at < 0:
                return -1
        elif c == _QUESTION:
            at = instruction_end(data, at)
            if at < 0:
                return -1
        elif c == _SLASH:
            name, at = _name(data, at + 1, prefixes)
            while at < n and at >= 0 and BLANK[data[at]]:
                at += 1
            depth -= 1
            if at >= n or at < 0 or data[at] != GT or depth < 0 or stack[depth] != name:
                return -1
            at += 1
        else:
            name, at = _name(data, at, prefixes)
            if at < 0:
                return -1
            attributes = 0
            while True:
                before = at
                while at < n and BLANK[data[at]]:
                    at += 1
                if at + 1 >= n:
                    return -1
                c = data[at]
                if c == GT:
                    if depth >= _DEPTH:
                        return -1
                    stack[depth] = name
                    depth += 1
                    at += 1
                    break
                if c == _SLASH:
                    if data[at + 1] != GT:
                        return -1
                    at += 2
                    break
                if at == before or attributes >= _ATTRIBUTES:
                    return -1
                attribute, at = _attribute(data, at, prefixes)
                if at < 0:
                    return -1
                for i in range(attributes):
                    if seen[i] == attribute:
                        return -1
                seen[attributes] = attribute
                attributes += 1
        if depth == 0:
            return at
        at = text_end(data, at)
        if at < 0:
            return -1
    return -1


@kept(characters, content, vocabulary)
def next_start(data: Bytes, at: int, names: np.ndarray) -> int:
    """Where the next element begins that has one of these names (hashes, uint64; none: any), at ``at`` or behind.

    -1 when there is none, or in doubt.
    """
    n = len(data)
    nothing = np.zeros(0, np.uint64)
    while at + 2 < n:
        if data[at] != LT:
            at += 1
        elif data[at + 1] == _BANG:
            at = comment_end(data, at + 1)
        elif data[at + 1] == _QUESTION:
            at = instruction_end(data, at + 1)
        else:
            if data[at + 1] != _SLASH:
                if len(names) == 0:
                    return at
                name, end = _name(data, at + 1, nothing)
                for i in range(len(names)):
                    if names[i] == name and end > 0:
                        return at
            at = _passed(data, at + 1)
        if at < 0:
            return -1
    return -1


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _passed(data: Bytes, at: int) -> int:
    """Where the tag ends that ``at`` is in; -1 when there is a "<" in it."""
    n, quote = len(data), 0
    while at < n:
        c = data[at]
        if c == LT:
            return -1
        if quote:
            quote = 0 if c == quote else quote
        elif c in (QUOTE, APOSTROPHE):
            quote = c
        elif c == GT:
            return at + 1
        at += 1
    return -1


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _name(data: Bytes, at: int, prefixes: np.ndarray) -> tuple[np.uint64, int]:
    """Hash of the name that begins at ``at`` and where it ends, -1 when it is none or its prefix is unknown."""
    n, value = len(data), _OFFSET
    begin, prefixed = at, False
    while at < n:
        c = data[at]
        kind = NAME[c]
        if kind == 0:
            if c != _COLON or prefixed or at == begin:
                break
            prefixed = True
            known = value == _XML
            for i in range(len(prefixes)):
                known = known or prefixes[i] == value
            if not known:
                return value, -1
            begin = at + 1
        elif kind == 2 and at == begin:
            break
        value = (value ^ np.uint64(c)) * _PRIME
        at += 1
    return value, at if at > begin else -1


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _attribute(data: Bytes, at: int, prefixes: np.ndarray) -> tuple[np.uint64, int]:
    """Hash of the name of the attribute at ``at`` and where its value ends, -1 when in doubt."""
    n = len(data)
    name, at = _name(data, at, prefixes)
    if at < 0 or name == _XMLNS:
        return name, -1
    while at < n and BLANK[data[at]]:
        at += 1
    if at >= n or data[at] != _EQUALS:
        return name, -1
    at += 1
    while at < n and BLANK[data[at]]:
        at += 1
    if at >= n or (data[at] != QUOTE and data[at] != APOSTROPHE):
        return name, -1
    quote = data[at]
    at += 1
    while at < n and data[at] != quote:
        c = data[at]
        if c == LT:
            return name, -1
        if SPECIAL[c] and c != 93:
            if c != AMPERSAND:
                return name, -1
            at = reference_end(data, at)
            if at < 0:
                return name, -1
        else:
            at += 1
    return name, at + 1 if at < n else -1
