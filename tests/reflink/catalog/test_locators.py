"""Works found by locator, against a plain dictionary: added, replaced, removed, saved and opened again."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.blocking.locators import reference_places, work_places
from reflink.catalog import Catalog, snapshot
from reflink.catalog.mapped import MappedWorks
from reflink.catalog.works import Works
from reflink.catalog.writing import WorksWriter
from reflink.entities import Reference, Work
from reflink.storage.hashtable import GrowingTable, HashTableBuilder
from tests.profiles import examples
from tests.reflink.catalog.works_of import colliding

# Few values, so that works often share a locator.
names = st.lists(st.sampled_from(["Meyer", "Meyer-Li", "Li", "de Li"]), max_size=2).map(tuple)
years = st.none() | st.integers(2000, 2001)
few = st.none() | st.sampled_from(["1", "2", "S1"])
placed = st.builds(Work, id=st.sampled_from("abcdefgh"), authors=names, year=years, volume=few, fpage=few)
cited = st.builds(
    lambda names, year, volume, page: Reference(
        id="r", citing="c", position=1, last_names=names, year=year, volume=volume, first_page=page
    ),
    names, years, few, few,
)  # fmt: skip
removals = st.sampled_from("abcdefgh").map(lambda name: ("remove", name))
changes = st.lists(placed.map(lambda work: ("add", work)) | removals | st.just(("reopen", None)), max_size=14)


def expected(works: dict[str, Work], reference: Reference, max_works: int) -> tuple[str, ...]:
    by_author: set[str] = set()
    by_year: set[str] = set()
    for key in reference_places(reference):
        sharing = {work_id for work_id, work in works.items() if key in work_places(work)}
        if len(sharing) <= max_works:
            (by_author if key.startswith("a:") else by_year).update(sharing)
    return (*sorted(by_author), *sorted(by_year - by_author))


def empty() -> Catalog:
    return Catalog.empty(lexical_mode=None)


def changed(catalog: Catalog, model: dict[str, Work], change: tuple[str, Any], folder: Path) -> Catalog:
    kind, what = change
    if kind == "add":
        catalog.add([what])
        model[what.id] = what
    elif kind == "remove":
        assert catalog.remove([what]) == (model.pop(what, None) is not None)
    else:
        catalog.save(folder)
        return Catalog.open(folder, verify=True)
    return catalog


def work_at(name: str, author: str = "Meyer", year: int = 2000) -> Work:
    return Work(id=name, authors=(author,), year=year, volume="5", fpage="17")


MEYER = Reference(id="r", citing="c", position=1, last_names=("Meyer",), year=2000, volume="5", first_page="17")


@settings(max_examples=examples(90))
@given(changes=changes, references=st.lists(cited, min_size=1, max_size=6), max_works=st.integers(0, 4), collide=st.booleans())
def test_locators_find_the_works_present_even_if_hashes_collide(
    changes: list[tuple[str, Any]], references: list[Reference], max_works: int, collide: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder, colliding() if collide else nullcontext():
        catalog, model = empty(), dict[str, Work]()
        for change in changes:
            catalog = changed(catalog, model, change, Path(folder) / "catalog")
            for reference in references:
                assert catalog.places(reference, max_works) == expected(model, reference, max_works)
        for reference in references:
            assert catalog.places(reference) == expected(model, reference, 16)
        for name in list(model):
            catalog.remove([name])
        assert not len(catalog.works._placed)


@pytest.mark.parametrize("mapped", [True, False])
def test_a_locator_shared_by_too_many_works_finds_none_until_some_are_removed(tmp_path: Path, mapped: bool) -> None:
    catalog = empty()
    catalog.add([work_at(f"w{n:02}", "Meyer" if n < 3 else "Li") for n in range(17)])
    if mapped:
        catalog.save(tmp_path / "catalog")
        catalog = Catalog.open(tmp_path / "catalog")
    assert catalog.places(MEYER) == ("w00", "w01", "w02"), "too many share the year, not the name"
    assert catalog.places(MEYER, 17) == tuple(f"w{n:02}" for n in range(17))
    assert catalog.places(MEYER, 2) == ()
    catalog.remove(["w01"])
    assert len(catalog.places(MEYER)) == 16
    assert catalog.places(MEYER, 2) == ("w00", "w02")
    catalog.add([work_at("w02", "Li")])
    assert catalog.places(MEYER)[:2] == ("w00", "w02"), "w02 by the year"
    assert catalog.places(MEYER, 2) == ("w00",)
    catalog.add([work_at("new", "Li")])
    assert catalog.places(MEYER) == ("w00",)


def test_works_of_the_first_author_come_first() -> None:
    catalog = empty()
    catalog.add([work_at("a", "Li"), work_at("b", "Meyer", 1999), work_at("c", "Meyer"), work_at("d", "Li", 1999)])
    assert catalog.places(MEYER) == ("b", "c", "a")
    assert catalog.places(MEYER.model_copy(update={"volume": None})) == ()


def test_the_last_line_of_an_id_has_the_locator(tmp_path: Path) -> None:
    with WorksWriter(tmp_path) as writer:
        for work in (work_at("a"), work_at("b"), work_at("a", year=2001).model_copy(update={"volume": "6"})):
            writer.append(work)
    catalog = Catalog(Works(MappedWorks.open(tmp_path)), None, None, snapshot.Manifest())
    assert catalog.places(MEYER) == ("b",)
    assert catalog.places(MEYER.model_copy(update={"volume": "6"})) == ("a",)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=20))
def test_rows_of_a_hash_are_ascending_and_distinct(pairs: list[tuple[str, int]]) -> None:
    builder = HashTableBuilder()
    for key, row in pairs:
        builder.add(key, row)
    table = builder.build()
    for key in "abcd":
        rows = sorted({row for other, row in pairs if other == key})
        assert table.candidates(key) == list(table.rows_of(key)) == rows


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc"), st.sampled_from(["x", "y", "xy"])), max_size=30))
def test_a_growing_table_equals_a_dictionary_of_sets(changes: list[tuple[bool, str, str]]) -> None:
    table, model = GrowingTable(), dict[str, set[str]]()
    for added, key, name in changes:
        ids = model.setdefault(key, set())
        if added:
            table.add(key, name)
            ids.add(name)
        else:
            table.discard(key, name)
            ids.discard(name)
        assert {key: set(table.candidates(key)) for key in "abc"} == {key: model.get(key, set()) for key in "abc"}
        assert len(table) == sum(map(bool, model.values()))
