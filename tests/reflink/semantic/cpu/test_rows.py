"""Searches during concurrent changes, in real threads and in searches that pause after their first block."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reflink.hits import Hits
from reflink.semantic import VectorIndex
from reflink.semantic.cpu import kernels, rows, scanning

DIM = 64
Vectors = npt.NDArray[np.float32]
Pairs = list[list[tuple[str, float]]]


def versions(name: int, number: int = 5) -> Vectors:
    """Return the successive vectors of a name; they are random, so a mixture of two equals none of them."""
    return np.random.default_rng(name).standard_normal((number, DIM)).astype(np.float32)


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Switch threads very often, so that they interrupt each other at every step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BLOCK", 8)


@contextmanager
def running(*works: Callable[[], None]) -> Iterator[None]:
    """Repeat each work in its own thread; raise the first error at the end."""
    stop, errors = threading.Event(), list[BaseException]()

    def repeat(work: Callable[[], None]) -> None:
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            errors.append(error)
            stop.set()

    threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


@pytest.mark.usefixtures("eager_threads", "small_blocks")
@pytest.mark.parametrize("where", [None, "cpu"])
def test_searches_see_complete_vectors_with_their_ids_at_one_moment(where: str | None, tmp_path: Path) -> None:
    """A batch gives all names of a group the same version; a search sees the group in one version or not at all."""
    groups = {f"group {group}": [f"{group} {name}" for name in range(group + 2)] for group in range(6)}
    stock = {name: versions(group * 100 + at) for group, names in enumerate(groups.values()) for at, name in enumerate(names)}
    stay = {f"stays {n}": versions(9000 + n) for n in range(12)}
    queries = np.concatenate([*(vectors[:2] for vectors in stock.values())])
    # The score of each version of each name with each query: a torn vector or a wrong id gives another score.
    one_by_one = {name: [VectorIndex(DIM) for _ in vectors] for name, vectors in stock.items()}
    scores: dict[str, list[list[float]]] = {}
    for name, indexes in one_by_one.items():
        for index, vector in zip(indexes, stock[name], strict=True):
            index.add([name], vector[None])
        scores[name] = [index.search(queries, 1).scores[:, 0].tolist() for index in indexes]

    index = VectorIndex(DIM)
    index.add(list(stay), [vectors[0] for vectors in stay.values()])
    index.save(tmp_path)
    index = VectorIndex.open(tmp_path)
    index.place(where, spare=rows.BLOCK)
    rng = np.random.default_rng(1)
    seen = set[tuple[str, int]]()

    def change() -> None:
        names = groups[f"group {rng.integers(6)}"]
        if rng.random() < 0.3:
            index.remove(names)
        else:
            version = int(rng.integers(5))
            index.add(names, [stock[name][version] for name in names])

    def search() -> None:
        hits = index.search(queries, 100)
        for row, found in enumerate(hits):
            assert {name for name, _ in found if name in stay} == set(stay), "rows were lost"
            moving = [(name, score) for name, score in found if name not in stay]
            assert len(moving) == len(dict(moving)), "an id was found twice"
            of = {name: scores_of(name, row).index(score) for name, score in moving}  # ValueError: torn vector or wrong id
            for group, names in groups.items():
                here = {of.get(name) for name in names}
                assert len(here) == 1, f"{group} mixes several moments: {here}"
                seen.update((group, version) for version in here if version is not None)

    def scores_of(name: str, row: int) -> list[float]:
        return [version[row] for version in scores[name]]

    with running(change, search, search):
        until = time.monotonic() + 60
        while len(seen) < 30 and time.monotonic() < until:
            time.sleep(0.005)
    assert len(seen) > 15, "too few versions were seen"


class Stopped:
    """A search that pauses after its first block until ``finish``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, index: VectorIndex, query: Vectors, k: int) -> None:
        begun, self.go, scan, calls = threading.Event(), threading.Event(), kernels.scan, list[int]()
        own = threading.get_ident()

        def scan_and_wait(*arguments: Any) -> Any:
            done = scan(*arguments)
            if threading.get_ident() != own and not calls:
                calls.append(1)
                begun.set()
                self.go.wait(30)
            return done

        monkeypatch.setattr(scanning.kernels, "scan", scan_and_wait)
        self.hits: list[Hits] = []
        self.thread = threading.Thread(target=lambda: self.hits.append(index.search(query, k)))
        self.thread.start()
        assert begun.wait(30)

    def finish(self) -> Pairs:
        self.go.set()
        self.thread.join()
        return list(self.hits[0])


def changed_under_a_search(monkeypatch: pytest.MonkeyPatch) -> tuple[Pairs, Pairs, VectorIndex]:
    """Return the hits before any change, the hits of a search during which all vectors were changed, and the index."""
    names = [f"{n:02}" for n in range(24)]
    index = VectorIndex(DIM)
    index.add(names, [versions(n)[0] for n in range(24)])
    query = versions(3)[:1]
    before = list(index.search(query, 24))
    stopped = Stopped(monkeypatch, index, query, 24)
    for version in range(1, 5):
        index.add(names[::2], [versions(n)[version] for n in range(0, 24, 2)])
        index.remove(names[1::2])
        index.add([f"new {n} {version}" for n in range(12)], [versions(100 + n)[version] for n in range(12)])
    return before, stopped.finish(), index


@pytest.mark.usefixtures("small_blocks")
def test_a_search_sees_no_change_that_began_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before, during, index = changed_under_a_search(monkeypatch)
    assert during == before
    assert len(index) == 12 + 4 * 12


@pytest.mark.usefixtures("small_blocks")
def test_reusing_places_at_once_fails_the_test_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """If places were reused at once, the paused search would find vectors of two moments."""

    def at_once(self: rows.GrowingRows) -> None:
        while self._retired:
            self._free += self._retired.popleft()[1]

    monkeypatch.setattr(rows.GrowingRows, "_reclaim", at_once)
    before, during, _ = changed_under_a_search(monkeypatch)
    assert during != before


@pytest.mark.usefixtures("small_blocks")
def test_searches_and_changes_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    index = VectorIndex(DIM)
    index.add(["a", "b"], versions(1, 2))
    stopped = Stopped(monkeypatch, index, versions(1, 1), 2)
    index.add(["c"], versions(2, 1))
    index.remove(["a"])
    with index._rows.lock:  # as a change holds it
        assert [len(found) for found in index.search(versions(2, 1), 3)] == [2]
    assert [{id_ for id_, _ in found} for found in stopped.finish()] == [{"a", "b"}]


@pytest.mark.usefixtures("small_blocks")
def test_places_are_reused_when_no_search_holds_them() -> None:
    index = VectorIndex(DIM)
    for n in range(50):
        index.add(["a", "b", f"c{n}"], versions(n, 3))
        index.remove([f"c{n}"])
    assert index._rows.view.rows <= rows.BLOCK
    held = index._rows.view
    for n in range(10):
        index.add(["a", "b"], versions(n, 2))
    grown = index._rows.view.rows
    assert grown >= 20
    del held
    for n in range(50):
        index.add(["a", "b"], versions(n, 2))
    assert index._rows.view.rows == grown


def places_shown(view: rows.View) -> set[int]:
    """Return the places of the added part whose rows are alive."""
    return set(np.flatnonzero(view.alive()[len(view.ids) :]).tolist())


@pytest.mark.usefixtures("small_blocks")
def test_an_interruption_between_two_steps_frees_no_place_that_a_view_shows() -> None:
    """Step 5 of the invariant: a change is interrupted at every line of the module in turn."""

    def interrupt_at(line: int) -> Callable[[Any, str, Any], Any]:
        lines = iter(range(line, -1, -1))

        def trace(frame: Any, event: str, _: Any) -> Any:
            if frame.f_code.co_filename != rows.__file__:
                return None
            if event == "line" and next(lines, -1) == 0:
                raise KeyboardInterrupt
            return trace

        return trace

    interrupted, before = 0, sys.gettrace()
    for line in range(400):
        index = VectorIndex(DIM)
        index.add(["a", "b", "c"], versions(1, 3))
        held = index._rows.view
        contents = held.gather(np.arange(3))
        try:
            sys.settrace(interrupt_at(line))
            index.add(["a", "new"], versions(2, 2))
            index.remove(["a", "b"])
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            sys.settrace(before)
        index._rows._reclaim()
        assert places_shown(held).union(places_shown(index._rows.view)).isdisjoint(index._rows._free), line
        assert np.array_equal(held.gather(np.arange(3)), contents), line
        if interrupted <= line:  # the change ended before that line
            break
        del held
        if index._rows.lock.locked():  # interrupted at the end of its block
            index._rows.lock.release()
        index.add(["later"], versions(3, 1))
        index._rows._reclaim()
        assert places_shown(index._rows.view).isdisjoint(index._rows._free), line
    assert 50 < interrupted < 400


def test_a_change_copies_only_the_masks_that_it_changes() -> None:
    index = VectorIndex(2)
    index.add([str(n) for n in range(2 * rows.BLOCK)], np.ones((2 * rows.BLOCK, 2)))
    before = index._rows.view
    index.remove(["3"])
    after = index._rows.view
    assert after.added[1] is before.added[1]
    assert after.added[0].vectors.base is before.added[0].vectors.base
    assert (before.count, after.count) == (2 * rows.BLOCK, 2 * rows.BLOCK - 1)


@pytest.mark.usefixtures("small_blocks")
def test_a_search_that_began_before_the_rows_moved_keeps_its_rows() -> None:
    index, query = VectorIndex(DIM), versions(3)[:1]
    index.add(["a", "b"], versions(1, 2))
    held, before = index._rows.view, list(index.search(query, 2))
    for where in ("cpu", None):
        index.place(where, spare=8)
        for n in range(8):
            index.add(["a", "b"], versions(n + 10, 2))
    units = query / np.linalg.norm(query)
    again = index._search(held, np.rint(units * np.float32(2**28)) / np.float32(2**28), 2)
    assert [[id_ for id_, _ in found] for found in again] == [[id_ for id_, _ in found] for found in before]
    assert np.allclose(again.scores[0], [score for _, score in before[0]], atol=1e-6)
