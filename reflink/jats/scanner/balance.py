"""Find the end of one well-formed XML element without building a tree.

Invariant: libxml2 accepts every element that this module accepts (tests/campaigns/fuzz compares them). The reverse does not
hold: the module returns -1 for an element that it cannot check, which may still be well-formed. The cost is linear in the bytes
read.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from reflink.compiled import compiled
from reflink.jats.scanner import bytecodes as b
from reflink.jats.scanner.characters import Bytes
from reflink.jats.scanner.compiling import PLAIN, kernel
from reflink.jats.scanner.content import BLANK, NAME, SPECIAL, comment_end, instruction_end, reference_end, text_end
from reflink.jats.scanner.vocabulary import name_hash

_OFFSET: Final = np.uint64(name_hash(b""))
_PRIME: Final = np.uint64(0x100000001B3)
_XML: Final = np.uint64(name_hash(b"xml"))
_XMLNS: Final = np.uint64(name_hash(b"xmlns"))
#: Maximum nesting depth, and maximum number of attributes of an element; beyond them the result is -1.
_DEPTH, _ATTRIBUTES = 200, 24


@compiled(plain=PLAIN, boundscheck=True, nogil=True)
def element_end(data: Bytes, at: int, prefixes: np.ndarray) -> int:
    """Return the end of the element whose tag begins at ``at``; -1 in case of doubt.

    ``data`` is UTF-8. ``prefixes`` (uint64) are the hashes of the namespace prefixes declared around the element. The result
    is -1 for an element with CDATA, with a namespace declaration, or with a name that has non-ASCII characters.
    """
    n = len(data)
    stack = np.zeros(_DEPTH, np.uint64)
    seen = np.zeros(_ATTRIBUTES, np.uint64)
    depth = 0
    while at < n:
        # ``at`` is at a "<".
        at += 1
        if at + 2 >= n:
            return -1
        c = data[at]
        if c == b.BANG:
            at = comment_end(data, at)
            if at < 0:
                return -1
        elif c == b.QUESTION:
            at = instruction_end(data, at)
            if at < 0:
                return -1
        elif c == b.SLASH:
            name, at = _name(data, at + 1, prefixes)
            while at < n and at >= 0 and BLANK[data[at]]:
                at += 1
            depth -= 1
            if at >= n or at < 0 or data[at] != b.GT or depth < 0 or stack[depth] != name:
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
                if c == b.GT:
                    if depth >= _DEPTH:
                        return -1
                    stack[depth] = name
                    depth += 1
                    at += 1
                    break
                if c == b.SLASH:
                    if data[at + 1] != b.GT:
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


@compiled(plain=PLAIN, boundscheck=True, nogil=True)
def next_start(data: Bytes, at: int, names: np.ndarray) -> int:
    """Return the start of the first element at or after ``at`` whose name is in ``names``; -1 if none, or in case of doubt.

    ``names``: hashes, uint64; an empty array accepts every name.
    """
    n = len(data)
    nothing = np.zeros(0, np.uint64)
    while at + 2 < n:
        if data[at] != b.LT:
            at += 1
        elif data[at + 1] == b.BANG:
            at = comment_end(data, at + 1)
        elif data[at + 1] == b.QUESTION:
            at = instruction_end(data, at + 1)
        else:
            if data[at + 1] != b.SLASH:
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


@kernel
def _passed(data: Bytes, at: int) -> int:
    """Return the end of the tag that contains ``at``; -1 if the tag contains a "<" or does not end."""
    n, quote = len(data), 0
    while at < n:
        c = data[at]
        if c == b.LT:
            return -1
        if quote:
            quote = 0 if c == quote else quote
        elif c in (b.QUOTE, b.APOSTROPHE):
            quote = c
        elif c == b.GT:
            return at + 1
        at += 1
    return -1


@kernel
def _name(data: Bytes, at: int, prefixes: np.ndarray) -> tuple[np.uint64, int]:
    """Return the hash and the end of the name at ``at``; the end is -1 if there is no name or its prefix is unknown.

    The hash covers the prefix.
    """
    n, value = len(data), _OFFSET
    begin, prefixed = at, False
    while at < n:
        c = data[at]
        kind = NAME[c]
        if kind == 0:
            if c != b.COLON or prefixed or at == begin:
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


@kernel
def _attribute(data: Bytes, at: int, prefixes: np.ndarray) -> tuple[np.uint64, int]:
    """Return the hash of the attribute name at ``at`` and the end of the attribute; the end is -1 in case of doubt."""
    n = len(data)
    name, at = _name(data, at, prefixes)
    if at < 0 or name == _XMLNS:
        return name, -1
    while at < n and BLANK[data[at]]:
        at += 1
    if at >= n or data[at] != b.EQUALS:
        return name, -1
    at += 1
    while at < n and BLANK[data[at]]:
        at += 1
    if at >= n or (data[at] != b.QUOTE and data[at] != b.APOSTROPHE):
        return name, -1
    quote = data[at]
    at += 1
    while at < n and data[at] != quote:
        c = data[at]
        if c == b.LT:
            return name, -1
        if SPECIAL[c] and c != b.CLOSE_SQUARE:
            if c != b.AMPERSAND:
                return name, -1
            at = reference_end(data, at)
            if at < 0:
                return name, -1
        else:
            at += 1
    return name, at + 1 if at < n else -1
