"""Papers known to the ledger: their published states, parsed once and indexed, as a paper may have 20,000 references."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

from schemas import LinkEvent
from schemas.links import PaperState

#: Total bytes of cached states, as published. In memory they take about five times as much.
_MAX_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class KnownPaper:
    """Newest version of a paper. ``positions``: of its references, by id; ``kept``: the set of positions in ``state.kept``."""

    state: PaperState
    positions: dict[str, int]
    kept: frozenset[int]

    @classmethod
    def of(cls, state: PaperState) -> KnownPaper:
        """Return the paper of a state, with its index."""
        positions = {reference: position for position, reference in enumerate(state.references)}
        return cls(state, positions, frozenset(state.kept))

    def keeping(self, more: Iterable[int]) -> KnownPaper:
        """Return a copy that also keeps the outcomes of the references at these positions."""
        new = sorted(set(more) - self.kept)
        state = self.state.model_copy(update={"kept": tuple(sorted((*self.state.kept, *new)))})
        return KnownPaper(state, self.positions, self.kept.union(new))


def version_of(link: LinkEvent, paper: KnownPaper | None) -> int:
    """Return the version of the paper that an outcome holds for; higher than its own version if the outcome was kept."""
    if paper is None or paper.state.paper_version <= link.paper_version:
        return link.paper_version
    kept = paper.positions.get(link.reference.id) in paper.kept
    return paper.state.paper_version if kept else link.paper_version


class PaperCache:
    """Cache of the papers read last. Each entry is checked against the stored bytes."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._papers: OrderedDict[Hashable, tuple[bytes, KnownPaper]] = OrderedDict()

    def read(self, row: Hashable, value: bytes) -> KnownPaper:
        """Return the paper of a row with this value. Raises BadRecord."""
        found = self._papers.get(row)
        paper = found[1] if found is not None and found[0] == value else KnownPaper.of(PaperState.from_json(value))
        self.put(row, value, paper)
        return paper

    def put(self, row: Hashable, value: bytes, paper: KnownPaper) -> None:
        """Cache the paper and evict the least recently read ones."""
        if (before := self._papers.pop(row, None)) is not None:
            self._bytes -= len(before[0])
        self._papers[row] = (value, paper)  # the same object, so that the next comparison with it is free
        self._bytes += len(value)
        while self._bytes > self._max_bytes and len(self._papers) > 1:
            _, (gone, _) = self._papers.popitem(last=False)
            self._bytes -= len(gone)
