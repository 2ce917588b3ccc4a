"""The vocabulary of the compiled comparison, as hashes: marks, Roman numerals, stop words, particles and suffixes of names.

A kernel freezes the constants of this module when it is compiled, and numba checks only the kernel's own file for changes.
After a change here, delete the cached ``*.nbi`` files (beside this module, or in NUMBA_CACHE_DIR).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from reflink.compiled import compiled
from reflink.verdict.rules import PARTICLES, SUFFIXES, VENUE_STOP
from reflink.verdict.titles import _ALWAYS, _MARKS, ROMAN

Hashes = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]

_SEED: Final = np.uint64(0xCBF29CE484222325)
_PRIME: Final = np.uint64(0x00000100000001B3)
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)
_EMPTY: Final = np.uint64(0)

#: Bits of a word's value. The marks come first: the possible elements of the result of ``reflink.verdict.titles.marks``.
MARK_NAMES: Final = (*sorted(_MARKS), "data", "summary", "place")
BIT: Final = {name: 1 << at for at, name in enumerate((*MARK_NAMES, "from", "executive", "to", "on", "in", "et", "al"))}
ALL_MARKS: Final = (1 << len(MARK_NAMES)) - 1
#: Marks that a single word makes.
WORD_MARKS: Final = (1 << len(_MARKS)) - 1
DATA, SUMMARY, FROM, EXECUTIVE, TO, ON, IN, ET, AL = (
    BIT[name] for name in ("data", "summary", "from", "executive", "to", "on", "in", "et", "al")
)
#: Marks that count at any position of a title.
ALWAYS: Final = sum(BIT[name] for name in _ALWAYS)
#: Words that mark a citation as written: alone; before "to"; before "on".
ALONE: Final = BIT["erratum"] | BIT["corrigendum"] | BIT["corrigenda"] | BIT["rejoinder"]
BEFORE_TO: Final = BIT["reply"] | BIT["response"]
BEFORE_ON: Final = BIT["comment"] | BIT["comments"]
NO_VENUE: Final = 1 << 40
NO_NAME: Final = 1 << 41
#: The bits from here on hold the number of a Roman numeral.
ROMAN_SHIFT: Final = 48

_SLOTS_SHIFT: Final = 55  # 512 slots


def marks_value(names: Iterable[str]) -> int:
    """Return the bits of a set of marks."""
    return sum(BIT[name] for name in names)


@compiled()
def hashed(letters: Codes, start: int, end: int) -> np.uint64:
    """Return the hash of a word, letters ``start`` to ``end``."""
    value = _SEED
    for at in range(start, end):
        value = (value ^ np.uint64(letters[at])) * _PRIME
    return value ^ (value >> _HALF)


@compiled()
def added(value: np.uint64, letter: int) -> np.uint64:
    """Return an incremental hash extended by one letter. The hash starts with ``SEED`` and ends with `finished`."""
    return (value ^ np.uint64(letter)) * _PRIME


@compiled()
def finished(value: np.uint64) -> np.uint64:
    """Return the hash of the letters that were `added`."""
    return value ^ (value >> _HALF)


SEED: Final = _SEED


def word_hash(word: str) -> int:
    """Return the same hash as `hashed`, in plain Python."""
    value = int(_SEED)
    for letter in word:
        value = (value ^ ord(letter)) * int(_PRIME) % 2**64
    return value ^ (value >> 32)


@compiled()
def shift_for(number: int) -> int:
    """Return the shift that `put` and `has` need for a table of ``number`` keys: 64 minus log2 of the table's length."""
    bits = 3
    while (1 << bits) < 4 * number:
        bits += 1
    return 64 - bits


@compiled()
def cleared(table: Hashes, number: int) -> int:
    """Clear the part of ``table`` that ``number`` keys need; return its shift."""
    shift: int = shift_for(number)
    table[: 1 << (64 - shift)] = _EMPTY
    return shift


@compiled()
def put(table: Hashes, shift: int, key: np.uint64) -> bool:
    """Insert a key into an open-addressing table; return False if the table already has it."""
    last = np.uint64((1 << (64 - shift)) - 1)
    slot = (key * _GOLDEN) >> np.uint64(shift)
    while table[slot] != _EMPTY:
        if table[slot] == key:
            return False
        slot = (slot + np.uint64(1)) & last
    table[slot] = key
    return True


@compiled()
def has(table: Hashes, shift: int, key: np.uint64) -> bool:
    """Return whether the table has the key."""
    last = np.uint64((1 << (64 - shift)) - 1)
    slot = (key * _GOLDEN) >> np.uint64(shift)
    while table[slot] != _EMPTY:
        if table[slot] == key:
            return True
        slot = (slot + np.uint64(1)) & last
    return False


@compiled(inline="always")
def known(words: Hashes, values: Ints, key: np.uint64) -> int:
    """Return the value of a word, or 0 if the vocabulary does not have it."""
    slot = (key * _GOLDEN) >> np.uint64(_SLOTS_SHIFT)
    while words[slot] != _EMPTY:
        if words[slot] == key:
            value: int = values[slot]
            return value
        slot = (slot + np.uint64(1)) & np.uint64((1 << (64 - _SLOTS_SHIFT)) - 1)
    return 0


def _tables() -> tuple[Hashes, Ints]:
    of: dict[str, int] = dict(BIT)
    for word in VENUE_STOP:
        of[word] = of.get(word, 0) | NO_VENUE
    for word in PARTICLES | SUFFIXES:
        of[word] = of.get(word, 0) | NO_NAME
    for word, number in ROMAN.items():
        of[word] = of.get(word, 0) | int(number) << ROMAN_SHIFT
    slots = 1 << (64 - _SLOTS_SHIFT)
    words, values = np.zeros(slots, np.uint64), np.zeros(slots, np.int64)
    for word, value in of.items():
        key = word_hash(word)
        slot = (key * int(_GOLDEN) % 2**64) >> _SLOTS_SHIFT
        while words[slot]:
            slot = (slot + 1) % slots
        words[slot], values[slot] = key, value
    return words, values


#: The vocabulary: an open-addressing table of its words' hashes, and their values.
WORDS, VALUES = _tables()
#: By number: the hash of the number written in digits, for the numbers of the Roman numerals.
NUMERALS: Final = np.array([word_hash(str(number)) for number in range(len(ROMAN) + 1)], np.uint64)
