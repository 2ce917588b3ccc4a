"""Tables of the compiled comparison for each character of Unicode: its folded form and its character classes.

`learn` fills the entry of a character from ``reflink.folding`` when the character first occurs in a record.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.folding import _FOLD

_CODES: Final = 0x110000

#: Values of `FOLDS` besides the folded letter itself: UNSEEN_YET, no entry yet; DROPPED, folds to nothing; MANY and above,
#: folds to several letters: MANY + LENGTHS * start in `EXPANSIONS` + number of letters.
UNSEEN_YET: Final = 0
DROPPED: Final = _CODES
MANY: Final = 0x200000
LENGTHS: Final = 32
BLANK: Final = 32

#: Bits of `KINDS`. WORD, SPACE, DECIMAL: ``\w``, ``\s``, ``\d`` of regular expressions. DIGIT: str.isdigit. HEAD, FOLLOWS: can
#: be the first, or a later, character of a letter decoded with the wrong encoding. PART: can begin "Part B" or "I:". REMARK:
#: opening bracket or semicolon. The bits above them hold the value of a decimal digit.
WORD, SPACE, DECIMAL, DIGIT, HEAD, FOLLOWS, PART, REMARK = (1 << bit for bit in range(8))
VALUE_SHIFT: Final = 8

FOLDS: Final = np.zeros(_CODES, np.int32)
KINDS: Final = np.zeros(_CODES, np.uint16)
EXPANSIONS: Final = np.zeros(1 << 17, np.int32)  # all of Unicode needs 72,000

_used = 0
_lock: Final = threading.Lock()


def learn(codes: Iterable[int]) -> None:
    """Fill the tables for these characters. Readers need no lock, because a character's fold is written last."""
    global _used
    with _lock:
        for code in codes:
            if FOLDS[code] != UNSEEN_YET:
                continue
            folded = [ord(letter) for letter in _FOLD[code]]
            for each in (code, *folded):
                KINDS[each] = _kinds(chr(each))
            if len(folded) == 1:
                FOLDS[code] = folded[0]
            elif not folded:
                FOLDS[code] = DROPPED
            else:
                EXPANSIONS[_used : _used + len(folded)] = folded
                FOLDS[code] = MANY + _used * LENGTHS + len(folded)
                _used += len(folded)


def _kinds(char: str) -> int:
    kinds = WORD * (char.isalnum() or char == "_") | SPACE * char.isspace() | DIGIT * char.isdigit()
    if char.isdecimal():
        kinds |= DECIMAL | int(char) << VALUE_SHIFT
    kinds |= HEAD * (char in "ÂÃÄÅÎÏÐâã") | FOLLOWS * (not " " <= char <= "~" and not char.isspace())
    return kinds | PART * (char in "pPtTsSvVbBIX") | REMARK * (char in "[(;")


learn(range(1, 128))


@compiled()
def expanded(fold: int) -> tuple[int, int]:
    """Return the start in `EXPANSIONS` and the number of letters of a value of `FOLDS`; (0, 1) for a single letter."""
    if fold < DROPPED:
        return 0, 1
    return (fold - MANY) // LENGTHS, (fold - MANY) % LENGTHS if fold > DROPPED else 0


@compiled()
def fold_words(
    codes: npt.NDArray[np.uint32], start: int, stop: int, folds: npt.NDArray[np.int32], expansions: npt.NDArray[np.int32],
    letters: npt.NDArray[np.uint32], at: int, ends: npt.NDArray[np.int64],
) -> tuple[int, int]:  # fmt: skip
    """Write folded letters from ``at`` on and the ends of their words to ``ends``; return the end and the number of words."""
    begun, words = at, 0
    for position in range(start, stop + 1):
        fold = folds[codes[position]] if position < stop else BLANK
        first, many = expanded(fold)
        for each in range(first, first + many):
            letter = expansions[each] if fold > DROPPED else fold
            if letter != BLANK:
                letters[at] = letter
                at += 1
            elif at > begun:
                ends[words] = at
                words += 1
                begun = at
    return at, words
