"""A citation's tokens: runs of digits, runs of letters, single marks; and where they stand in the text.

Digits and letters are apart because print glues them: ``Urban Climate37``, ``e0260860``, ``2004a``.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

#: A run of ASCII digits, a run of letters with their combining accents, or any other visible character.
_TOKEN: Final = re.compile(r"[0-9]+|(?:[^\W0-9_][\u0300-\u036f]*)+|\S")


class Tokens(NamedTuple):
    """``words[i]`` is ``text[starts[i]:ends[i]]``."""

    words: list[str]
    starts: list[int]
    ends: list[int]


def tokenise(text: str) -> Tokens:
    """All tokens of ``text``, in order; what is between two of them is white space."""
    words: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _TOKEN.finditer(text):
        words.append(match[0])
        starts.append(match.start())
        ends.append(match.end())
    return Tokens(words, starts, ends)
