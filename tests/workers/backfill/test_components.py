"""Labels of components, against a plain merging of sets."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Ids, Work
from tests.profiles import examples
from tests.reflink.catalog.works_of import brute_force, some_works
from tests.workers.backfill.joining import Sqlite
from workers.backfill import components


@settings(max_examples=examples(200))
@given(st.lists(some_works, max_size=12))
def test_labels_are_the_canonical_ids_of_works_that_share_a_key(works: list[Work]):
    by_id = {work.id: work for work in works}
    engine = Sqlite(by_id.values())
    components.label(engine)
    canonical, labels = brute_force(by_id.values()), engine.labels()
    assert {work_id: labels.get(work_id, work_id) for work_id in by_id} == canonical
    sizes = [*canonical.values()]
    assert labels.keys() == {work_id for work_id in by_id if sizes.count(canonical[work_id]) > 1}


def test_a_long_chain_takes_few_rounds():
    chain = [Work(id=f"w{n:03}", ids=Ids(pmid=str(n), doi=f"10.1/{n // 2}")) for n in range(200)]
    chain += [Work(id=f"x{n:03}", ids=Ids(pmid=str(n), doi=f"10.1/{(n + 1) // 2}")) for n in range(200)]
    engine = Sqlite(chain)
    rounds = components.label(engine)
    assert set(engine.labels().values()) == {"w000"}
    assert rounds <= 12


def test_without_works_there_are_no_rounds():
    engine = Sqlite([])
    assert components.label(engine) == 0
    assert engine.labels() == {}
