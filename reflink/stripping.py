"""Remove identifiers from texts, together with the labels that announce them."""

from __future__ import annotations

import re
from typing import Final

from reflink.identifiers import first_of_each, occurrences, promising

_URL: Final = re.compile(r"(?i)(?:\b(?:https?|ftp)\s?://|\bwww\.(?=[a-z\d]))[^\s<>\"]*")
#: Placeholder of an identifier that was already removed; `strip` removes it with the label before it.
REMOVED: Final = "\x01"
# Labels that announce an identifier and have no meaning without it.
_ANNOUNCED: Final = re.compile(
    r"(?i)(?:(?:\bhttps?\s?://\s?)?\b(?:(?:dx\.)?doi\.org/"
    r"|(?:digital object identifier|doi|pub ?med(?: central)?|pm-?c?id|medline|arxiv|pii)\b)[\s:=.]*)+$"
)
_LABELS: Final = tuple("doi doi.org/ identifier pubmed central pmid pm-id pmcid pm-cid medline arxiv pii".split())
_REMOVED: Final = re.compile(REMOVED)
#: Upper bound of the length of a label, in characters.
_BEFORE: Final = 80
_EMPTY_BRACKETS: Final = re.compile(r"\(\s*\)|\[\s*\]|\{\s*\}|<\s*>")
#: Characters after the last identifier that are removed with it.
_NOTHING: Final = f" {REMOVED}"
_MARKS: Final = frozenset(",.;:")
_MARKS_OR_SPACE: Final = frozenset(",.;: ")
_OPENING: Final = ("(", "[", "{", "<")
_LOOSE: Final = tuple((f" {mark}", mark) for mark in ",.;:)]")
_ENDS: Final = tuple(",.;:")
_DANGLING: Final = re.compile(r"(?:\s+|(?<=[.;:,]))[.;:,]+$")


def strip(text: str) -> str:
    """Remove identifiers, their labels and web addresses, and collapse white space. `extract` finds nothing in the result."""
    text = " ".join(text.split())
    while True:
        spans = [match.span() for match in _REMOVED.finditer(text)] if REMOVED in text else []
        if promising(text):
            spans += [(start, end) for _, start, end, _ in occurrences(text)]
            spans += [match.span() for match in _URL.finditer(text)]
            spans.sort()
        if not spans:
            return text
        text = _without(text, spans)


def separate(text: str, *, plain: bool = False) -> tuple[dict[str, str], str]:
    """Return the identifiers that `reflink.identifiers.extract` finds, by kind, and the result of `strip`, in one pass.

    ``text`` must have collapsed white space and none before a comma or similar punctuation. ``plain``: ``text`` is known to
    contain no identifier and no address, but may contain placeholders (`REMOVED`).
    """
    if not plain and promising(text):
        found = list(occurrences(text))
        spans = [(start, end) for _, start, end, _ in found]
        spans += [match.span() for match in _URL.finditer(text)]
        spans += [match.span() for match in _REMOVED.finditer(text)]
        spans.sort()
        return first_of_each(found), strip(_without(text, spans)) if spans else text
    first = text.find(REMOVED)
    if first < 0:
        return {}, text
    head = text[:first].rstrip()
    if not text[first:].strip(_NOTHING) and not _needs_care(head[-_BEFORE:]):
        return {}, head
    # A label stands directly before its identifier, so the beginning of a long text need not be searched again.
    start = text.rfind(" ", 0, max(first - _BEFORE, 0)) + 1
    rest = _without(text[start:], [match.span() for match in _REMOVED.finditer(text, start)], start)
    text = text[:start] + rest if rest else text[:start].rstrip()
    return {}, strip(text) if promising(rest) else text


def _needs_care(end: str) -> bool:
    """Whether a text with this end needs more cleaning once cut: it ends in a label, an open bracket or a lone full stop."""
    return (
        not any(map(str.isalnum, end)) or end.endswith(_OPENING) or (end[-1] in _MARKS and end[-2:-1] in _MARKS_OR_SPACE)
        or end.rstrip(" :=.").lower().endswith(_LABELS)
    )  # fmt: skip


def _without(text: str, spans: list[tuple[int, int]], origin: int = 0) -> str:
    """Remove spans, and the labels before them, from ``text``. Spans are in order, may overlap and count from ``origin``."""
    parts: list[str] = []
    last = 0
    emptied = False
    for begin, stop in spans:
        start, end = begin - origin, stop - origin
        if start > last or not parts:
            part = _unannounced(text[last:start])
            emptied = emptied or part.rstrip().endswith(_OPENING)
            parts.append(part)
        last = max(last, end)
    parts.append(text[last:])
    text = " ".join(parts)
    return _tidy(_unbracketed(text) if emptied else text)


def _unbracketed(text: str) -> str:
    """Remove empty brackets from ``text``."""
    while (emptied := _EMPTY_BRACKETS.sub(" ", text)) != text:
        text = emptied
    return text


def _unannounced(text: str) -> str:
    """Remove the label at the end of ``text``."""
    if text.rstrip(" :=.").lower().endswith(_LABELS) and (found := _ANNOUNCED.search(text)):
        return text[: found.start()]
    return text


def _tidy(text: str) -> str:
    """Remove the remains of a removal: a space before a comma, a lone full stop."""
    text = " ".join(text.split())
    for loose, close in _LOOSE:
        if loose in text:
            text = text.replace(loose, close)
    if text.endswith(_ENDS):
        text = _DANGLING.sub("", text)
    return text if any(map(str.isalnum, text)) else ""
