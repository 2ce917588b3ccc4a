"""Citation graphs as the cup publishes them, and the figures that compare two of them."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reflink.errors import BadRecord

#: The numbers of the citing and the cited paper.
Edge = tuple[str, str]

#: Digits of an arXiv number before April 2007: year, month and three more.
_DIGITS: Final = 7
_NUMBER: Final = re.compile(r"(?:[A-Za-z.-]+[/_]?)?([0-9]{1,7})(?:v[0-9]{1,2})?", re.ASCII)
_MAX_SHOWN: Final = 80


def paper_number(name: str) -> str | None:
    """Return the seven digits of "hep-ph/9907233", "hep-ph9907233v2" or "9907233"; "1234" is "0001234". None for other names.

    Graphs that store numbers as integers have lost the zeros of the papers of 2000 to 2007.
    """
    found = _NUMBER.fullmatch(name.strip())
    return found[1].zfill(_DIGITS) if found else None


@dataclass(frozen=True, slots=True)
class Graph:
    """The distinct edges of a file. ``repeated``: lines whose edge occurred before; ``loops``: edges of a paper to itself.

    Loops are edges like others; a predicted one is right if the file has it.
    """

    edges: frozenset[Edge]
    repeated: int = 0

    @property
    def loops(self) -> int:
        """The number of papers that cite themselves."""
        return sum(citing == cited for citing, cited in self.edges)


def read_graph(path: Path) -> Graph:
    """Read a file with the numbers of a citing and a cited paper on each line, divided by white space.

    Blank lines and lines from "#" on are comments. Raises BadRecord with file and line, OSError.
    """
    edges: set[Edge] = set()
    lines = 0
    with path.open(encoding="utf-8", errors="replace") as file:
        for at, line in enumerate(file, start=1):
            parts = line.split()
            if not parts or parts[0].startswith("#"):
                continue
            numbers = [paper_number(part) for part in parts]
            if len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
                shown = line.strip()[:_MAX_SHOWN]
                raise BadRecord(f"{path}:{at}: expected the arXiv numbers of a citing and a cited paper, not {shown!r}")
            edges.add((numbers[0], numbers[1]))
            lines += 1
    return Graph(frozenset(edges), lines - len(edges))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A predicted graph and the true one, as the paper's Table 5.7 compares them. All are numbers of distinct edges."""

    right: int
    predicted: int
    true: int

    @classmethod
    def of(cls, true: Set[Edge], predicted: Set[Edge]) -> Comparison:
        """Compare two sets of edges."""
        return cls(len(true & predicted), len(predicted), len(true))

    @property
    def accuracy(self) -> float | None:
        """The share of the predicted edges that are right; None without any."""
        return self.right / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        """The share of the true edges that are predicted; None without any."""
        return self.right / self.true if self.true else None

    @property
    def symmetric_difference(self) -> int:
        """The number of edges that only one of the graphs has: |true ∪ predicted| - |true ∩ predicted|."""
        return self.true + self.predicted - 2 * self.right

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and the figures; shares are fractions."""
        return {
            "right": self.right, "predicted": self.predicted, "true": self.true, "accuracy": self.accuracy,
            "recall": self.recall, "symmetric_difference": self.symmetric_difference,
        }  # fmt: skip
