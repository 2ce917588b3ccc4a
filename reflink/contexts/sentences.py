"""Divide a paragraph into sentences; a citation after the full stop belongs to the sentence before it ("…found.3,4 We…")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_END: Final = re.compile(r"[.!?…。！？]{1,4}[\"'”’»)\]]{0,3}")
_WORD: Final = re.compile(r"[^\s()\[\]{},;:\"“”/]{1,24}$")
_INITIALS: Final = re.compile(r"(?:[^\W\d_]{1,2}\.){1,6}[^\W\d_]{1,2}")
#: A unit, as against an initial or a variable: "3 h", "mg/g", "°C".
_UNIT: Final = re.compile(r"(?:\d\s?|[/°·×−⁻-])$")
#: A number, or a code such as "A-294".
_CODE: Final = re.compile(r"[\w-]{0,8}\d")
#: A word that may begin a sentence with a small letter, as names of genes and molecules do.
_NAME: Final = re.compile(r"(?:[a-z]{1,4}-?(?=[A-Z0-9])|[α-ω])[\w‐-]")
#: The letter of a panel or of an item: "(b) The other half".
_LETTER: Final = re.compile(r"\(\s?[A-Za-z]{1,3}\s?\)")
_NEXT: Final = re.compile(r"[^\W\d_]+")
_OPENING: Final = "([{\"'“‘«¿¡"
_BRACKETS: Final = frozenset("([{")
_CONTINUING: Final = frozenset(".;,:!?")
_CLOSING: Final = frozenset(")]}\"'”’»")
#: Abbreviations that are followed by what belongs to them.
_NEVER: Final = frozenset(
    "Fig Figs Eq Eqs Eqn Eqns Ref Refs Tab Tabs Sect Chap Suppl Supp Dr Drs Prof Mr Mrs Ms St Mt Rev Gen Hon Lt Col Sgt Capt "
    "Nos Univ Dept Assn Natl Intl Ser Vols Proc Ann Ind Pvt fig figs eq eqs eqn eqns ref refs tab tabs sect chap suppl supp "
    "e.g i.e E.g I.e eg ie cf Cf vs viz approx Approx ca resp incl esp et subsp ssp var cv aff syn nr ed eds trans nos pp vols "
    "bzw ggf".split()
)
#: Abbreviations that a number follows. Otherwise they are words, or the sentence ends.
_BEFORE_NUMBER: Final = frozenset(
    "no No vol Vol p n art Art sec Sec ch Ch cat Cat Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec ex Ex pt max min ver Ver "
    "chr Chr".split()
)
#: Abbreviations that may end a sentence: it ends if one of _STARTERS follows.
_PERHAPS: Final = frozenset("al Inc Ltd Co Corp Jr Sr sp spp nov etc Ph.D U.S U.K U.S.A a.m p.m M.D".split())
_STARTERS: Final = frozenset(
    "the this these those that there they their then thus therefore to we when while where whereas which with within without "
    "in it its if is indeed instead interestingly importantly however here hence he she his her his how our one only on of "
    "for from first finally furthermore further following and although after all also an another additionally as at among "
    "according before because besides both but by despite due during each even moreover most many more next no not "
    "nevertheless nonetheless notably other overall participants patients previous recently recent second since several "
    "similar similarly so some such subsequently taken together third through two three under until unlike upon using "
    "what data results studies patients based given are was were cells mice".split()
)


class Opaque(NamedTuple):
    """A span in which no sentence ends: a formula, or a run of citations."""

    start: int
    stop: int
    citation: bool


def sentences(text: str, opaque: Sequence[Opaque]) -> list[tuple[int, int]]:
    """Return the spans of the sentences, without the white space between them.

    ``opaque``: in order, disjoint. Takes linear time.
    """
    found: list[tuple[int, int]] = []
    start = _skip(text, 0)
    at = 0  # of the first opaque span that does not end before the present place
    for end in _END.finditer(text):
        if end.start() < start:
            continue
        while at < len(opaque) and opaque[at].stop <= end.start():
            at += 1
        if at < len(opaque) and opaque[at].start <= end.start():
            continue
        stop = _end(text, start, end, opaque, at)
        if stop is not None:
            found.append((start, stop))
            start = _skip(text, stop)
    stop = len(text.rstrip())
    if start < stop:
        found.append((start, stop))
    return found


def _end(text: str, start: int, end: re.Match[str], opaque: Sequence[Opaque], at: int) -> int | None:
    """Return where the sentence ends whose last mark may be ``end``; None if it goes on."""
    stop = end.end()
    if at < len(opaque) and opaque[at].start < stop:  # the closing bracket of a citation is its own
        stop = opaque[at].start
    cited = False
    after = _skip(text, stop)
    if at < len(opaque) and opaque[at].citation and opaque[at].start <= after and opaque[at].stop > stop:
        beyond = opaque[at].stop
        while text[beyond : beyond + 1] in _CLOSING:
            beyond += 1
        attached = opaque[at].start == stop
        following = _skip(text, beyond)
        first = text[opaque[at].start : opaque[at].start + 1]
        apart = first in _BRACKETS or first.isdigit()  # not an author's name, which would begin the next sentence
        ends = following >= len(text) or (following > beyond and _begins(text, following, opaque, at + 1))
        if text[stop - 3 : stop] == "al." and not text[following : following + 1].isupper():
            ends = following >= len(text)  # not in "by Smith et al. 27 (2013)"
        if (attached or apart) and ends:
            stop, after, cited, at = beyond, following, True, at + 1
        elif attached or (apart and text[beyond : beyond + 1] in _CONTINUING):
            return None
    if after >= len(text):
        return stop
    if after == stop and text[end.start()] not in "。！？":
        return None
    if not _begins(text, after, opaque, at):
        return None
    one_stop = text[end.start()] == "." and text[end.start() + 1 : end.start() + 2] != "."
    return None if one_stop and not cited and _abbreviated(text, start, end.start(), after) else stop


def _begins(text: str, after: int, opaque: Sequence[Opaque], at: int) -> bool:
    """Return whether a sentence may begin at ``after``."""
    if at < len(opaque) and opaque[at].start <= after < opaque[at].stop and not opaque[at].citation:
        return True
    first = text[after]
    if first == "(" and _LETTER.match(text, after):
        return True
    if first in _OPENING:
        after = after + 1
        first = text[after : after + 1]
    if first.islower():
        return _NAME.match(text, after) is not None
    return first.isalnum()


def _abbreviated(text: str, start: int, stop: int, after: int) -> bool:
    """Return whether the full stop at ``stop`` belongs to an abbreviation within a sentence."""
    found = _WORD.search(text, max(start, stop - 25), stop)
    if found is None:
        return False
    word = found[0].strip("'’.‘")
    following = _NEXT.match(text, after)
    starter = following is not None and following[0].lower() in _STARTERS and following[0][:1].isupper()
    if word in _NEVER:
        return True
    if word in _BEFORE_NUMBER:
        return _CODE.match(text, after) is not None
    if word in _PERHAPS or _INITIALS.fullmatch(word):
        return not starter
    if len(word) == 1 and word.isalpha():
        return not starter and not _UNIT.search(text, max(start, found.start() - 2), found.start())
    # The number of a list or of a heading.
    return word.isdigit() and found.start() == start and len(word) <= 3


def _skip(text: str, at: int) -> int:
    """Return the place of the first character from ``at`` that is not white space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at
