"""The lexical index against brute force over the definition of the score."""

import gzip
import itertools
import string
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflink.entities import Work
from reflink.errors import SnapshotError, UnusableSnapshot
from reflink.lexical import LexicalIndex
from reflink.lexical.index import KIND
from reflink.lexical.segments.segment import ARRAYS
from reflink.lexical.segments.storage import LAYOUT
from reflink.storage import flatfiles
from reflink.text import normalise, work_text
from tests.data import shared_data
from tests.profiles import examples
from tests.reflink.lexical.plain import brute
from tests.reflink.lexical.test_trigrams import defined

ids = st.sampled_from([f"doi:10.{n}" for n in range(12)] + ["pmid:1", "é", "z\U0001f600"])
short = st.text(alphabet="ab ", max_size=9)
batch = st.lists(st.tuples(ids, short), max_size=8)


def check(index: LexicalIndex, texts: dict[str, str], queries: Sequence[str], k: int, floor: float | None = None) -> None:
    hits = index.search(queries, k, floor)
    assert hits.ids.shape == hits.scores.shape == (len(queries), k)
    assert hits.scores.dtype == np.float64
    assert list(hits) == [brute(texts, query, k, floor or 0.0) for query in queries]
    assert len(index) == len(texts)
    # Seeds, whether good, bad or unknown, do not change the hits.
    good = [[id_ for id_, _ in near] for near in hits]
    for seeds in (good, [sorted(texts)] * len(queries), [["unknown", "é"]] * len(queries)):
        assert list(index.search(queries, k, floor, seeds)) == list(hits)


operations = st.lists(st.tuples(st.sampled_from(["add", "remove", "save"]), batch), max_size=8)
floors = st.one_of(st.none(), st.sampled_from([0.2, 0.4, 0.5, 1.0]))


@pytest.mark.usefixtures("laid_out")
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations, st.lists(short, max_size=4), st.integers(1, 15), floors)
def test_after_any_changes_the_hits_equal_those_of_brute_force(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, list[tuple[str, str]]]],
    queries: list[str],
    k: int,
    floor: float | None,
) -> None:
    index, texts = LexicalIndex("T"), dict[str, str]()
    for what, pairs in steps:
        if what == "add":
            index.add([id_ for id_, _ in pairs], [text for _, text in pairs])
            texts.update(pairs)
        elif what == "remove":
            index.remove([id_ for id_, _ in pairs])
            for id_, _ in pairs:
                texts.pop(id_, None)
        else:
            folder = tmp_path_factory.mktemp("index")
            index.save(folder)
            index.save(folder)
            index = LexicalIndex.open(folder, mode="T")
        check(index, texts, queries, k, floor)
    for id_ in {id_ for _, pairs in steps for id_, _ in pairs}:
        assert (id_ in index) == (id_ in texts)


def test_invalid_additions_are_refused_and_change_nothing() -> None:
    index = LexicalIndex()
    index.add(["a"], ["soil"])
    for names, texts, message in (
        (["a"], ["Soil"], "not normalised"),
        (["a", "b"], ["x"], "2 ids for 1 texts"),
        ([""], ["x"], "empty"),
    ):
        with pytest.raises(ValueError, match=message):
            index.add(names, texts)
    check(index, {"a": "soil"}, ["soil"], 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LexicalIndex().search(["abc"], 0), "k is 0"),
        (lambda: LexicalIndex().search(["ABC"], 1), "not normalised"),
        (lambda: LexicalIndex().search(["abc"], 1, float("nan")), "floor is NaN"),
        (lambda: LexicalIndex().search(["abc", "abd"], 1, seeds=[["a"]]), "1 lists of seeds for 2 texts"),
        (lambda: LexicalIndex("X"), "unknown mode"),  # type: ignore[arg-type]
        (lambda: LexicalIndex(threads=0), "threads is 0"),
    ],
)
def test_invalid_arguments_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_the_number_of_segments_grows_with_the_logarithm_of_the_texts() -> None:
    index = LexicalIndex()
    for number in range(300):
        index.add([str(number)], ["abc"])
    sizes = [part.count for part in index._growth.parts]
    assert sum(sizes) == 300
    assert all(2 * small < large for large, small in itertools.pairwise(sizes))
    index.remove([str(number) for number in range(290)])
    assert sum(len(part.segment) for part in index._growth.parts) < 30


def test_a_folder_that_is_damaged_or_of_another_mode_is_refused(tmp_path: Path) -> None:
    index = LexicalIndex("TVL")
    index.add(["a", "b"], ["soil", "water"])
    index.save(tmp_path)
    assert LexicalIndex.open(tmp_path).mode == "TVL"
    with pytest.raises(SnapshotError, match="mode 'TVL', not 'Raw'"):
        LexicalIndex.open(tmp_path, mode="Raw")
    with pytest.raises(SnapshotError, match="unfinished"):
        LexicalIndex.open(tmp_path / "absent")
    sizes = np.load(tmp_path / "sizes.npy")
    np.save(tmp_path / "sizes.npy", sizes + np.uint16(1))
    with pytest.raises(UnusableSnapshot, match=r"sizes\.npy: its content has changed"):
        LexicalIndex.open(tmp_path, verify=True)
    with pytest.raises(SnapshotError, match="inconsistent"):
        LexicalIndex.open(tmp_path)
    index.save(tmp_path)
    flatfiles.save(tmp_path, KIND, {"layout": LAYOUT}, flatfiles.load(tmp_path, KIND, ARRAYS)[1])
    with pytest.raises(SnapshotError, match="mode None"):
        LexicalIndex.open(tmp_path)
    flatfiles.save(tmp_path, KIND, {"mode": "T"}, {})
    with pytest.raises(SnapshotError, match="another version of reflink: build the catalog anew"):
        LexicalIndex.open(tmp_path)


def test_an_index_can_be_saved_to_the_folder_from_which_it_was_opened(tmp_path: Path) -> None:
    index = LexicalIndex("T")
    index.add(["a", "b"], ["soil", "water"])
    index.save(tmp_path)
    opened, other = (LexicalIndex.open(tmp_path) for _ in range(2))
    opened.remove(["a"])
    opened.save(tmp_path)
    check(opened, {"b": "water"}, ["soil water"], 2)
    check(other, {"a": "soil", "b": "water"}, ["soil water"], 2)
    check(LexicalIndex.open(tmp_path), {"b": "water"}, ["soil water"], 2)


@pytest.mark.usefixtures("laid_out")
def test_a_text_of_a_megabyte_is_found() -> None:
    rng = np.random.default_rng(1)
    long = "".join(rng.choice(list(string.ascii_lowercase + " "), 1_000_000))
    index = LexicalIndex()
    index.add(["long", "short"], [long, "soil fungi"])
    assert index.search([long], 1).ids[0, 0] == "long"
    assert index.search(["soil fungi"], 1).ids[0, 0] == "short"


def test_real_works_find_themselves_and_hits_equal_those_of_brute_force() -> None:
    with gzip.open(shared_data() / "works.jsonl.gz") as lines:
        works = [Work.from_json(line) for line in itertools.islice(lines, 3000)]
    texts = {work.id: work_text(work, "Raw", lexical=True) for work in works}
    index = LexicalIndex()
    names = list(texts)
    for first in range(0, len(names), 700):
        index.add(names[first : first + 700], [texts[name] for name in names[first : first + 700]])
    queries = [normalise((work.title or "")[5:], lexical=True) for work in works[:6]]
    check(index, texts, queries, 10)
    own = index.search(list(texts.values()), 1)
    alike = [texts[found] if found else "" for found in own.ids[:, 0]]
    assert (own.scores[:, 0][[len(text) > 2 for text in texts.values()]] == 1.0).all()
    assert all(defined(text, other) == 1 for text, other in zip(texts.values(), alike, strict=True) if other)
