"""Divide a list of authors, tagged as one string, into last names, given names and groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from reflink.recognition import labels as tag
from reflink.recognition.tokens import Tokens

#: Words between the last two authors.
JOINS: Final = frozenset("and und y et e och & i og en и".split())
_PARTICLES: Final = frozenset(
    "van von der den de del della di da dos das do du la le les el al bin ibn ter ten te zu zur af av st".split()
)
_GROUPS: Final = frozenset(
    """university université universität universidad institute institut instituto association society committee department
    ministry ministère council commission agency center centre organization organisation consortium collaboration group
    foundation academy bureau board office corporation company inc ltd llc union nations federation team network school
    laboratory laboratories national international ministerio bank survey service services task force united congress court
    library museum government administration division project press college party study investigators panel""".split()
)
_SUFFIX: Final = frozenset(("jr", "sr", "ii", "iii", "iv"))
_ENDS: Final = re.compile(r"(?i)\bet\.?\s*al\b|\band others\b|\bu\.\s?a\.|\bund andere\b|\(\.\.\.\)|\.\.\.|…|\bet coll\b")
_HYPHENS: Final = frozenset("-‐‑–’'`´ʼ·")
_BREAKS: Final = frozenset(",;/，；、")


class _Unit(NamedTuple):
    """Tokens ``[start, stop)`` of one word with its hyphens and apostrophes; ``initial``: it is one or several initials."""

    start: int
    stop: int
    initial: bool


class _Piece(NamedTuple):
    """The words between two separators. ``after``: the separator before them: "" at the beginning, ",", ";" or "and"."""

    units: list[_Unit]
    after: str


def divide(text: str, tokens: Tokens, start: int, stop: int) -> list[int]:
    """Return a label (L, A, C or O) for each token of the author field ``[start, stop)`` of ``text``.

    Last names are recognised from initials, commas and particles. A comma between two words is ambiguous: it separates two
    last names, or a last name and a given name. A field of two such words is one inverted name.
    """
    words = tokens.words
    end = stop
    if match := _ENDS.search(text, tokens.starts[start], tokens.ends[stop - 1]):
        end = next((at for at in range(start, stop) if tokens.starts[at] >= match.start()), stop)
    pieces = _pieces(tokens, start, end)
    found = [tag.A] * (stop - start)
    if _is_group(words, pieces):
        last = max((unit.stop for piece in pieces for unit in piece.units), default=end)
        return [tag.C] * (last - start) + [tag.O] * (stop - last)
    for unit in _surnames(words, pieces):
        group = any(words[at].lower() in _GROUPS for at in range(unit.start, unit.stop))
        found[unit.start - start : unit.stop - start] = [tag.C if group else tag.L] * (unit.stop - unit.start)
    if end == stop:  # punctuation behind the last name; a full stop belongs to an initial
        for at in range(stop - 1, start - 1, -1):
            if words[at][0].isalnum() or (words[at] == "." and at > start and len(words[at - 1]) == 1):
                break
            found[at - start] = tag.O
    return found


def _pieces(tokens: Tokens, start: int, stop: int) -> list[_Piece]:
    words = tokens.words
    loud = all(words[at].isupper() for at in range(start, stop) if len(words[at]) > 1 and words[at].isalpha())
    pieces: list[_Piece] = [_Piece([], "")]
    at = start
    while at < stop:
        word = words[at]
        if word in _BREAKS or (word.lower() in JOINS and not word.isupper()) or word == "&":
            mark = ";" if word in ";；" else "," if word in _BREAKS else "and"
            if pieces[-1].units:
                pieces.append(_Piece([], mark))
            elif mark == "and" and len(pieces) > 1:
                pieces[-1] = _Piece([], mark)
            at += 1
            continue
        if not word[0].isalpha():
            at += 1
            continue
        end = at + 1
        while end + 1 < stop and words[end] in _HYPHENS and words[end + 1][0].isalpha() and _touch(tokens, end - 1, end + 1):
            end += 2
        letters = [word for word in words[at:end] if word[0].isalpha()]
        dotted = end < stop and words[end] == "."
        initial = all(
            (len(word) == 1 and (word.isupper() or dotted))
            or (len(word) <= 3 and word.isupper() and not loud and word not in ("LI", "WU", "XU"))
            or (len(word) == 2 and dotted and word[0].isupper())
            for word in letters
        )
        pieces[-1].units.append(_Unit(at, end, initial or word.lower() in _SUFFIX))
        at = end
    return [piece for piece in pieces if piece.units]


def _touch(tokens: Tokens, first: int, last: int) -> bool:
    return all(tokens.ends[at] == tokens.starts[at + 1] for at in range(first, last))


def _is_group(words: Sequence[str], pieces: list[_Piece]) -> bool:
    units = [unit for piece in pieces for unit in piece.units]
    named = any(words[at].lower() in _GROUPS for unit in units for at in range(unit.start, unit.stop))
    if named and (not any(unit.initial for unit in units) or len(pieces) == 1):
        return True
    if len(units) == 1:
        word = words[units[0].start]
        return word.isupper() and 2 <= len(word) <= 6
    long = len(pieces) == 1 and len([unit for unit in units if words[unit.start].lower() not in _PARTICLES]) >= 5
    return long and not any(unit.initial for unit in units)


def _surnames(words: Sequence[str], pieces: list[_Piece]) -> list[_Unit]:
    """Return the tokens of each last name."""
    found: list[_Unit] = []
    strong = any(piece.after == ";" for piece in pieces)
    inverted = _inverted(pieces)
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        follower = pieces[at + 1] if at + 1 < len(pieces) else None
        plain = not any(unit.initial for unit in piece.units)
        if plain and follower is not None and follower.after == ",":
            given = all(unit.initial for unit in follower.units)
            if given or strong or (inverted and (at == 0 or inverted > 1)):
                found.append(_Unit(piece.units[0].start, piece.units[-1].stop, False))
                at += 2
                while at < len(pieces) and pieces[at].after == "," and (
                    all(unit.initial for unit in pieces[at].units) or strong
                ):  # fmt: skip
                    at += 1  # "Jr"
                continue
        if (name := _single(words, piece.units)) is not None:
            found.append(name)
        at += 1
    return found


def _inverted(pieces: list[_Piece]) -> int:
    """Return 1 if the first name, 2 if every name has whole given names behind a comma, else 0."""
    plain = [not any(unit.initial for unit in piece.units) for piece in pieces]
    if len(pieces) < 2 or not plain[0] or pieces[1].after != ",":
        return 0
    given = not pieces[1].units[0].initial and len(pieces[1].units) <= 3
    if not given:
        return 0
    if len(pieces) == 2:
        return 1
    joins = [at for at, piece in enumerate(pieces) if piece.after == "and"]
    if joins and joins[-1] + 1 < len(pieces) and len(pieces) % 2 == 0 and all(at % 2 == 0 for at in joins):
        return 2
    others = pieces[2:]
    return int(len(pieces[0].units) == 1 and all(len(piece.units) >= 2 for piece in others))


def _single(words: Sequence[str], units: list[_Unit]) -> _Unit | None:
    """Return the last name of one person without a comma: "X. Wang", "Wang X", "Peter van den Berg"."""
    initials = [at for at, unit in enumerate(units) if unit.initial]
    if len(initials) == len(units):
        return None
    upper = [words[unit.start].isupper() and len(words[unit.start]) > 1 and not unit.initial for unit in units]
    loud = [at for at, found in enumerate(upper) if found]
    if loud and len(loud) + len(initials) < len(units) and loud[-1] - loud[0] == len(loud) - 1:  # "CASSARD Jean-Christophe"
        return _Unit(units[loud[0]].start, units[loud[-1]].stop, False)
    first, last = 0, len(units)
    if initials and initials[-1] == len(units) - 1:  # "van den Berg JP"
        while last > 1 and units[last - 1].initial:
            last -= 1
        if units[0].initial:  # "J. Smith Jr"
            first = next(at for at, unit in enumerate(units) if not unit.initial)
    else:
        first = initials[-1] + 1 if initials else 0
        if last - first > 1:  # given names come first; particles belong to the last name
            start = last - 1
            while start > first and words[units[start - 1].start].lower() in _PARTICLES:
                start -= 1
            first = start
    return _Unit(units[first].start, units[last - 1].stop, False)
