from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.catalog.mapped import MappedWorks
from reflink.catalog.works import Works
from reflink.catalog.writing import WorksWriter
from reflink.entities import Ids, Work
from tests.profiles import examples
from tests.reflink.catalog.works_of import brute_force, colliding, keys, some_works, work, work_ids

Changes = list[tuple[str, Any]]
changes = st.lists(some_works.map(lambda work: ("put", work)) | work_ids.map(lambda id_: ("delete", id_)), max_size=12)


def mapped(works: list[Work], folder: Path) -> MappedWorks:
    with WorksWriter(folder) as writer:
        for each in works:
            writer.append(each)
    return MappedWorks.open(folder)


def agree(works: Works, model: dict[str, Work]) -> None:
    """Compare every answer with that of a plain dict."""
    assert len(works) == len(model)
    assert {each.id: each for each in works} == model
    canonical = brute_force(model.values())
    for work_id, expected in model.items():
        assert work_id in works
        assert works.get(work_id) == expected
        assert works.canonical(work_id) == canonical[work_id]
        assert works.members(work_id) == tuple(sorted(each for each in model if canonical[each] == canonical[work_id]))
        for key in keys(expected):
            assert works.bearers(key) == {other.id for other in model.values() if key in keys(other)}


@settings(max_examples=examples(200))
@given(base=st.lists(some_works, max_size=8), changes=changes, each_time=st.booleans(), collide=st.booleans())
def test_works_equal_a_dict_with_canonical_ids_even_if_hashes_collide(
    base: list[Work], changes: Changes, each_time: bool, collide: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder, colliding() if collide else nullcontext():
        works = Works(mapped(base, Path(folder)))
        model = {each.id: each for each in base}
        agree(works, model)
        for kind, what in changes:
            if kind == "put":
                assert works.put(what) == (model.get(what.id) != what)
                model[what.id] = what
            else:
                assert works.delete(what) == (model.pop(what, None) is not None)
            if each_time:  # memoised answers must not outlive a change
                agree(works, model)
        agree(works, model)


@settings(max_examples=examples(200))
@given(works=st.lists(some_works, max_size=10, unique_by=lambda work: work.id), data=st.data())
def test_the_order_of_arrival_does_not_matter(works: list[Work], data: st.DataObject) -> None:
    one, other = Works(), Works()
    for arrived in works:
        one.put(arrived)
        one.canonical(arrived.id)
    for arrived in data.draw(st.permutations(works)):
        other.put(arrived)
    assert {w.id: one.canonical(w.id) for w in works} == {w.id: other.canonical(w.id) for w in works}


def test_a_component_splits_when_its_bridge_is_removed(tmp_path: Path) -> None:
    base = mapped([work("b", pmid="1"), work("c", pmid="1", doi="10.1/x"), work("d", doi="10.1/x")], tmp_path)
    works = Works(base)
    assert [works.canonical(name) for name in "bcd"] == ["b", "b", "b"]
    works.delete("c")
    assert [works.canonical(name) for name in "bd"] == ["b", "d"]
    works.put(work("a", pmid="1", doi="10.1/x"))
    assert [works.canonical(name) for name in "abd"] == ["a", "a", "a"]


def test_a_works_own_id_is_an_identifier() -> None:
    works = Works()
    works.put(Work(id="doi:10.1/a"))
    works.put(work("s1", doi="10.1/a"))
    assert works.canonical("s1") == "doi:10.1/a"


def test_an_identifier_resolves_to_the_work_that_has_it_and_an_unknown_one_to_itself() -> None:
    works = Works()
    works.put(work("doi:10.1/a", pmid="7"))
    assert works.canonical("pmid:7") == "doi:10.1/a"
    assert works.canonical("pmid:8") == "pmid:8"
    works.put(Work(id="a", ids=Ids(pmid="8")))
    assert works.canonical("pmid:8") == "a"


def test_an_id_of_any_characters_is_found(tmp_path: Path) -> None:
    names = ['quote"', "back\\slash", "tab\t", "é", "日本", "\u2028", "\x7f", "a", "aa"]
    base = mapped([Work(id=name) for name in names], tmp_path)
    assert [base.find(name) for name in names] == list(range(len(names)))
    assert base.find("absent") is None
