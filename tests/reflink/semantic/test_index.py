"""The vector index against brute force in float64."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from reflink.errors import BadVector, SnapshotError
from reflink.hits import Hits
from reflink.semantic import VectorIndex
from reflink.semantic import index as module
from reflink.semantic.cpu import rows, scanning
from reflink.semantic.cpu.rows import View
from reflink.semantic.gpu import rows as device
from reflink.semantic.index import ARRAYS, KIND
from reflink.storage import flatfiles
from tests.profiles import examples

DIM = 5
Vectors = npt.NDArray[np.float32]

ids = st.sampled_from([f"doi:10.{n}" for n in range(14)] + ["é", "z\U0001f600"])
#: Few directions, so that equal vectors, and with them ties, are common.
seeds = st.integers(0, 9)
batch = st.lists(st.tuples(ids, seeds), max_size=8)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks, chunks and groups of a few rows, so that small tests cross their borders."""
    for place, name, value in (
        (module, "BLOCK", 4), (rows, "BLOCK", 4), (scanning, "QUERIES", 3), (scanning, "LEAST_ROWS", 5),
        (device, "GROUP", 2), (device, "QUERIES", 3), (device, "SENT", 6), (device, "SCORES", 12), (device, "GATHERED", 1000),
    ):  # fmt: skip
        monkeypatch.setattr(place, name, value)


def vector(seed: int) -> list[float]:
    values: list[float] = np.random.default_rng(seed).standard_normal(DIM).tolist()
    return values


def unit(values: npt.ArrayLike) -> Vectors:
    array = np.asarray(values, np.float64)
    scaled: Vectors = (array / np.sqrt((array * array).sum())).astype(np.float32)
    return scaled


def brute(stored: dict[str, Vectors], query: Vectors, k: int) -> list[tuple[str, float]]:
    query = np.rint(query * 2.0**28) / 2.0**28
    scored = [(-np.float32((stored[id_].astype(np.float16).astype(np.float64) * query).sum()).item(), id_) for id_ in stored]
    return [(id_, -score) for score, id_ in sorted(scored)[:k]]


def check(index: VectorIndex, stored: dict[str, Vectors], queries: list[list[float]], k: int) -> None:
    check_hits(index.search(queries, k), stored, queries, k)
    assert len(index) == len(stored)


def check_hits(hits: Hits, stored: dict[str, Vectors], queries: list[list[float]], k: int) -> None:
    assert hits.ids.shape == hits.scores.shape == (len(queries), k)
    assert hits.scores.dtype == np.float32
    assert list(hits) == [brute(stored, unit(query), k) for query in queries]


class Histories(RuleBasedStateMachine):
    """Random changes, savings and reopenings beside a dictionary, with searches that began earlier."""

    def __init__(self) -> None:
        super().__init__()
        self.folders = TemporaryDirectory()
        self.index, self.stored, self.old = VectorIndex(DIM), dict[str, Vectors](), list[tuple[View, dict[str, Vectors]]]()

    @rule(pairs=batch)
    def add(self, pairs: list[tuple[str, int]]) -> None:
        self.index.add([id_ for id_, _ in pairs], [vector(seed) for _, seed in pairs])
        self.stored.update({id_: unit(vector(seed)) for id_, seed in pairs})

    @rule(names=st.lists(ids, max_size=8))
    def remove(self, names: list[str]) -> None:
        self.index.remove(names)
        for id_ in names:
            self.stored.pop(id_, None)

    @rule(threads=st.integers(1, 3))
    def reopen(self, threads: int) -> None:
        folder = mkdtemp(dir=self.folders.name)
        self.index.save(folder)
        self.index = VectorIndex.open(folder, threads=threads)

    @rule(where=st.sampled_from([None, "cpu"]), spare=st.integers(0, 9))
    def place(self, where: str | None, spare: int) -> None:
        assert self.index.place(where, spare=spare) == bool(where)

    @rule()
    def stream(self) -> None:
        with patch.object(device, "free_bytes", return_value=0):
            assert not self.index.place("cpu", stream=True)

    @rule()
    def begin_a_search(self) -> None:
        self.old.append((self.index._rows.view, dict(self.stored)))

    @precondition(lambda self: self.old)
    @rule(which=st.integers(0, 9))
    def end_a_search(self, which: int) -> None:
        self.old.pop(which % len(self.old))

    @rule(queries=st.lists(seeds, max_size=7), k=st.integers(1, 17))
    def search(self, queries: list[int], k: int) -> None:
        vectors = [vector(seed) for seed in queries]
        check(self.index, self.stored, vectors, k)
        units = np.array([unit(query) for query in vectors], np.float32).reshape(-1, DIM)
        units = np.rint(units * 2.0**28).astype(np.float32) / np.float32(2.0**28)
        for view, stored in self.old:
            check_hits(self.index._search(view, units, k), stored, vectors, k)

    @rule(names=st.lists(ids, max_size=8))
    def look_up(self, names: list[str]) -> None:
        for id_, row in zip(names, self.index.vectors(names), strict=True):
            assert (id_ in self.index) == (id_ in self.stored)
            expected = self.stored[id_].astype(np.float16).tolist() if id_ in self.stored else None
            assert row.tolist() == expected if expected else np.isnan(row).all()

    def teardown(self) -> None:
        check(self.index, self.stored, [vector(0), vector(1)], 3)
        self.folders.cleanup()


@pytest.mark.usefixtures("small_blocks")
def test_after_any_changes_the_hits_equal_those_of_brute_force() -> None:
    run_state_machine_as_test(Histories, settings=settings(max_examples=examples(60), stateful_step_count=25))


def test_equal_vectors_tie_by_id_in_any_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    same, names = rng.standard_normal(384), [f"{n:02}" for n in range(40)]
    index = VectorIndex(384)
    for half in (names[::2], names[1::2]):
        for id_ in rng.permutation(half).tolist():
            index.add([id_], same[None])
            index.add(["x" + id_], rng.standard_normal((1, 384)))
        index.save(tmp_path)
        index = VectorIndex.open(tmp_path) if half == names[::2] else index
    alone = index.search(same[None], 25)
    assert alone.ids[0].tolist() == names[:25]
    assert len(set(alone.scores[0].tolist())) == 1
    assert alone.scores[0, 0] == pytest.approx(1, abs=1e-3)


def test_candidates_closer_than_the_rounding_of_float32_are_distinguished() -> None:
    rng = np.random.default_rng(5)
    base = np.abs(rng.standard_normal(384))
    near = np.repeat(unit(base)[None].astype(np.float16), 600, axis=0)
    for row in near:  # the last bit of some values, up or down
        some = rng.integers(0, 384, 6)
        row.view(np.uint16)[some] += rng.choice([-1, 1], 6).astype(np.uint16)
    names = [f"{n:03}" for n in rng.permutation(600)]
    index = VectorIndex(384)
    index.add(names, near)
    stored = dict(zip(names, map(unit, near), strict=True))
    for query in (base, *(base + 0.1 * rng.standard_normal((3, 384)))):
        for k in (20, 150, 300, 450):
            assert list(index.search([query], k)) == [brute(stored, unit(query), k)]


def test_cosine_does_not_depend_on_length() -> None:
    index = VectorIndex(DIM)
    index.add(["big", "small"], [[1e30, 0, 0, 0, 0], [0, 1e-30, 0, 0, 0]])
    assert list(index.search([[0, 1e-20, 0, 0, 0]], 2)) == [[("small", 1.0), ("big", 0.0)]]


def test_adding_a_known_id_replaces_in_place() -> None:
    index = VectorIndex(DIM)
    for seed in range(20):
        index.add(["a", "b"], [vector(seed), vector(seed + 1)])
        index.remove(["b"])
    assert index._rows.view.rows <= 4
    check(index, {"a": unit(vector(19))}, [vector(0)], 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_a_vector_without_direction_is_refused_and_changes_nothing(bad: float) -> None:
    index = VectorIndex(DIM)
    index.add(["a"], [vector(1)])
    broken = [vector(2), [bad, 1, 1, 1, 1]]
    with pytest.raises(BadVector, match="vector 1 of 2 has no direction"):
        index.add(["a", "b"], broken)
    with pytest.raises(BadVector, match="no direction"):
        index.add(["b"], [[0] * DIM])
    with pytest.raises(BadVector, match="no direction"):
        index.search(broken, 1)
    check(index, {"a": unit(vector(1))}, [vector(3)], 1)


def test_invalid_arguments_are_refused_and_change_nothing() -> None:
    index = VectorIndex(DIM)
    calls: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: index.add(["a"], [[1.0, 2.0]]), BadVector, "shape"),
        (lambda: index.search(vector(1), 1), BadVector, "shape"),
        (lambda: index.add(["a", "b"], [vector(1)]), ValueError, "2 ids for 1 vectors"),
        (lambda: index.add([""], [vector(1)]), ValueError, "empty"),
        (lambda: index.search([vector(1)], 0), ValueError, "k is 0"),
        (lambda: VectorIndex(0), ValueError, "dim is 0"),
    ]
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()
    assert len(index) == 0


def test_an_index_can_be_saved_to_the_folder_from_which_it_was_opened(tmp_path: Path) -> None:
    stored = {id_: unit(vector(seed)) for seed, id_ in enumerate("abcdefghij")}
    index = VectorIndex(DIM)
    index.add(list(stored), list(stored.values()))
    index.save(tmp_path)
    opened, other = (VectorIndex.open(tmp_path) for _ in range(2))
    opened.remove(["c"])
    opened.save(tmp_path)
    check(other, stored, [vector(2)], 10)
    del stored["c"]
    for now in (opened, VectorIndex.open(tmp_path)):
        check(now, stored, [vector(2)], 10)


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    index = VectorIndex(DIM)
    index.add(["a", "b"], [vector(1), vector(2)])
    index.save(tmp_path)
    with pytest.raises(SnapshotError, match="unfinished"):
        VectorIndex.open(tmp_path / "absent")
    arrays = {name: array.copy() for name, array in flatfiles.load(tmp_path, KIND, ARRAYS)[1].items()}
    vectors = (tmp_path / "vectors.npy").read_bytes()
    (tmp_path / "vectors.npy").write_bytes(vectors[:-1] + b"!")
    with pytest.raises(SnapshotError, match=r"vectors\.npy: its content has changed"):
        VectorIndex.open(tmp_path, verify=True)
    flatfiles.save(tmp_path, KIND, {"dim": 6}, arrays)
    with pytest.raises(SnapshotError, match="inconsistent"):
        VectorIndex.open(tmp_path)
