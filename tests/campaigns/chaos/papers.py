"""The papers of a run: the only module that the sender and the checker share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.papers import PREFIX, made_paper
from reflink.entities import Work

#: Every paper whose number is a multiple of this is poison.
POISON_EVERY: Final = 25
#: References of each paper that is not poison.
REFERENCES: Final = 8


def paper(number: int, works: Sequence[Work]) -> bytes:
    """Return the paper with this number, always the same bytes; every 25th is poison."""
    if number % POISON_EVERY == 0:
        return b"<poison number='%d'/>" % number
    return made_paper(number, works, REFERENCES)


def citing(number: int) -> str:
    """Return the id of the paper with this number."""
    return f"doi:{PREFIX}.{number:05d}"


def number_of(citing: str) -> int:
    """Return the number of the paper with this id."""
    return int(citing.removeprefix(f"doi:{PREFIX}."))
