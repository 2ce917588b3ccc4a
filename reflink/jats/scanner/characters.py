"""Characters of XML text: white space, references, and writing text as one line."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

#: Text in UTF-8, or room for it.
Bytes = npt.NDArray[np.uint8]
#: Tables and state.
Integers = npt.NDArray[np.int64]

# Columns of the state of the text being written: bytes written, white space or a separating tag since the last character, that
# character, whether there is any, whether separating tags always are a space, whether there may be identifiers, and the last
# four characters in lower case.
WRITTEN, GAP, APART, LAST, ANY, STRICT, HINTS, RECENT = range(8)
STATE = 8

LT, GT, AMPERSAND, SPACE, QUOTE, APOSTROPHE = 60, 62, 38, 32, 34, 39


@njit(boundscheck=True, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _is_space(c: int) -> bool:
    """White space as Python's str.split() knows it."""
    if c <= 32:
        return c == 32 or 9 <= c <= 13 or 28 <= c <= 31
    if c < 0x1680:
        return c == 0x85 or c == 0xA0
    return (
        c == 0x1680 or 0x2000 <= c <= 0x200A or c == 0x2028 or c == 0x2029 or c == 0x202F or c == 0x205F or c == 0x3000
    )  # fmt: skip


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _opens(c: int) -> bool:
    """What the following text stands close to: ( [ { “ / - – —"""
    return c == 40 or c == 91 or c == 123 or c == 0x201C or c == 47 or c == 45 or c == 0x2013 or c == 0x2014


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _closes(c: int) -> bool:
    """What stands close to the text before: , . ; : ) ] } ” / ( - – —"""
    return (
        c == 44 or c == 46 or c == 59 or c == 58 or c == 41 or c == 93 or c == 125 or c == 0x201D or c == 47 or c == 40
        or c == 45 or c == 0x2013 or c == 0x2014
    )  # fmt: skip


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _allowed(c: int) -> bool:
    """Whether XML may hold this character."""
    return (c >= 32 and not (0xD800 <= c < 0xE000 or c in (0xFFFE, 0xFFFF) or c > 0x10FFFF)) or c in (9, 10, 13)


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _reference(data: Bytes, at: int, stop: int) -> tuple[int, int]:
    """The character that the reference at the ampersand stands for, and where it ends; the ampersand when it is none."""
    if at + 1 < stop and data[at + 1] == 35:  # '#'
        value, i, base = 0, at + 2, 10
        if i < stop and data[i] == 120:  # 'x'
            base, i = 16, i + 1
        while i < stop and data[i] != 59:
            c = int(data[i])
            digit = c - 48 if c <= 57 else (c & 0xDF) - 55
            if digit < 0 or digit >= base:
                return AMPERSAND, at + 1
            value = min(value * base + digit, 0x110000)
            i += 1
        if i >= stop:
            return AMPERSAND, at + 1
        return (value if _allowed(value) else 0xFFFD), i + 1
    end = at + 1
    while end < stop and end - at < 6 and data[end] != 59:
        end += 1
    if end >= stop or data[end] != 59:
        return AMPERSAND, at + 1
    first, length = data[at + 1], end - at - 1
    if length == 3 and first == 97:  # amp
        return AMPERSAND, end + 1
    if length == 2 and first == 108:
        return LT, end + 1
    if length == 2 and first == 103:
        return GT, end + 1
    if length == 4 and first == 113:
        return QUOTE, end + 1
    if length == 4 and first == 97:  # apos
        return APOSTROPHE, end + 1
    return AMPERSAND, at + 1


@njit(boundscheck=True, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _hints(recent: int, c: int) -> bool:
    """Whether the last four characters, in lower case, may belong to an identifier or an address."""
    four, three = recent & 0xFFFFFFFF, recent & 0xFFFFFF
    if c == 46:
        return three == 0x31302E or (recent & 0xFFFF) == 0x202E or four == 0x7777772E or four == 0x6E69682E  # 10. www. nih.
    if c == 80 or c == 112:
        return four == 0x68747470 or three == 0x667470  # http ftp
    if c == 67 or c == 99 or c == 45:
        return three == 0x706D63 or three == 0x706D2D  # pmc pm-
    if c == 68 or c == 100 or c == 77 or c == 109:
        return four == 0x706D6964 or four == 0x7075626D  # pmid pubm
    return four == 0x61727869  # arxi


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def write(data: Bytes, at: int, stop: int, verbatim: bool, out: Bytes, state: Integers) -> None:
    """Appends the text ``data[at:stop]``; ``verbatim``: from CDATA, where an ampersand is nothing special."""
    written, recent, hints = state[WRITTEN], state[RECENT], state[HINTS]
    gap, apart, last, strict, first = state[GAP], state[APART], state[LAST], state[STRICT], state[ANY] == 0
    while at < stop:
        c = np.int64(data[at])
        if c < 0x80:
            begin, at = at, at + 1
            if c == AMPERSAND and not verbatim:
                c, at = _reference(data, begin, stop)
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
                out[written] = SPACE
                written += 1
                recent = (recent << 8) | SPACE
            gap = apart = 0
        if c < 0x80:
            out[written] = c
            written += 1
            recent = (recent << 8) | (c + 32 if 65 <= c <= 90 else c)
            hints |= _hints(recent, c)
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
    state[WRITTEN], state[RECENT], state[HINTS] = written, recent & 0xFFFFFFFF, hints
    state[GAP], state[APART], state[LAST], state[ANY] = gap, apart, last, not first


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def year_in(out: Bytes, start: int, stop: int) -> int:
    """The first year of publication in ``out[start:stop]``: four digits on their own, 1500 to 2099; 0 when there is none."""
    run = value = 0
    for at in range(start, stop + 1):
        digit = int(out[at]) - 48 if at < stop else -1
        if 0 <= digit <= 9:
            run += 1
            value = value * 10 + digit if run <= 4 else 0
        else:
            if run == 4 and 1500 <= value < 2100:
                return value
            run = value = 0
    return 0
