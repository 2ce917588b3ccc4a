"""Components changed in place equal the components of a full traversal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.catalog.mapped import keys_of
from reflink.entities import Ids, Work
from tests.profiles import examples
from tests.workers.ledger.worktables import canonical_ids
from workers.ledger.stores import connected_components
from workers.ledger.stores.connected_components import Components

NODES = (*(f"pmid:{n}" for n in range(1, 4)), *(f"doi:10.1/{n}" for n in range(1, 4)), "w1", "w2", "w3")
works = st.builds(
    Work,
    id=st.sampled_from(NODES),
    ids=st.builds(
        Ids,
        doi=st.none() | st.sampled_from(("10.1/1", "10.1/2", "10.1/3")),
        pmid=st.none() | st.sampled_from(("1", "2", "3")),
        arxiv=st.none() | st.sampled_from(("4", "5")),
    ),
)
steps = st.lists(works | st.sampled_from(NODES), min_size=1, max_size=12)


class Rows:
    """Works and the bearers of their identifiers. Checks that each row is read once."""

    def __init__(self, works: dict[str, Work]) -> None:
        self.works, self.read = dict(works), set[str]()

    def bearers(self, nodes: Sequence[str]) -> list[set[str]]:
        self._once("bearers", nodes)
        return [{work.id for work in self.works.values() if node in keys_of(work)} for node in nodes]

    def keys(self, works: Sequence[str]) -> list[tuple[str, ...]]:
        self._once("keys", works)
        return [keys_of(self.works[work_id]) for work_id in works]

    def _once(self, table: str, keys: Sequence[str]) -> None:
        new = {f"{table} {key}" for key in keys}
        assert len(new) == len(keys)
        assert not new & self.read
        self.read |= new


@settings(max_examples=examples(400))
@given(st.lists(steps, min_size=1, max_size=4), st.sets(st.sampled_from(NODES)))
def test_components_changed_in_place_equal_components_of_a_traversal(batches: list[list[Work | str]], read_first: set[str]):
    there: dict[str, Work] = {}
    for batch in batches:
        rows = Rows(there)
        components = Components(rows.bearers, rows.keys)
        for node in read_first:
            assert components.canonical(node) == canonical_ids(there).get(node, node)
        for what in batch:
            old, work_id = canonical_ids(there), what if isinstance(what, str) else what.id
            before = keys_of(there[work_id]) if work_id in there else ()
            if isinstance(what, str):
                there.pop(what, None)
            else:
                there[work_id] = what
            moved, gone = components.change(work_id, before, () if isinstance(what, str) else keys_of(what))
            new = canonical_ids(there)
            assert set(moved) == {node for node in old | new if old.get(node, node) != new.get(node, node)} - {work_id}
            assert set(gone) == old.keys() - new.keys()
            assert len(set(moved)) == len(moved)
            assert len(set(gone)) == len(gone)
        # Exactly the changed rows are marked for writing.
        for node in NODES:
            bearers = {work.id for work in there.values() if node in keys_of(work)}
            (stored,) = Rows(rows.works).bearers([node])
            assert (components.bearers[node] if node in components.changed else stored) == bearers
            assert components.canonical(node) == canonical_ids(there).get(node, node)


@settings(max_examples=examples(200))
@given(steps)
def test_the_canonical_ids_of_a_large_component_are_reported(batch: list[Work | str]):
    there: dict[str, Work] = {}
    rows = Rows(there)
    components = Components(rows.bearers, rows.keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connected_components, "MAX_REPORTED", 1)
        for what in batch:
            old, work_id = canonical_ids(there), what if isinstance(what, str) else what.id
            before = keys_of(there[work_id]) if work_id in there else ()
            if isinstance(what, str):
                there.pop(what, None)
            else:
                there[work_id] = what
            moved, _ = components.change(work_id, before, () if isinstance(what, str) else keys_of(what))
            new = canonical_ids(there)
            canonical = {node for ids in (old, new) for node in ids.values() if old.get(node, node) != new.get(node, node)}
            assert canonical - {work_id} <= set(moved)
            for node in NODES:
                assert components.canonical(node) == new.get(node, node)
