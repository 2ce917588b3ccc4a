"""What the joins answer for each reference, against a catalog of all works."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.blocking.locators import MAX_SHARING
from reflink.catalog import Catalog
from reflink.entities import Reference, Work
from tests.profiles import examples
from tests.reflink.catalog.test_locators import few, names, years
from tests.reflink.catalog.works_of import some_ids, work_ids
from tests.workers.backfill.joining import joined
from workers.backfill.joined_catalog import JoinedCatalog

works = st.builds(Work, id=work_ids, ids=some_ids, authors=names, year=years, volume=few, fpage=few)
references = st.builds(
    lambda number, citing, ids, weak, names, year, volume, page: Reference(
        id=f"r{number}", citing=citing, position=1, ids=ids, ids_weak=weak, last_names=names, year=year, volume=volume,
        first_page=page,
    ),
    st.integers(0, 9), work_ids, some_ids, some_ids, names, years, few, few,
)  # fmt: skip


def catalog_of(works: list[Work]) -> Catalog:
    catalog = Catalog.empty(lexical_mode=None)
    catalog.add(works)
    return catalog


def agree(batch: list[Reference], works: list[Work]) -> None:
    """Compare the answers about each reference, of a batch and of each reference alone, with those of the catalog."""
    whole, rows = catalog_of(works), joined(works, batch)
    for part in (rows, *([row] for row in rows)):
        found = JoinedCatalog(part)
        for reference, _ in part:
            assert found.lookup(reference.ids) == whole.lookup(reference.ids)
            assert found.lookup(reference.ids_weak) == whole.lookup(reference.ids_weak)
            assert found.places(reference) == whole.places(reference)
            assert found.canonical(reference.citing) == whole.canonical(reference.citing)
            for candidate in (*found.lookup(reference.ids), *found.lookup(reference.ids_weak), *found.places(reference)):
                assert found.get(candidate) == whole.get(candidate)
                assert found.canonical(candidate) == whole.canonical(candidate)


@settings(max_examples=examples(200))
@given(st.lists(works, max_size=8), st.lists(references, max_size=4))
def test_the_joins_find_what_the_catalog_finds(works: list[Work], references: list[Reference]):
    agree([*{each.id: each for each in references}.values()], [*{each.id: each for each in works}.values()])


def test_works_of_a_crowded_locator_are_no_candidates_even_if_another_reference_finds_some():
    crowd = [Work(id=f"w{n}", authors=(name,), year=2000, volume="1", fpage="2") for n, name in enumerate("abcdefghijklmnopq")]
    crowd[0] = Work(id="w0", authors=("Meyer",), year=2000, volume="1", fpage="2")
    assert len(crowd) == MAX_SHARING + 1
    about = {"citing": "p", "position": 1, "year": 2000, "volume": "1", "first_page": "2"}
    batch = [Reference(id="r1", last_names=("Meyer",), **about), Reference(id="r2", last_names=("Other",), **about)]
    rows = JoinedCatalog(joined(crowd, batch))
    assert [rows.places(each) for each in batch] == [("w0",), ()]
    agree(batch, crowd)
    agree(batch, crowd[:-1])


def test_a_work_that_is_not_a_candidate_is_unknown():
    known = JoinedCatalog([])
    assert known.get("w") is None
    assert known.canonical("w") == "w"
