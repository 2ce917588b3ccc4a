"""Divide a paragraph into sentences; a citation after the full stop belongs to the sentence before it ("…found.3,4 We…")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_END: Final = re.compile(r"[.!?…。！？]{1,4}[\"'”’»)\]]{0,3}")
_WORD: Final = re.compile(r"[^\s()\[\]{},;:\"“”/]{1,24}$")
_INITIALS: Final = re.compile(r"(?:\w{1,2}\.){1,6}\w{1,2}")
#: A word that may begin a sentence with a small letter, as names of genes and molecules do.
_NAME: Final = re.compile(r"(?:[a-z]{1,4}-?(?=[A-Z0-9])|[α-ω])[\w-]")
_NEXT: Final = re.compile(r"[^\W\d_]+")
_OPENING: Final = "([{\"'“‘«¿¡"
_CLOSING: Final = frozenset(")]}\"'”’»")
#: Abbreviations that are followed by what belongs to them.
_NEVER: Final = frozenset(
    "fig figs eq eqs eqn eqns ref refs tab tabs sect chap suppl supp e.g i.e eg ie cf vs viz approx ca resp incl esp dr drs "
    "prof mr mrs ms st mt rev gen hon lt col sgt capt et subsp ssp var cv aff nr ser ed eds trans appl ann proc vols nos pp "
    "fig.s scheme.s dept univ assn natl intl".split()
)
#: Abbreviations that a number follows. Otherwise they are words, or the sentence ends.
_BEFORE_NUMBER: Final = frozenset(
    "no vol p n art sec ch col cat jan feb mar apr jun jul aug sep sept oct nov dec ex pt max min avg".split()
)
#: Abbreviations that may end a sentence: it ends if one of _STARTERS follows.
_PERHAPS: Final = frozenset("al inc ltd co corp jr sr sp spp nov etc ph.d u.s u.k u.s.a a.m p.m m.d b.sc m.sc dc".split())
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
        bracketed = text[opaque[at].start : opaque[at].start + 1] in tuple("([{")
        ends = following >= len(text) or (following > beyond and _begins(text, following, opaque, at + 1))
        if (attached or bracketed) and ends:
            stop, after, cited, at = beyond, following, True, at + 1
        elif attached:
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
    word = found[0].strip("'’.‘").lower()
    following = _NEXT.match(text, after)
    starter = following is not None and following[0].lower() in _STARTERS and following[0][:1].isupper()
    if word in _NEVER:
        return True
    if word in _BEFORE_NUMBER:
        return text[after].isdigit()
    if word in _PERHAPS or _INITIALS.fullmatch(word):
        return not starter
    if len(word) == 1 and word.isalpha():
        return not starter
    # The number of a list or of a heading.
    return word.isdigit() and found.start() == start and len(word) <= 3


def _skip(text: str, at: int) -> int:
    """Return the place of the first character from ``at`` that is not white space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at
