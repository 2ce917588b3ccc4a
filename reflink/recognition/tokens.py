"""Tokens of a citation and their positions: runs of digits, runs of letters, and single other characters.

Digits and letters are separate tokens because printed citations join them: ``Urban Climate37``, ``e0260860``, ``2004a``.
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
    """Return all tokens of ``text``, in order. Only white space separates two tokens."""
    spans = [match.span() for match in _TOKEN.finditer(text)]
    return Tokens([text[start:end] for start, end in spans], [start for start, _ in spans], [end for _, end in spans])
