"""Identifiers that are tagged and written as they should be, and texts that simply end before them.

These are nearly all. The rest, and every doubt, is left to `reflink.identifiers`; what is settled here it would settle alike.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from reflink.jats.scanner import vocabulary as v
from reflink.jats.scanner.characters import Bytes, Integers

#: Longest DOI settled here, in bytes.
_LONGEST: Final = 256
#: Ends of texts that announce an identifier or a bracket around it, and must go with it.
_ANNOUNCEMENTS: Final = (
    "doi", "/", "identifier", "pubmed", "central", "pmid", "pm-id", "pmcid", "pm-cid", "medline", "arxiv", "pii",
    "(", "[", "{", "<",
)  # fmt: skip
_WORDS: Final = np.frombuffer("".join(_ANNOUNCEMENTS).encode(), np.uint8)
_AT: Final = np.cumsum([0, *map(len, _ANNOUNCEMENTS)])
_MANY: Final = len(_ANNOUNCEMENTS)
_SPACE, _FULL_STOP, _SLASH, _COLON = 32, 46, 47, 58


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def plain_kind(out: Bytes, start: int, stop: int, declared: int, data: Bytes, href: int, href_stop: int) -> int:
    """What ``out[start:stop]`` is an identifier of in its one spelling, case apart; 0 when it is not.

    A link of no declared type counts when its address, ``data[href:href_stop]``, ends in the same DOI.
    """
    if declared == v.MEDLINE or (declared == 0 and _is_address(out, start, stop, data, href, href_stop)):
        return v.MEDLINE  # no identifier of ours, and nothing else either
    if declared == 0 and stop - start < href_stop - href and _is_plain_doi(out, start, stop):
        shift = href_stop - stop
        for i in range(start, stop):
            if out[i] != data[i + shift]:
                return 0
        return v.DOI if data[start + shift - 1] == _SLASH else 0
    return declared if _is_plain(out, start, stop, declared) else 0


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _is_address(out: Bytes, start: int, stop: int, data: Bytes, href: int, href_stop: int) -> bool:
    """Whether a link is nothing but its address, printed or not, in which no identifier can be."""
    if href_stop - href < 8 or (stop > start and stop - start != href_stop - href):
        return False
    if data[href] != 104 or data[href + 1] != 116 or data[href + 2] != 116 or data[href + 3] != 112:  # http
        return False
    at = href + 4 + (data[href + 4] == 115)  # https
    if data[at] != _COLON or data[at + 1] != _SLASH or data[at + 2] != _SLASH:
        return False
    recent = 0
    for i in range(href, href_stop):
        c = int(data[i])
        if c <= 32 or c >= 127 or c in (38, 34, 39, 60, 62) or (stop > start and out[start + i - href] != c):
            return False
        recent = ((recent << 8) | (c + 32 if 65 <= c <= 90 else c)) & 0xFFFFFFFF
        # 10. pm arxi nih. pubm
        if recent & 0xFFFFFF == 0x31302E or recent & 0xFFFF == 0x706D or recent in (0x61727869, 0x6E69682E, 0x7075626D):
            return False
    return True


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _is_plain(out: Bytes, start: int, stop: int, declared: int) -> bool:
    if declared == v.PMID:
        return 1 <= stop - start <= 8 and out[start] != 48 and _digits(out, start, stop) == stop
    if declared == v.PMCID:
        prefixed = stop - start > 3 and out[start] == 80 and out[start + 1] == 77 and out[start + 2] == 67  # PMC
        return prefixed and stop - start <= 12 and out[start + 3] != 48 and _digits(out, start + 3, stop) == stop
    return declared == v.DOI and _is_plain_doi(out, start, stop)


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _digits(out: Bytes, at: int, stop: int) -> int:
    """Where the digits that begin at ``at`` end."""
    while at < stop and 48 <= out[at] <= 57:
        at += 1
    return at


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _is_plain_doi(out: Bytes, start: int, stop: int) -> bool:
    """As `reflink.identifiers` has it: ``10.`` digits, slash, letters and digits with single marks between them."""
    if not (8 < stop - start <= _LONGEST and out[start] == 49 and out[start + 1] == 48 and out[start + 2] == _FULL_STOP):
        return False
    at = _digits(out, start + 3, stop)
    if not 4 <= at - start - 3 <= 9 or at + 1 >= stop or out[at] != _SLASH:
        return False
    recent = 0
    marked = False
    for i in range(at + 1, stop):
        c = int(out[i])
        if 65 <= c <= 90:
            c += 32
        if 97 <= c <= 122 or 48 <= c <= 57:
            marked = False
        elif not marked and c in (40, 41, 45, 46, 47, 95):  # ( ) - . / _
            marked = True
        else:
            return False
        recent = ((recent << 8) | c) & 0xFFFFFFFF
        # pubm, pmid, epub, http, avai, acce; pmc, www: a name or an address may be glued to it
        if recent in (0x7075626D, 0x706D6964, 0x65707562, 0x68747470, 0x61766169, 0x61636365):
            return False
        if recent & 0xFFFFFF in (0x706D63, 0x777777):
            return False
    return not marked


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def text_before(out: Bytes, start: int, stop: int, items: Integers, n_items: int) -> int:
    """Where the text ends when the identifiers, which stand at the end of ``out[start:stop]``, are cut off.

    -1: something else stands behind one of them, or what is left needs care.
    """
    head, at = -1, start
    for i in range(n_items):
        begin, end = items[i, 1], items[i, 2]
        if not (v.PUB_ID <= items[i, 0] <= v.SELF_URI) or end <= begin:
            continue
        if head < 0:
            head = begin
        else:
            for j in range(at, begin):
                if out[j] != _SPACE:
                    return -1
        at = max(at, end)
    for j in range(at, stop):
        if out[j] != _SPACE:
            return -1
    while head > start and out[head - 1] == _SPACE:
        head -= 1
    head = _unannounced(out, start, head)
    return head if head > start and not _needs_care(out, start, head) else -1


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _unannounced(out: Bytes, start: int, stop: int) -> int:
    """Where the text ends without " doi:" or " pmid:" at its end."""
    at = stop - 1 if stop > start and out[stop - 1] == _COLON else stop
    if (
        at - start > 4
        and out[at - 4] == _SPACE
        and out[at - 3] | 32 == 100
        and out[at - 2] | 32 == 111
        and out[at - 1] | 32 == 105
    ):
        return at - 4
    if (
        at - start > 5 and out[at - 5] == _SPACE and out[at - 4] | 32 == 112 and out[at - 3] | 32 == 109
        and out[at - 2] | 32 == 105 and out[at - 1] | 32 == 100
    ):  # fmt: skip
        return at - 5
    return stop


@njit(boundscheck=True, nogil=True)  # type: ignore[untyped-decorator]
def _needs_care(out: Bytes, start: int, stop: int) -> bool:
    """Whether a text that ends so needs more than to be cut there: an announcement, a bracket or a lone full stop."""
    last = out[stop - 1]
    if last in (44, 46, 59, 58) and (stop - start < 2 or out[stop - 2] in (44, 46, 59, 58, 32)):
        return True
    if last < 48 and last != 46 and last != 41:  # rare endings
        return True
    while stop > start and out[stop - 1] in (_SPACE, _COLON, 61, _FULL_STOP):
        stop -= 1
    if stop == start or not (
        out[stop - 1] >= 97 or 65 <= out[stop - 1] <= 90 or 48 <= out[stop - 1] <= 57 or out[stop - 1] == 41
    ):
        return True
    for which in range(_MANY):
        length = _AT[which + 1] - _AT[which]
        if stop - start >= length:
            same = True
            for i in range(length):
                if out[stop - length + i] | 32 != _WORDS[_AT[which] + i] | 32:
                    same = False
                    break
            if same:
                return True
    return False
