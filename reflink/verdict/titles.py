"""What a title says about which of several related works it names: numbers and parts, years, errata and replies."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

#: Roman numbers as digits, to those that volumes and parts have.
ROMAN: Final = {r: str(n) for n, r in enumerate(["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"], 1)}
#: Those that are no single letter, which may be an initial or a panel.
_ROMAN_WORDS: Final = frozenset(word for word in ROMAN if len(word) > 1)
_DIGITS: Final = re.compile(r"\d+")
#: "Part B", "trial A", and Roman numerals of one letter where punctuation or a word shows that they count ("I: Theory").
_PART: Final = re.compile(
    r"\b(?:[Pp]art|PART|[Tt]rial|[Pp]aper|[Ss]ection|[Vv]olume|[Bb]ook|[Ss]tudy)\s+([A-Z]|[IVXivx]+)\b|(?<![\w.])([IVX])\s*[:.)]"
)
#: Words that make a title that of another work about the same work.
_MARKS: Final = frozenset(
    (
        "erratum errata corrigendum corrigenda correction corrections addendum retraction retracted withdrawn reply "
        "replies comment comments commentary response rebuttal editorial letter rejoinder"
    ).split()
)
#: Those that mean nothing else.
_ALWAYS: Final = frozenset("erratum errata corrigendum corrigenda addendum rejoinder rebuttal".split())
#: Words before one that marks a title near its beginning.
_NEAR: Final = 3
#: A remark of several words in brackets at the end ("[correction appears in …]") is about the work itself.
_REMARK: Final = re.compile(r"\s*(?:\[(?:[^\s\[\]]+\s+){3,}[^\[\]]*\]?|\((?:[^\s()]+\s+){3,}[^()]*\)?)\s*$")
#: A title that cites a place ("… Diabetes Care 2013;36:2508") is about the work that stands there.
_PLACE: Final = re.compile(r"(?:19|20)\d\d\s*;\s*\d+\s*(?:\(\d+\))?\s*:\s*[a-zA-Z]?\d+")

#: In a citation as written.
_TEXT_MARKS: Final = re.compile(r"\b(?:erratum|corrigendum|corrigenda|rejoinder|(?:reply|response) to|comments? on)\b")


def numbers(title: str, words: list[str]) -> frozenset[str]:
    """Numbers of a title and of its folded words, Roman ones and the letters of parts too."""
    digits = _DIGITS.findall(" ".join(words))
    parts = [(a or b).lower() for a, b in _PART.findall(title)]
    return frozenset(digits).union(map(ROMAN.__getitem__, _ROMAN_WORDS.intersection(words)), (ROMAN.get(p, p) for p in parts))


def marks(title: str, words: list[str]) -> frozenset[str]:
    """What makes the title that of an erratum, a reply, a data set, a summary… of another work.

    Words that titles have in other senses too ("… in response to drought") count at the beginning and at the end, and before
    "to" and "on" near the beginning ("Authors' response to comments on …").
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


def text_marks(text: str) -> frozenset[str]:
    """The same of a folded citation, where only words that are in no name of a journal count."""
    found = _TEXT_MARKS.search(text)
    return frozenset(found[0].split()[:1]) if found else frozenset()


def numbers_differ(a: Set[str], b: Set[str], ordinals: Set[str]) -> int:
    """0 where the numbers agree; 1: one title has a number that the other has not; 2: each has.

    An edition may stand in the work's title (``b``) and beside that of the reference ("2nd ed."): ``ordinals``.
    """
    return (not a <= b) + (not b - ordinals <= a)


def years_agree(a: Set[int], b: Set[int], published_a: Set[int], published_b: Set[int]) -> bool | None:
    """Whether the years in two titles name the same instalment of a series; None where they say nothing.

    ``published_a`` and ``published_b`` are the years of publication: "Cancer statistics, 2016" is not what is cited as
    "Cancer statistics" of 2017, while "SPIRIT 2013" of 2013 may be cited without its number.
    """
    if a and b:
        return a == b if a == b or not a & b else None
    if not a and not b:
        return None
    (named, other) = (a, published_b) if a else (b, published_a)
    if len(other) == 1 and other <= named:
        return True
    return False if other and published_a and published_b and not published_a & published_b and not other & named else None
