"""Divide a volume or a range of pages, tagged as one string, into the labels N, I, F and E."""

from __future__ import annotations

import re
from typing import Final

from reflink.recognition import labels as tag
from reflink.recognition.tokens import Tokens

_NUMBER: Final = re.compile(r"\d+|[IVXLC]+")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_ROMAN: Final = re.compile(r"[ivxlc]+|[IVXLC]+")
_ISSUE: Final = frozenset("no nr n № nº issue iss number num heft h fasc nos numéro numero número".split())
_VOLUME: Final = frozenset("vol vols volume volumes v bd band t tome tomo jg jahrgang vol".split())
_OTHER: Final = frozenset("part pt series ser chapter chap teil".split())
_PAGE: Final = frozenset("p pp page pages pag pgs s seiten seite".split())
_SIZE: Final = frozenset("p pp pages pgs s seiten".split())
_RANGE: Final = frozenset("-‐‑‒–—−~～")


def divide_volume(tokens: Tokens, start: int, stop: int) -> list[int]:
    """Return a label (N, I, Y or O) for each token of a volume: "79(2):", "Vol. 3, no. 4", "n°54", "2012;30(15)"."""
    words, starts, ends = tokens
    found = [tag.O] * (stop - start)
    if (after := _after_year(words, start, stop)) is not None:
        found[0] = tag.Y
        found[after - start :] = divide_volume(tokens, after, stop)
        return found
    label, seen = tag.N, set[int]()
    if _ISSUE & {word.lower() for word in words[max(0, start - 2) : start]}:  # ", no. " is outside the field
        label = tag.I
    at = start
    while at < stop:
        word = words[at].lower()
        if word in _VOLUME and not _glued_number(tokens, at, stop):
            label = tag.N
        elif word in _ISSUE and not _glued_number(tokens, at, stop):
            label = tag.I
        elif word in _OTHER:
            label = tag.O
        elif _NUMBER.fullmatch(words[at]) or _glued_number(tokens, at, stop):
            end = at + 1 + _glued_number(tokens, at, stop)
            while end < stop and ((ends[end - 1] == starts[end] and words[end].isalnum()) or _continues(tokens, end, stop)):
                end += 1
            if label not in seen:
                found[at - start : end - start] = [label] * (end - at)
                seen.add(label)
            label = tag.I
            at = end
            continue
        at += 1
    return found


def _after_year(words: list[str], start: int, stop: int) -> int | None:
    """Return where the volume follows the year that a field begins with: "2012;30(15)", "2011 44(4)"."""
    after = start + 2 if words[start + 1 : start + 2] == [";"] else start + 1
    known = _YEAR.fullmatch(words[start]) and after < stop and _NUMBER.fullmatch(words[after])
    return after if known else None


def _glued_number(tokens: Tokens, at: int, stop: int) -> bool:
    """Return whether one or two capitals touch a number: "A757", "B 39"."""
    word = tokens.words[at]
    return (
        at + 1 < stop and len(word) <= 2 and word.isupper() and tokens.words[at + 1].isdigit()
        and tokens.starts[at + 1] - tokens.ends[at] <= 1 and word not in ("V", "N", "T")
    )  # fmt: skip


def _continues(tokens: Tokens, at: int, stop: int) -> bool:
    """Return whether a dash or slash between two numbers, or the number after it, is here: "12-13"."""
    words = tokens.words
    if words[at] in _RANGE or words[at] == "/":
        return at + 1 < stop and words[at + 1].isalnum()
    return words[at].isalnum() and (words[at - 1] in _RANGE or words[at - 1] == "/")


def divide_pages(tokens: Tokens, start: int, stop: int) -> list[int]:
    """Return a label (F, E or O) for each token of pages: "pp. 12–19", "S12", "e1000097". A book's size is O: "321 p."."""
    words, starts, ends = tokens
    found = [tag.O] * (stop - start)
    at = start
    announced = False
    while at < stop and not _starts_page(tokens, at, stop):
        announced = announced or words[at].lower() in _PAGE
        at += 1
    if at == stop:
        return found
    first = at
    at += 1
    while at < stop and ends[at - 1] == starts[at] and (words[at].isalnum() or (words[at] in "._" and words[at + 1 : stop])):
        at += 1
    last = at
    while at < stop and words[at] in _RANGE:
        at += 1
    if last < at < stop and words[at].isalnum():
        end = at + 1
        while end < stop and ends[end - 1] == starts[end] and words[end].isalnum():
            end += 1
        found[at - start : end - start] = [tag.E] * (end - at)
    elif (not announced and last < stop and words[last].lower() in _SIZE) or _ROMAN.fullmatch(words[first]):
        return found
    found[first - start : last - start] = [tag.F] * (last - first)
    return found


def _starts_page(tokens: Tokens, at: int, stop: int) -> bool:
    word = tokens.words[at]
    if word.isdigit():
        return True
    touches = at + 1 < stop and tokens.ends[at] == tokens.starts[at + 1] and tokens.words[at + 1].isdigit()
    if word.isalpha() and touches:
        return True
    return bool(_ROMAN.fullmatch(word)) and at + 1 < stop and tokens.words[at + 1] in _RANGE
