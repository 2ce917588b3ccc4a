"""Canonical ids of works: connected components of works that share identifiers, kept up to date change by change.

Two records of the catalog with a common identifier describe one work, so a link to either names the canonical id. Here:

- a node is the id or an identifier of a work; a work's own id counts as an identifier,
- the bearers of a node are the works that have it,
- a component is a set of works connected by common nodes; its canonical id is the smallest id of its works.

The rule is that of reflink.catalog.works, which computes all components at once.

Invariant: after each change, the components are those that a traversal of all works would find
(tests/workers/ledger/stores/test_work_table_components.py).

Cost: a component is traversed once, when it is first needed, and then changed in place. An addition costs time in proportion
to all components that it joins except the largest. A removal costs time in proportion to the whole component only if it may
fall apart or loses the work with its canonical id. So a work that shares an identifier with a million others does not block
the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

#: In a component with more nodes, a change of canonical id is reported only for the nodes that links can name: old and new id.
MAX_REPORTED: Final = 1000


@dataclass(slots=True)
class Component:
    """Works that are one work, and its nodes: their ids and all their identifiers."""

    canonical: str
    works: set[str]
    nodes: set[str]


class Components:
    """Components in the state after the changes made here. Bearers and keys are read when they are needed."""

    def __init__(
        self,
        read_bearers: Callable[[Sequence[str]], Iterable[set[str]]],
        read_keys: Callable[[Sequence[str]], Iterable[tuple[str, ...]]],
    ) -> None:
        self._read_bearers, self._read_keys = read_bearers, read_keys
        #: Node → ids of its bearers.
        self.bearers: dict[str, set[str]] = {}
        #: Nodes whose bearers differ from those that were read.
        self.changed: set[str] = set()
        self._keys: dict[str, tuple[str, ...]] = {}
        self._of: dict[str, Component | None] = {}

    def load(self, nodes: Iterable[str]) -> None:
        """Read the bearers of all these nodes in one call."""
        missing = list(dict.fromkeys(node for node in nodes if node not in self.bearers))
        if missing:
            self.bearers.update(zip(missing, self._read_bearers(missing), strict=True))

    def of(self, node: str) -> Component | None:
        """Return the component of the node; None if the node has no bearer."""
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
        """Return the canonical id of the node; the node itself if it has no bearer."""
        found = self.of(node)
        return node if found is None else found.canonical

    def change(self, work_id: str, before: Collection[str], after: Collection[str]) -> tuple[list[str], list[str]]:
        """Change the nodes of a work from ``before`` to ``after``, each with the id first, or empty if there is no such work.

        Returns the nodes except ``work_id`` whose canonical id changed, and the nodes that belonged to a work and no longer do.
        """
        if before == after or set(before) == set(after):
            return [], []
        previous: dict[str, str] = {}
        removed: list[str] = []
        if not set(before) <= set(after):
            removed = self._remove(work_id, before, previous)
            before = ()
        if after:
            self._add(work_id, after, before, previous)
        moved = [node for node, old in previous.items() if node != work_id and self.canonical(node) != old]
        return moved, [node for node in removed if self.of(node) is None]

    def _add(self, work_id: str, after: Collection[str], before: Collection[str], previous: dict[str, str]) -> None:
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
            previous.setdefault(node, node)
        for each in joined:
            if each.canonical != canonical:
                self._report(each, each.canonical, previous)
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

    def _remove(self, work_id: str, before: Collection[str], previous: dict[str, str]) -> list[str]:
        """Remove the work. Return its nodes that have no bearer any more."""
        whole = self.of(work_id)
        assert whole is not None
        old = whole.canonical
        for node in before:
            self.bearers[node].discard(work_id)
            self.changed.add(node)
        self._keys.pop(work_id, None)
        unused = [node for node in before if not self.bearers[node]]
        for node in unused:
            previous.setdefault(node, old)
            self._of[node] = None
        whole.nodes.difference_update(unused)
        whole.works.discard(work_id)
        if not whole.works:
            return unused
        if self._falls_apart([node for node in before if self.bearers[node]]):
            self._split(whole, old, previous)
        elif old == work_id:
            whole.canonical = min(whole.works)
            self._report(whole, old, previous)
        return unused

    def _falls_apart(self, shared: Sequence[str]) -> bool:
        """Return False only if these nodes, which a removed work connected, are certainly still connected without it."""
        return any(one.isdisjoint(other) for one, other in pairwise(self.bearers[node] for node in shared))

    def _split(self, whole: Component, old: str, previous: dict[str, str]) -> None:
        for node in whole.nodes:
            del self._of[node]
        for node in whole.nodes:
            if node not in self._of:
                piece = self.of(node)
                assert piece is not None
                if piece.canonical != old:
                    self._report(piece, old, previous)

    def _report(self, component: Component, old: str, previous: dict[str, str]) -> None:
        nodes: Iterable[str] = component.nodes
        if len(component.nodes) > MAX_REPORTED:
            nodes = (old, component.canonical)
        for node in nodes:
            previous.setdefault(node, old)

    def _set(self, works: set[str], nodes: set[str]) -> Component:
        found = Component(min(works), works, nodes)
        self._of.update(dict.fromkeys(nodes, found))
        return found

    def _keys_of(self, works: Collection[str]) -> Iterable[tuple[str, ...]]:
        missing = [work_id for work_id in works if work_id not in self._keys]
        if missing:
            self._keys.update(zip(missing, self._read_keys(missing), strict=True))
        return [self._keys[work_id] for work_id in works]
