"""The papers of a run. What sends them and what checks what became of them share this, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.papers import PREFIX, made_paper
from reflink.entities import Work

#: One paper of so many is none.
POISON_EVERY: Final = 20
#: Of every paper that is one.
REFERENCES: Final = 8


def paper(number: int, works: Sequence[Work]) -> bytes:
    """The same for the same number; every twentieth is poison."""
    if number % POISON_EVERY == 0:
        return b"<poison number='%d'/>" % number
    return made_paper(number, works, REFERENCES)


def citing(number: int) -> str:
    """The id of that paper."""
    return f"doi:{PREFIX}.{number:05d}"


def number_of(citing: str) -> int:
    """Which paper has the id."""
    return int(citing.removeprefix(f"doi:{PREFIX}."))
