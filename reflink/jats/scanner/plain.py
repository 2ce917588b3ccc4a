"""Recognise tagged identifiers in canonical spelling, and citations that only have identifiers at their end.

Nearly all citations with identifiers are of this kind. `reflink.identifiers` handles all others and every case of doubt.

Invariant: a result of this module equals the result of `reflink.identifiers` and `reflink.stripping`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from reflink.jats.scanner import bytecodes as b
from reflink.jats.scanner import vocabulary as v
from reflink.jats.scanner.bytecodes import is_digit, lower, word
from reflink.jats.scanner.characters import Bytes
from reflink.jats.scanner.compiling import kernel
from reflink.jats.scanner.layout import Records

#: Longest DOI that this module recognises, in bytes.
_LONGEST: Final = 256
#: Ends of texts that announce an identifier, or open a bracket around it, and must be removed with it.
_ANNOUNCEMENTS: Final = (
    "doi", "/", "identifier", "pubmed", "central", "pmid", "pm-id", "pmcid", "pm-cid", "medline", "arxiv", "pii",
    "(", "[", "{", "<",
)  # fmt: skip
_WORDS: Final = np.frombuffer("".join(_ANNOUNCEMENTS).encode(), np.uint8)
_AT: Final = np.cumsum([0, *map(len, _ANNOUNCEMENTS)])
_MANY: Final = len(_ANNOUNCEMENTS)
_SMALL_H, _SMALL_P, _SMALL_S, _SMALL_T = b"hpst"
_TILDE: Final = ord("~")
_CAPITAL_C, _CAPITAL_M, _CAPITAL_P = b"CMP"
#: Punctuation that stands at the end of a text or before a comma.
_PUNCTUATION: Final = tuple(b",.;:")
#: Marks between the letters and digits of a DOI in canonical spelling.
_DOI_MARKS: Final = tuple(b"()-./_")
# The last letters of the beginnings of identifiers.
_DOI_START, _PM = word(b"10."), word(b"pm")
_ARXI, _NIH, _PUBM = map(word, (b"arxi", b"nih.", b"pubm"))
# Beginnings of words and addresses that may follow a DOI without a space.
_PMID, _EPUB, _HTTP, _AVAI, _ACCE = map(word, (b"pmid", b"epub", b"http", b"avai", b"acce"))
_PMC, _WWW = word(b"pmc"), word(b"www")
_ONE: Final = ord("1")
_DOI_LABEL, _PMID_LABEL = word(b" doi"), word(b" pmid")


@kernel
def plain_kind(out: Bytes, start: int, stop: int, declared: int, data: Bytes, href: int, href_stop: int) -> int:
    """Return the kind of which ``out[start:stop]`` is an identifier in canonical spelling, case ignored; 0 in any other case.

    A link without a declared type counts if its address, ``data[href:href_stop]``, ends in a slash and the same DOI. The kind
    MEDLINE stands for an element without an identifier that reflink uses.
    """
    if declared == v.MEDLINE or (declared == 0 and _is_address(out, start, stop, data, href, href_stop)):
        return v.MEDLINE  # the element holds no identifier that reflink uses, and no other text
    if declared == 0 and stop - start < href_stop - href and _is_plain_doi(out, start, stop):
        shift = href_stop - stop
        for i in range(start, stop):
            if out[i] != data[i + shift]:
                return 0
        return v.DOI if data[start + shift - 1] == b.SLASH else 0
    return declared if _is_plain(out, start, stop, declared) else 0


@kernel
def _is_address(out: Bytes, start: int, stop: int, data: Bytes, href: int, href_stop: int) -> bool:
    """Return whether the text of a link is empty or equals its address, and the address cannot contain an identifier."""
    if href_stop - href < 8 or (stop > start and stop - start != href_stop - href):
        return False
    if data[href] != _SMALL_H or data[href + 1] != _SMALL_T or data[href + 2] != _SMALL_T or data[href + 3] != _SMALL_P:
        return False
    at = href + 4 + (data[href + 4] == _SMALL_S)  # https
    if data[at] != b.COLON or data[at + 1] != b.SLASH or data[at + 2] != b.SLASH:
        return False
    recent = 0
    for i in range(href, href_stop):
        c = int(data[i])
        if c <= b.SPACE or c > _TILDE or c in (b.AMPERSAND, b.QUOTE, b.APOSTROPHE, b.LT, b.GT):
            return False
        if stop > start and out[start + i - href] != c:
            return False
        recent = ((recent << 8) | lower(c)) & 0xFFFFFFFF
        if recent & 0xFFFFFF == _DOI_START or recent & 0xFFFF == _PM or recent in (_ARXI, _NIH, _PUBM):
            return False
    return True


@kernel
def _is_plain(out: Bytes, start: int, stop: int, declared: int) -> bool:
    if declared == v.PMID:
        return 1 <= stop - start <= 8 and out[start] != b.ZERO and _digits(out, start, stop) == stop
    if declared == v.PMCID:
        prefixed = (
            stop - start > 3 and out[start] == _CAPITAL_P and out[start + 1] == _CAPITAL_M and out[start + 2] == _CAPITAL_C
        )
        return prefixed and stop - start <= 12 and out[start + 3] != b.ZERO and _digits(out, start + 3, stop) == stop
    return declared == v.DOI and _is_plain_doi(out, start, stop)


@kernel
def _digits(out: Bytes, at: int, stop: int) -> int:
    """Return the end of the digits that begin at ``at``."""
    while at < stop and is_digit(out[at]):
        at += 1
    return at


@kernel
def _is_plain_doi(out: Bytes, start: int, stop: int) -> bool:
    """Return whether the text is a DOI of ``10.`` digits, slash, and ASCII letters and digits with single marks between them.

    `reflink.identifiers` leaves such a DOI as it is, but for case.
    """
    if not (8 < stop - start <= _LONGEST and out[start] == _ONE and out[start + 1] == b.ZERO and out[start + 2] == b.FULL_STOP):
        return False
    at = _digits(out, start + 3, stop)
    if not 4 <= at - start - 3 <= 9 or at + 1 >= stop or out[at] != b.SLASH:
        return False
    recent = 0
    marked = False
    for i in range(at + 1, stop):
        c = lower(int(out[i]))
        if b.LOWER_A <= c <= b.LOWER_Z or is_digit(c):
            marked = False
        elif not marked and c in _DOI_MARKS:
            marked = True
        else:
            return False
        recent = ((recent << 8) | c) & 0xFFFFFFFF
        if recent in (_PUBM, _PMID, _EPUB, _HTTP, _AVAI, _ACCE) or recent & 0xFFFFFF in (_PMC, _WWW):
            return False
    return not marked


@kernel
def text_before(out: Bytes, start: int, stop: int, items: Records) -> int:
    """Return the end of the text that remains when the identifiers at the end of ``out[start:stop]`` are cut off.

    -1: other text follows an identifier, or the remaining text needs more than a cut.
    """
    head, at = -1, start
    for item in items:
        begin, end = item.start, item.stop
        if not (v.PUB_ID <= item.code <= v.SELF_URI) or end <= begin:
            continue
        if head < 0:
            head = begin
        else:
            for j in range(at, begin):
                if out[j] != b.SPACE:
                    return -1
        at = max(at, end)
    for j in range(at, stop):
        if out[j] != b.SPACE:
            return -1
    while head > start and out[head - 1] == b.SPACE:
        head -= 1
    head = _unannounced(out, start, head)
    return head if head > start and not _needs_care(out, start, head) else -1


@kernel
def _unannounced(out: Bytes, start: int, stop: int) -> int:
    """Return the end of the text without a final " doi:" or " pmid:"; the colon is optional."""
    at = stop - 1 if stop > start and out[stop - 1] == b.COLON else stop
    recent = 0
    for i in range(max(start + 1, at - 5), at):
        recent = (recent << 8) | lower(int(out[i]))
    if recent & 0xFFFFFFFF == _DOI_LABEL:
        return at - 4
    return at - 5 if recent == _PMID_LABEL else stop


@kernel
def _needs_care(out: Bytes, start: int, stop: int) -> bool:
    """Return whether the end of the text, once cut, needs more cleaning: a label, an open bracket or a lone full stop."""
    last = out[stop - 1]
    if last in _PUNCTUATION and (stop - start < 2 or out[stop - 2] in _PUNCTUATION or out[stop - 2] == b.SPACE):
        return True
    if last < b.ZERO and last != b.FULL_STOP and last != b.CLOSE_ROUND:  # rare endings
        return True
    while stop > start and out[stop - 1] in (b.SPACE, b.COLON, b.EQUALS, b.FULL_STOP):
        stop -= 1
    if stop == start:
        return True
    last = out[stop - 1]
    if not (last >= b.LOWER_A or b.UPPER_A <= last <= b.UPPER_Z or is_digit(last) or last == b.CLOSE_ROUND):
        return True
    for which in range(_MANY):
        length = _AT[which + 1] - _AT[which]
        if stop - start >= length:
            same = True
            for i in range(length):
                if out[stop - length + i] | b.LOWER != _WORDS[_AT[which] + i] | b.LOWER:
                    same = False
                    break
            if same:
                return True
    return False
