"""Works written to a folder are read again unchanged and found by id, identifier and locator, against plain dictionaries."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.blocking.locators import work_places
from reflink.catalog import Catalog
from reflink.catalog.components import components
from reflink.catalog.mapped import MappedWorks
from reflink.catalog.reading import read_works
from reflink.catalog.writing import WorksWriter
from reflink.entities import Ids, Related, Work
from reflink.errors import UnusableSnapshot
from tests.data import find_shared_data
from tests.profiles import examples
from tests.reflink.catalog.works_of import brute_force, colliding, keys, refusal, some_works, work

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
maybe = st.none() | texts
several = st.lists(texts, max_size=3).map(tuple)
#: Works with any values, and with fields that this version does not know.
any_works = st.builds(
    lambda known, more: Work(**known, **more),
    st.fixed_dictionaries(
        {"id": texts},
        optional={
            "ids": st.builds(Ids, doi=maybe, pmid=maybe, pmcid=maybe, arxiv=maybe),
            "title": maybe, "translated_titles": several, "authors": several, "collectives": several, "venue": maybe,
            "venue_abbreviations": several, "issns": several, "year": st.none() | st.integers(-(2**63), 2**63 - 1),
            "online_year": st.none() | st.integers(0, 3000), "volume": maybe, "issue": maybe, "fpage": maybe, "lpage": maybe,
            "type": maybe, "language": maybe, "status": maybe,
            "related": st.lists(st.builds(Related, kind=st.just("corrects"), ids=st.builds(Ids, doi=maybe))).map(tuple),
        },
    ),
    st.dictionaries(st.sampled_from(["meta", "\n", "é"]), maybe | st.lists(st.integers(0, 9)), max_size=2),
)  # fmt: skip


def written(works: list[Work], folder: Path) -> MappedWorks:
    with WorksWriter(folder, waiting=5) as writer:
        for each in works:
            writer.append(each)
    return MappedWorks.open(folder)


def latest(works: list[Work]) -> list[Work]:
    """The last work of each id, in order."""
    last = {each.id: at for at, each in enumerate(works)}
    return [each for at, each in enumerate(works) if last[each.id] == at]


@settings(max_examples=examples(150))
@given(works=st.lists(any_works, max_size=12))
def test_any_works_are_read_again_unchanged(works: list[Work]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found, expected = written(works, Path(folder)), latest(works)
        assert [found.work(row) for row in range(len(found))] == expected
        assert [found.line(row) for row in range(len(found))] == [each.to_json() for each in expected]
        assert [found.find(each.id) for each in expected] == list(range(len(expected)))
        absent = "".join(each.id for each in works) + "~"
        assert found.find(absent) is None


@settings(max_examples=examples(150))
@given(
    works=st.lists(some_works, max_size=14),
    volumes=st.lists(st.sampled_from(["1", "2"]), min_size=14, max_size=14),
    collide=st.booleans(),
)
def test_rows_by_identifier_locator_and_component_equal_those_of_plain_dictionaries(
    works: list[Work], volumes: list[str], collide: bool
) -> None:
    placed = {"authors": ("Li",), "year": 2001, "fpage": "7"}
    works = [each.model_copy(update={"volume": volume, **placed}) for each, volume in zip(works, volumes, strict=False)]
    with tempfile.TemporaryDirectory() as folder, colliding() if collide else nullcontext():
        found, expected = written(works, Path(folder)), latest(works)
        canonical = brute_force(expected)
        for row, each in enumerate(expected):
            assert found.work(found.canonical(row)).id == canonical[each.id]
            component = {at for at, other in enumerate(expected) if canonical[other.id] == canonical[each.id]}
            assert found.component(row) == component
            for key in keys(each):
                assert found.bearers(key) == {at: other for at, other in enumerate(expected) if key in keys(other)}
            for key in work_places(each):
                sharing = [at for at, other in enumerate(expected) if key in work_places(other)]
                assert (set(found.places.rows_of(key)) >= {*sharing}) if collide else (found.places.candidates(key) == sharing)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=25))
def test_components_equal_those_of_repeated_merging(edges: list[tuple[int, int]]) -> None:
    groups: list[set[int]] = []
    for edge in edges:
        touched = [group for group in groups if group & {*edge}]
        groups = [group for group in groups if group not in touched] + [{*edge}.union(*touched)]
    found = list(components(np.array(edges, np.uint32).reshape(-1, 2)))
    assert sorted(found) == sorted(sorted(group) for group in groups)


def test_works_of_the_shared_data_are_read_again_and_take_a_third_of_their_json(tmp_path: Path) -> None:
    shared = find_shared_data()
    if shared is None:
        pytest.skip("the shared data are not here")
    works = latest([each for each in islice(read_works(shared / "works.jsonl.gz"), 4000) if isinstance(each, Work)])
    found = written(works, tmp_path)
    assert [found.work(row) for row in range(len(found))] == works
    assert all(found.find(each.id) == row for row, each in enumerate(works))
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size < 0.5 * sum(len(each.to_json()) + 8 for each in works)


def test_an_unchanged_catalog_is_saved_again_with_the_same_files(tmp_path: Path) -> None:
    catalog = Catalog.empty(lexical_mode=None)
    catalog.add([work(f"w{number}", pmid=str(number // 2)) for number in range(30)])
    catalog.save(tmp_path / "first")
    Catalog.open(tmp_path / "first").save(tmp_path / "second")
    changed = Catalog.open(tmp_path / "second", verify=True)
    assert [each.id for each in changed] == [each.id for each in catalog]
    for path in (tmp_path / "first" / "works").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / "works" / path.name).read_bytes()
    changed.remove(["w0"])
    changed.save(tmp_path / "third")
    third = Catalog.open(tmp_path / "third", verify=True)
    assert (len(third), third.canonical("w1"), third.canonical("w3")) == (29, "w1", "w2")


def test_a_failure_leaves_a_folder_that_is_refused(tmp_path: Path) -> None:
    def fail() -> None:
        with WorksWriter(tmp_path) as writer:
            writer.append(work("a"))
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        fail()
    assert "unfinished" in refusal(tmp_path, MappedWorks.open)


@pytest.mark.parametrize(
    "name", ["works.jsonl.zst", "starts.npy", "hashes.npy", "place_rows.npy", "canonical.npy", "offsets.npy"]
)
def test_a_cut_and_a_missing_file_are_refused(tmp_path: Path, name: str) -> None:
    written([work(f"w{number}", pmid="1") for number in range(9)], tmp_path)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UnusableSnapshot):
        MappedWorks.open(tmp_path)
    path.unlink()
    with pytest.raises(UnusableSnapshot):
        MappedWorks.open(tmp_path)
