"""Marks of titles, which distinguish a work from its erratum, reply, data set or summary."""

from __future__ import annotations

import re
from typing import Final

#: Roman numerals up to XII, the highest of volumes and parts, as digits.
ROMAN: Final = {r: str(n) for n, r in enumerate(["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"], 1)}
#: Words that mark a title as that of a work about another work.
_MARKS: Final = frozenset(
    (
        "erratum errata corrigendum corrigenda correction corrections addendum retraction retracted withdrawn reply "
        "replies comment comments commentary response rebuttal editorial letter rejoinder"
    ).split()
)
#: Marks that have no other sense.
_ALWAYS: Final = frozenset("erratum errata corrigendum corrigenda addendum rejoinder rebuttal".split())
#: Maximum number of words before a mark that counts as near the beginning of a title.
_NEAR: Final = 3
#: A remark of several words in brackets at the end ("[correction appears in …]") is about the work itself.
_REMARK: Final = re.compile(r"\s*(?:\[(?:[^\s\[\]]+\s+){3,}[^\[\]]*\]?|\((?:[^\s()]+\s+){3,}[^()]*\)?)\s*$")
#: A title that cites a year, volume and page ("… Diabetes Care 2013;36:2508") is about the work printed there.
_PLACE: Final = re.compile(r"(?:19|20)\d\d\s*;\s*\d+\s*(?:\(\d+\))?\s*:\s*[a-zA-Z]?\d+")


def marks(title: str, words: list[str]) -> frozenset[str]:
    """Return the marks of a title: words that make it that of an erratum, a reply, a data set, a summary… of another work.

    Words that also have other senses in titles ("… in response to drought") count only at the beginning, at the end, and before
    "to" or "on" near the beginning ("Authors' response to comments on …").
    """
    title = " ".join(title.split())
    found = {word for at, word in enumerate(words) if word in _MARKS and (word in _ALWAYS or _marks_here(words, at))}
    if words[:2] == ["data", "from"]:
        found.add("data")
    if "executive" in words and "summary" in words:
        found.add("summary")
    if ";" in title and _PLACE.search(title):
        found.add("place")
    if found and (remark := _REMARK.search(title)) and remark.start() > 0:
        before = title[: remark.start()]
        return marks(before, re.findall(r"\w+", before.lower()))
    return frozenset(found)


def _marks_here(words: list[str], at: int) -> bool:
    if at in (0, len(words) - 1):
        return True
    return at <= _NEAR and words[at + 1] in ("to", "on") and words[at - 1] != "in"
