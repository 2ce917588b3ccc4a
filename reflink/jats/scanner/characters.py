"""Decode the characters of XML text and write text as one line."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from reflink.jats.scanner import bytecodes as b
from reflink.jats.scanner.bytecodes import is_digit, lower, word
from reflink.jats.scanner.compiling import inlined, kernel

#: Text in UTF-8, or a buffer for it.
Bytes = npt.NDArray[np.uint8]
#: Tables and spans.
Integers = npt.NDArray[np.int64]

REPLACEMENT: Final = 0xFFFD
_LEFT_QUOTE, _RIGHT_QUOTE, _EN_DASH, _EM_DASH = map(ord, "“”–—")
_SMALL_C, _SMALL_D, _SMALL_M, _SMALL_P, _SMALL_X = b"cdmpx"
#: Predefined entities, and the character of each.
_ENTITIES: Final = tuple(
    (word(name), character) for name, character in zip((b"amp", b"lt", b"gt", b"quot", b"apos"), b"&<>\"'", strict=True)
)
# Words that announce an identifier or address, by length and last letter.
_WWW, _NIH, _HTTP, _PMID, _PUBM, _ARXI = map(word, (b"www.", b"nih.", b"http", b"pmid", b"pubm", b"arxi"))
_DOI, _FTP, _PMC, _PM = map(word, (b"10.", b"ftp", b"pmc", b"pm-"))
_STOP: Final = word(b" .")


@inlined
def _is_space(c: int) -> bool:
    """Return whether Python's str.split() treats the character as white space."""
    if c <= 32:
        return c == 32 or 9 <= c <= 13 or 28 <= c <= 31
    if c < 0x1680:
        return c == 0x85 or c == 0xA0
    return (
        c == 0x1680 or 0x2000 <= c <= 0x200A or c == 0x2028 or c == 0x2029 or c == 0x202F or c == 0x205F or c == 0x3000
    )  # fmt: skip


@kernel
def _joins(c: int) -> bool:
    """Return whether no space stands beside the character at a separating tag: / - – —"""
    return c in (b.SLASH, b.HYPHEN, _EN_DASH, _EM_DASH)


@kernel
def _opens(c: int) -> bool:
    """Return whether no space follows the character at a separating tag: ( [ { “ / - – —"""
    return c == b.OPEN_ROUND or c == b.OPEN_SQUARE or c == b.OPEN_BRACE or c == _LEFT_QUOTE or _joins(c)


@kernel
def _closes(c: int) -> bool:
    """Return whether no space precedes the character at a separating tag: , . ; : ) ] } ” / ( - – —"""
    return (
        c == b.COMMA or c == b.FULL_STOP or c == b.SEMICOLON or c == b.COLON or c == b.CLOSE_ROUND or c == b.CLOSE_SQUARE
        or c == b.CLOSE_BRACE or c == _RIGHT_QUOTE or c == b.OPEN_ROUND or _joins(c)
    )  # fmt: skip


@kernel
def _allowed(c: int) -> bool:
    """Return whether XML allows this character."""
    return (c >= 32 and not (0xD800 <= c < 0xE000 or c in (0xFFFE, 0xFFFF) or c > 0x10FFFF)) or c in (9, 10, 13)


@inlined
def digit_value(c: int) -> int:
    """Return the value of a hexadecimal digit; a negative number, or 16 or more, for any other byte."""
    return c - b.ZERO if c <= b.NINE else (c & ~b.LOWER) - b.UPPER_A + 10 if c & ~b.LOWER >= b.UPPER_A else -1


@kernel
def reference(data: Bytes, at: int, stop: int) -> tuple[int, int]:
    """Return the character of the reference at ``at`` and the end of the reference.

    An ampersand that does not begin a known reference is the character itself. A reference to a forbidden character is U+FFFD.
    """
    if at + 1 < stop and data[at + 1] == b.HASH:
        value, i, base = 0, at + 2, 10
        if i < stop and data[i] == _SMALL_X:
            base, i = 16, i + 1
        while i < stop and data[i] != b.SEMICOLON:
            digit = digit_value(int(data[i]))
            if digit < 0 or digit >= base:
                return b.AMPERSAND, at + 1
            value = min(value * base + digit, 0x110000)
            i += 1
        if i >= stop:
            return b.AMPERSAND, at + 1
        return (value if _allowed(value) else REPLACEMENT), i + 1
    name, end = 0, at + 1
    while end < stop and end - at < 6 and data[end] != b.SEMICOLON:
        name = (name << 8) | int(data[end])
        end += 1
    if end < stop and data[end] == b.SEMICOLON:
        for known, character in _ENTITIES:
            if name == known:
                return character, end + 1
    return b.AMPERSAND, at + 1


@inlined
def _announces(recent: int, c: int) -> bool:
    """Return whether the last four characters, in lower case, may begin an identifier or address; ``c`` is the last of them."""
    four, three = recent & 0xFFFFFFFF, recent & 0xFFFFFF
    small = c | b.LOWER
    if c == b.FULL_STOP:
        return three == _DOI or (recent & 0xFFFF) == _STOP or four in (_WWW, _NIH)
    if small == _SMALL_P:
        return four == _HTTP or three == _FTP
    if small == _SMALL_C or c == b.HYPHEN:
        return three in (_PMC, _PM)
    if small in (_SMALL_D, _SMALL_M):
        return four in (_PMID, _PUBM)
    return four == _ARXI


@kernel
def write(data: Bytes, at: int, stop: int, verbatim: bool, out: Bytes, text: Any) -> None:
    """Append ``data[at:stop]`` to ``out``, the buffer of ``text`` (`reflink.jats.scanner.state.TEXT`); collapse white space.

    ``verbatim``: the bytes are from CDATA, where an ampersand does not begin a reference.
    """
    written, recent, hints = text.written, text.recent, text.hints
    gap, apart, last, strict, first = text.gap, text.apart, text.last, text.strict, text.filled == 0
    while at < stop:
        c: Any = np.int64(data[at])
        if c < 0x80:
            begin, at = at, at + 1
            if c == b.AMPERSAND and not verbatim:
                c, at = reference(data, begin, stop)
        elif c < 0xE0:
            c = ((c & 31) << 6) | (data[at + 1] & 63)
            at += 2
        elif c < 0xF0:
            c = ((c & 15) << 12) | (np.int64(data[at + 1] & 63) << 6) | (data[at + 2] & 63)
            at += 3
        else:
            c = ((c & 7) << 18) | (np.int64(data[at + 1] & 63) << 12) | (np.int64(data[at + 2] & 63) << 6) | (data[at + 3] & 63)
            at += 4
        if _is_space(c):
            gap = 1
            continue
        if gap or apart:
            if not first and (gap or strict or not (_opens(last) or _closes(c))):
                out[written] = b.SPACE
                written += 1
                recent = (recent << 8) | b.SPACE
            gap = apart = 0
        if c < 0x80:
            out[written] = c
            written += 1
            recent = (recent << 8) | lower(c)
            hints |= _announces(recent, c)
        elif c < 0x800:
            out[written], out[written + 1] = 0xC0 | (c >> 6), 0x80 | (c & 63)
            written += 2
        elif c < 0x10000:
            out[written], out[written + 1], out[written + 2] = 0xE0 | (c >> 12), 0x80 | ((c >> 6) & 63), 0x80 | (c & 63)
            written += 3
        else:
            out[written], out[written + 1] = 0xF0 | (c >> 18), 0x80 | ((c >> 12) & 63)
            out[written + 2], out[written + 3] = 0x80 | ((c >> 6) & 63), 0x80 | (c & 63)
            written += 4
        last = c
        first = False
    text.written, text.recent, text.hints = written, recent & 0xFFFFFFFF, hints
    text.gap, text.apart, text.last, text.filled = gap, apart, last, not first


@kernel
def year_in(out: Bytes, start: int, stop: int) -> int:
    """Return the first number of exactly four digits from 1500 to 2099 in ``out[start:stop]``; 0 if there is none."""
    run = value = 0
    for at in range(start, stop + 1):
        if at < stop and is_digit(out[at]):
            run += 1
            value = value * 10 + int(out[at]) - b.ZERO if run <= 4 else 0
        else:
            if run == 4 and 1500 <= value < 2100:
                return value
            run = value = 0
    return 0
