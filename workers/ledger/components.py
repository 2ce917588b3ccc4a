"""Which works are one while changes are applied: components of works that bear the same identifiers, kept right step by step.

The law is that of reflink.catalog.works: the work's own id counts as an identifier, and the smallest id of a component is
canonical. A component is walked once and then changed in place: an addition costs by the smaller of what it joins, a removal
by the whole only where it may fall apart. So a work that a million others share an identifier with stops nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

#: Of more nodes than these, only those that links can name are told when their canonical id changes.
MOST_TOLD: Final = 1000


@dataclass(slots=True)
class Component:
    """Works that are one, and its nodes: their ids and everything else that they bear."""

    canonical: str
    works: set[str]
    nodes: set[str]


class Components:
    """Reads bearers and keys as they are needed, and has them as they are after the changes made here."""

    def __init__(
        self,
        read_bearers: Callable[[Sequence[str]], Iterable[set[str]]],
        read_keys: Callable[[Sequence[str]], Iterable[tuple[str, ...]]],
    ) -> None:
        self._read_bearers, self._read_keys = read_bearers, read_keys
        #: Node → ids of the works that bear it.
        self.bearers: dict[str, set[str]] = {}
        #: Nodes with other bearers than were read.
        self.changed: set[str] = set()
        self._keys: dict[str, tuple[str, ...]] = {}
        self._of: dict[str, Component | None] = {}

    def load(self, nodes: Iterable[str]) -> None:
        """Reads the bearers of all of them at once."""
        missing = list(dict.fromkeys(node for node in nodes if node not in self.bearers))
        if missing:
            self.bearers.update(zip(missing, self._read_bearers(missing), strict=True))

    def of(self, node: str) -> Component | None:
        """What the node belongs to; None when no work has or bears it."""
        if node in self._of:
            return self._of[node]
        self.load((node,))
        works: set[str] = set()
        nodes, waiting = {node}, self.bearers[node]
        while waiting:
            works |= waiting
            new = {key for keys in self._keys_of(waiting) for key in keys} - nodes
            nodes |= new
            self.load(new)
            waiting = set().union(*(self.bearers[key] for key in new)) - works
        if not works:
            self._of[node] = None
            return None
        return self._set(works, nodes)

    def canonical(self, node: str) -> str:
        """The node itself when no work has or bears it."""
        found = self.of(node)
        return node if found is None else found.canonical

    def change(self, work_id: str, before: Collection[str], after: Collection[str]) -> tuple[list[str], list[str]]:
        """The work bore ``before`` and now ``after``, its id first; nothing where it is not there.

        Returns the nodes but ``work_id`` whose canonical id this changed, and those that belonged to a work and do no more.
        """
        if before == after or set(before) == set(after):
            return [], []
        was: dict[str, str] = {}
        dead: list[str] = []
        if not set(before) <= set(after):
            dead = self._remove(work_id, before, was)
            before = ()
        if after:
            self._add(work_id, after, before, was)
        moved = [node for node, old in was.items() if node != work_id and self.canonical(node) != old]
        return moved, [node for node in dead if self.of(node) is None]

    def _add(self, work_id: str, after: Collection[str], before: Collection[str], was: dict[str, str]) -> None:
        self.load(after)
        joined: list[Component] = []
        fresh: list[str] = []
        for node in after:
            found = self.of(node)
            if found is None:
                fresh.append(node)
            elif not any(found is each for each in joined):
                joined.append(found)
        self._keys[work_id] = tuple(after)
        for node in after:
            if node not in before:
                self.bearers[node].add(work_id)
                self.changed.add(node)
        canonical = min((work_id, *(each.canonical for each in joined)))
        for node in fresh:
            was.setdefault(node, node)
        for each in joined:
            if each.canonical != canonical:
                self._tell(each, each.canonical, was)
        if not joined:
            self._set({work_id}, set(after))
            return
        whole = max(joined, key=lambda each: len(each.nodes))
        for each in joined:
            if each is not whole:
                whole.works |= each.works
                whole.nodes |= each.nodes
                self._of.update(dict.fromkeys(each.nodes, whole))
        whole.works.add(work_id)
        whole.nodes.update(fresh)
        self._of.update(dict.fromkeys(fresh, whole))
        whole.canonical = canonical

    def _remove(self, work_id: str, before: Collection[str], was: dict[str, str]) -> list[str]:
        """Returns the nodes that nobody bears any more."""
        whole = self.of(work_id)
        assert whole is not None
        old = whole.canonical
        for node in before:
            self.bearers[node].discard(work_id)
            self.changed.add(node)
        self._keys.pop(work_id, None)
        dead = [node for node in before if not self.bearers[node]]
        for node in dead:
            was.setdefault(node, old)
            self._of[node] = None
        whole.nodes.difference_update(dead)
        whole.works.discard(work_id)
        if not whole.works:
            return dead
        if self._falls_apart([node for node in before if self.bearers[node]]):
            self._split(whole, old, was)
        elif old == work_id:
            whole.canonical = min(whole.works)
            self._tell(whole, old, was)
        return dead

    def _falls_apart(self, shared: Sequence[str]) -> bool:
        """False when it is sure that these nodes, by which a work was one with others, are still one without it."""
        return any(one.isdisjoint(other) for one, other in pairwise(self.bearers[node] for node in shared))

    def _split(self, whole: Component, old: str, was: dict[str, str]) -> None:
        for node in whole.nodes:
            del self._of[node]
        for node in whole.nodes:
            if node not in self._of:
                piece = self.of(node)
                assert piece is not None
                if piece.canonical != old:
                    self._tell(piece, old, was)

    def _tell(self, component: Component, old: str, was: dict[str, str]) -> None:
        nodes: Iterable[str] = component.nodes
        if len(component.nodes) > MOST_TOLD:
            nodes = (old, component.canonical)
        for node in nodes:
            was.setdefault(node, old)

    def _set(self, works: set[str], nodes: set[str]) -> Component:
        found = Component(min(works), works, nodes)
        self._of.update(dict.fromkeys(nodes, found))
        return found

    def _keys_of(self, works: Collection[str]) -> Iterable[tuple[str, ...]]:
        missing = [work_id for work_id in works if work_id not in self._keys]
        if missing:
            self._keys.update(zip(missing, self._read_keys(missing), strict=True))
        return [self._keys[work_id] for work_id in works]
